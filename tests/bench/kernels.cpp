// Microbenchmarks of the kernels, on one core. Beside the time stands `roof`: which share of what the machine can do, measured in the same run, a
// kernel reaches. The roof is the longer of two times: reading its bytes from where they lie, or doing its arithmetic in full registers.
#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "linnet/c.h"
#include "ops/kernels/kernels.h"
#include "ops/packing.h"
#include "roof.h"
#include "runtime/state_page.h"

using namespace linnet;
using namespace linnet::bench;

namespace {

const ops::Kernels* kernels = nullptr;

struct Free {
  void operator()(void* p) const { std::free(p); }
};
template <class T> using Block = std::unique_ptr<T[], Free>;

// Every byte 0x38: an ordinary small number in every format, float or integer, scales included.
template <class T> Block<T> block(uint64_t n) {
  const uint64_t bytes = (n * sizeof(T) + 4095) / 4096 * 4096;
  void* p = std::aligned_alloc(4096, bytes);
  std::memset(p, 0x38, bytes);
  return Block<T>(static_cast<T*>(p));
}

// Runs fn as the benchmark asks, and reports it beside the roof. `bytes` are read a time, again and again; `operations` are held against `peak`
// Gop/s (0: none). This thread's processor time counts, so that what else the machine does is left out as far as it can be.
template <class Fn>
void measure(benchmark::State& state, const void* memory, uint64_t bytes, double operations, double peak, Fn fn) {
  const auto clock = [] {
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
  };
  const double start = clock();
  for (auto _ : state) fn();
  const double seconds = (clock() - start) / static_cast<double>(state.iterations());
  const double reading = static_cast<double>(bytes) / read_gbs(memory, bytes) / 1e9, computing = peak > 0 ? operations / peak / 1e9 : 0;
  state.counters["GB/s"] = static_cast<double>(bytes) / seconds / 1e9;
  if (operations > 0) state.counters["Gop/s"] = operations / seconds / 1e9;
  state.counters["roof_%"] = 100 * std::max(reading, computing) / seconds;
}

struct Format {
  const char* name;
  uint8_t dtype;
};
constexpr Format kWeights[] = {{"f32", LINNET_F32}, {"f16", LINNET_F16}, {"bf16", LINNET_BF16}, {"i8", LINNET_I8}, {"i4", LINNET_I4}};
constexpr Format kCaches[] = {{"f32", LINNET_F32}, {"f16", LINNET_F16}};

struct Place {
  const char* name;
  uint64_t bytes;
};
constexpr Place kPlaces[] = {{"dram", 768u << 20}, {"l3", 8u << 20}, {"l2", 512u << 10}};

void linear(benchmark::State& state, Format format, Place place, uint32_t rows) {
  constexpr uint64_t k = 2048;
  const uint64_t panel = packing::panel_bytes(format.dtype, k), panels = place.bytes / panel, outputs = panels * packing::kPanelRows;
  const auto w = block<uint8_t>(panels * panel);
  const auto x = block<float>(rows * k), y = block<float>(rows * outputs);
  static constexpr float levels[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
  const ops::QuantizedRow row(k);  // quantized once for all matrices that read them, so not here
  const auto codes = block<uint8_t>(rows * row.bytes);
  for (uint32_t t = 0; t < rows; ++t) kernels->quantize(x.get() + t * k, k, 0, packing::groups(k), codes.get() + t * row.bytes);
  ops::Linear a = {};
  a.codes = codes.get(), a.code_stride = row.bytes, a.levels = levels;
  a.weights = w.get();
  a.dtype = format.dtype, a.k = k, a.panels = panels;
  a.x = x.get(), a.x_stride = k, a.rows = rows;
  a.y = y.get(), a.y_stride = outputs;
  measure(state, w.get(), panels * panel, 2.0 * static_cast<double>(rows * k * outputs),
          packing::is_integer(format.dtype) ? int8_gops() : fma_gflops(), [&] { kernels->linear(a); });
}

// All query heads of one kv head, one row, segment by segment.
void attend(benchmark::State& state, Format format, uint32_t head_dim, uint32_t queries, uint64_t context) {
  const linnet_state_tensor k{head_dim, format.dtype, LINNET_STATE_PANELS, 1}, v{head_dim, format.dtype, LINNET_STATE_ROWS, 1};
  const uint64_t half = detail::state_tensor_bytes(k), page = half + detail::state_tensor_bytes(v), pages = context / 64;
  const auto cache = block<uint8_t>(pages * page);
  const uint64_t record = ops::attend_record(head_dim);
  const auto q = block<float>(queries * head_dim), y = block<float>(head_dim), partial = block<float>(queries * record),
             total = block<float>(queries * record), widened = block<float>(64 * head_dim);
  const uint64_t code_stride = ops::QuantizedRow(head_dim).bytes;
  const auto codes = block<uint8_t>(queries * code_stride);
  std::vector<uint32_t> table(pages);
  for (uint32_t i = 0; i < pages; ++i) table[i] = i;
  const std::vector<uint64_t> first(queries, 0), end(queries, context);
  ops::Attend a = {};
  a.q = q.get(), a.q_stride = head_dim, a.queries = queries, a.head_dim = head_dim, a.scale = 0.1f;
  a.first = first.data(), a.end = end.data();
  a.keys = cache.get(), a.values = cache.get() + half;
  a.key_dtype = a.value_dtype = format.dtype;
  a.page_bytes = page, a.pages = table.data();
  a.widened = widened.get(), a.codes = codes.get(), a.code_stride = code_stride;
  measure(state, cache.get(), pages * page, 4.0 * static_cast<double>(context * head_dim * queries), fma_gflops(), [&] {
    for (uint32_t h = 0; h < queries; ++h) ops::attend_nothing(total.get() + h * record, head_dim);
    for (uint64_t segment = 0; segment * ops::kAttendSegment < context; ++segment) {
      kernels->attend(a, segment, partial.get());
      for (uint32_t h = 0; h < queries; ++h) kernels->fold(partial.get() + h * record, head_dim, total.get() + h * record);
    }
    for (uint32_t h = 0; h < queries; ++h) kernels->finish_attention(total.get() + h * record, head_dim, y.get());
  });
}

constexpr uint64_t kRow = 4096;

// x, weight, bias and y side by side.
void norm(benchmark::State& state, bool layer) {
  const auto all = block<float>(4 * kRow);
  float* x = all.get();
  measure(state, x, kRow * sizeof(float) * (layer ? 4 : 3), 0, 0, [&] {
    if (layer) kernels->layer_norm(x, x + kRow, x + 3 * kRow, x + 2 * kRow, kRow, 1e-5f);
    else kernels->rms_norm(x, x + kRow, x + 2 * kRow, kRow, 1e-5f);
  });
}

void quantize(benchmark::State& state) {
  const auto x = block<float>(kRow);
  const auto row = block<uint8_t>(ops::QuantizedRow(kRow).bytes);
  measure(state, x.get(), kRow * sizeof(float), 0, 0, [&] { kernels->quantize(x.get(), kRow, 0, packing::groups(kRow), row.get()); });
}

void exponential(benchmark::State& state) {
  const auto all = block<float>(2 * kRow);
  constexpr double operations = 2 * 11;  // eleven instructions on the multiply-add ports, comparisons left out
  measure(state, all.get(), 2 * kRow * sizeof(float), operations * kRow, fma_gflops(),
          [&] { kernels->math->exp(all.get(), all.get() + kRow, kRow); });
}

void sample(benchmark::State& state, float temperature, uint32_t top_k, float top_p) {
  constexpr uint32_t vocabulary = 151936;
  std::mt19937 random(1);
  std::vector<float> logits(vocabulary), work(vocabulary);
  for (float& x : logits) {  // roughly normal, a few stand out: what a model gives
    x = 0;
    for (int i = 0; i < 6; ++i) x += static_cast<float>(random() >> 8) * 0x1p-23f - 1.0f;
  }
  for (int i = 0; i < 20; ++i) logits[random() % vocabulary] = 9.0f + static_cast<float>(i) / 4;
  const auto scratch = block<uint8_t>(linnet_sampler_scratch_bytes(vocabulary));
  linnet_sampling sampling;
  linnet_sampling_init(&sampling);
  sampling.temperature = temperature, sampling.top_k = top_k, sampling.top_p = top_p;
  uint64_t position = 0;
  measure(state, logits.data(), vocabulary * sizeof(float), 0, 0, [&] {
    std::memcpy(work.data(), logits.data(), vocabulary * sizeof(float));  // as a session does: the sampler works in place
    linnet_sampled out{};
    if (linnet_sample(work.data(), vocabulary, nullptr, 0, position++, &sampling, scratch.get(), &out, nullptr) != LINNET_OK)
      state.SkipWithError("linnet_sample failed");
    benchmark::DoNotOptimize(out);
  });
}

template <class Fn> void add(const std::string& name, Fn fn) {
  benchmark::RegisterBenchmark((name + "/" + kernels->name).c_str(), fn)->Unit(benchmark::kMicrosecond);
}

void add_all() {
  for (const Format format : kWeights)
    for (const Place place : kPlaces)
      for (const uint32_t rows : {1, 2, 4, 8, 16, 64, 512})
        add(std::string("linear/") + format.name + "/" + place.name + "/rows:" + std::to_string(rows),
            [=](benchmark::State& s) { linear(s, format, place, rows); });
  for (const Format format : kCaches)
    for (const uint32_t queries : {1, 4})
      for (const uint32_t head_dim : {64, 128})
        for (const uint64_t context : {64, 512, 1024, 4096, 32768})
          add(std::string("attend/") + format.name + "/head_dim:" + std::to_string(head_dim) + "/heads:" + std::to_string(queries) +
                  "/context:" + std::to_string(context),
              [=](benchmark::State& s) { attend(s, format, head_dim, queries, context); });
  add("quantize", quantize);
  add("rms_norm", [](benchmark::State& s) { norm(s, false); });
  add("layer_norm", [](benchmark::State& s) { norm(s, true); });
  add("exp", exponential);
  add("sample/greedy", [](benchmark::State& s) { sample(s, 0, 0, 1); });
  add("sample/temperature", [](benchmark::State& s) { sample(s, 0.8f, 0, 1); });
  add("sample/top_k:40", [](benchmark::State& s) { sample(s, 0.8f, 40, 1); });
  add("sample/top_p:0.95", [](benchmark::State& s) { sample(s, 0.8f, 0, 0.95f); });
}

}  // namespace

// --isa=NAME, and Google Benchmark's own options.
int main(int argc, char** argv) {
  const char* isa = nullptr;
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], "--isa=", 6) == 0) isa = argv[i] + 6;
    else argv[kept++] = argv[i];
  }
  argc = kept;
  kernels = ops::select(isa);
  if (!kernels) {
    std::fprintf(stderr, "bench_kernels: this processor or build has no kernels named %s\n", isa);
    return 2;
  }
  add_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  std::printf("one core:");
  for (const Place& place : kPlaces) std::printf(" %s %.1f GB/s,", place.name, read_gbs(block<uint8_t>(place.bytes).get(), place.bytes));
  std::printf(" fma %.0f Gop/s, int8 dot products %.0f Gop/s\n", fma_gflops(), int8_gops());
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
