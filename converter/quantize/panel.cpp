#include "converter/quantize/panel.h"

#include <cmath>
#include <cstring>
#include <vector>

#include "converter/floats.h"
#include "converter/quantize/search.h"

namespace linnet::converter {

namespace {

using namespace quantize;

// Columns [first, first + 32) of the rows, turned; rows and columns that are not there are 0.
std::optional<Misfit> load(const float* rows, uint64_t count, uint64_t k, uint64_t first, Group* g) {
  g->columns = std::min(packing::kGroup, k - first);
  std::memset(g->w, 0, sizeof g->w);
  for (uint64_t r = 0; r < count; ++r) {
    float amax = 0;
    uint64_t at = 0;
    for (uint64_t c = 0; c < g->columns; ++c) {
      const float x = rows[r * k + first + c];
      if (!std::isfinite(x)) return Misfit{r, first + c, x};
      if (std::fabs(x) > amax) amax = std::fabs(x), at = c;
      g->w[c][r] = x;
    }
    if (amax / 127.0f >= 65520.0f) return Misfit{r, first + at, rows[r * k + first + at]};
  }
  return {};
}

void store(linnet_dtype dtype, const Found& found, uint64_t group, std::byte* panel) {
  auto* bytes = reinterpret_cast<uint8_t*>(panel);
  uint8_t *scales = bytes + packing::scales_at(dtype, group), *codes = bytes + packing::codes_at(dtype, group);
  for (uint64_t r = 0; r < packing::kPanelRows; ++r) {
    const uint16_t bits = f32_to_f16(found.scale[r]);
    scales[2 * r] = static_cast<uint8_t>(bits);
    scales[2 * r + 1] = static_cast<uint8_t>(bits >> 8);
    for (uint64_t c = 0; c < packing::kGroup; ++c)
      codes[packing::code_byte(dtype, r, c)] |=
          static_cast<uint8_t>(static_cast<uint8_t>(static_cast<int8_t>(found.code[c][r])) << packing::code_shift(dtype, c));
  }
}

// One group of a panel. With a factor, the errors of the columns behind it are in `errors`.
struct Work {
  const Group& group;
  const Steps* steps;
  const float* factor;  // row `first`, or null
  uint64_t k, first;
  float* errors;
};
template <int N>
[[gnu::always_inline]] inline void search_in(const Work& w, Found* found) {
  if (w.factor) Search<N>::run_fed(w.group, w.steps, w.factor, w.k, w.first, w.errors, found);
  else Search<N>::run(w.group, w.steps, found);
}

using Run = void (*)(const Work&, Found*);

void search(const Work& w, Found* found) { search_in<4>(w, found); }
#if defined(__x86_64__)
[[gnu::target("avx2")]] void search_avx2(const Work& w, Found* found) { search_in<8>(w, found); }
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]] void search_avx512(const Work& w, Found* found) { search_in<16>(w, found); }
#endif

Run best_search() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    return search_avx512;
  if (__builtin_cpu_supports("avx2")) return search_avx2;
#endif
  return search;
}

std::optional<Misfit> pack(Run run, linnet_dtype dtype, const Levels* levels, const float* rows, uint64_t count, uint64_t k, std::byte* to,
                           const float* factor) {
  std::memset(to, 0, packing::panel_bytes(dtype, k));
  const std::optional<Steps> steps = levels ? std::optional<Steps>(*levels) : std::nullopt;
  std::vector<float> errors(factor ? k * packing::kPanelRows : 0);
  Group group;
  Found found;
  const uint64_t groups = packing::groups(k);
  for (uint64_t i = 0; i < groups; ++i) {
    const uint64_t g = factor ? groups - 1 - i : i, first = g * packing::kGroup;
    if (auto misfit = load(rows, count, k, first, &group)) return misfit;
    run({group, steps ? &*steps : nullptr, factor ? factor + first * k : nullptr, k, first, errors.data()}, &found);
    store(dtype, found, g, to);
  }
  return {};
}

}  // namespace

std::optional<Misfit> pack_panel(linnet_dtype dtype, const Levels* levels, const float* rows, uint64_t count, uint64_t k, std::byte* to,
                                 const float* factor) {
  static const Run run = best_search();
  return pack(run, dtype, levels, rows, count, k, to, factor);
}

std::optional<Misfit> pack_panel_baseline(linnet_dtype dtype, const Levels* levels, const float* rows, uint64_t count, uint64_t k, std::byte* to,
                                          const float* factor) {
  return pack(search, dtype, levels, rows, count, k, to, factor);
}

}  // namespace linnet::converter
