// A host compiled with -ffast-math: Linnet's bits and its guards against NaN and infinity must not change (cases G3, E1).
#include <xxhash.h>
#include <cstdio>
#include <cstring>
#include <limits>
#include <vector>

#include "linnet/linnet.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace {

int failures = 0;
void check(bool ok, const char* what) {
  if (!ok) {
    std::fprintf(stderr, "FAILED: %s\n", what);
    ++failures;
  }
}

float special(uint32_t bits) {  // not a constant the compiler may reason about
  volatile uint32_t v = bits;
  const uint32_t copy = v;
  float f;
  std::memcpy(&f, &copy, 4);
  return f;
}

linnet_code sample(std::vector<float> logits, float temperature, int32_t* token) {
  linnet_sampling s;
  linnet_sampling_init(&s);
  s.temperature = temperature;
  std::vector<unsigned char> scratch(linnet_sampler_scratch_bytes(static_cast<uint32_t>(logits.size())) + 64);
  void* aligned = scratch.data() + (64 - reinterpret_cast<uintptr_t>(scratch.data()) % 64) % 64;
  linnet_sampled out{-1, 0};
  linnet_error error{};
  const linnet_code code = linnet_sample(logits.data(), static_cast<uint32_t>(logits.size()), nullptr, 0, 0, &s, aligned, &out, &error);
  *token = out.token;
  return code;
}

uint64_t run(const linnet::Model& model) {
  auto runner = linnet::Runner::create(model, {.context = 64, .threads = 2});
  if (!runner) {
    check(false, runner.error().message());
    return 0;
  }
  auto session = linnet::Session::create(*runner);
  std::vector<int32_t> ids;
  for (int i = 0; i < 50; ++i) ids.push_back(i * 7 % static_cast<int>(model.info().vocabulary));
  check(session->prefill(ids).ok(), "prefill");
  const auto logits = session->logits();
  return logits ? XXH3_64bits(logits->data(), logits->size() * sizeof(float)) : 0;
}

}  // namespace

int main(int, char** argv) {
  const float nan = special(0x7FC00000), inf = special(0x7F800000), minus_inf = special(0xFF800000);
  int32_t token = 0;
  for (const float t : {0.0f, 1.0f}) {
    check(sample({minus_inf, minus_inf, minus_inf}, t, &token) == LINNET_NOT_FINITE, "all -inf");
    check(sample({1, nan, 2}, t, &token) == LINNET_NOT_FINITE, "one NaN");
    check(sample({nan, nan, nan}, t, &token) == LINNET_NOT_FINITE, "all NaN");
    check(sample({1, inf, 2}, t, &token) == LINNET_NOT_FINITE, "+inf");
    check(sample({minus_inf, 3, minus_inf}, t, &token) == LINNET_OK && token == 1, "one left");
    check(sample({5, 5, 5}, t, &token) == LINNET_OK && token >= 0 && token < 3, "all equal");
  }
  auto model = linnet::Model::open(argv[1]);
  check(bool(model), "open");
  if (!model) return 1;
  const uint64_t here = run(*model);
#if defined(__x86_64__)
  // -ffast-math at link time turns denormals off for the process; a host may also do so by hand, or ask for another rounding.
  const unsigned saved = _mm_getcsr();
  _mm_setcsr(0x1F80);
  const uint64_t plain = run(*model);
  _mm_setcsr(0x1F80 | 0x8040 | 0x6000);  // FTZ, DAZ, toward zero
  const uint64_t odd = run(*model);
  check((_mm_getcsr() & 0xFFC0u) == (0x1F80u | 0x8040u | 0x6000u), "the caller's MXCSR is put back");
  _mm_setcsr(saved);
  check(here == plain && plain == odd, "the host's floating-point mode changes the bits");
#endif
  linnet_registry* scalar = nullptr;
  linnet_registry_create(nullptr, &scalar, nullptr);
  check(linnet_register_builtin_ops(scalar, "scalar", nullptr) == LINNET_OK, "scalar");
  auto on_scalar = linnet::Model::open(argv[1], {.registry = scalar});
  check(on_scalar && run(*on_scalar) == here, "scalar kernels give other bits");
  linnet_registry_release(scalar);
  return failures ? 1 : 0;
}
