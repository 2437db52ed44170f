// Integer weights (R16K4) times quantized rows. A lane is an output row. The order is the contract: group by group from +0,
//   acc = fma(float(dot of the group), weight scale * activation scale, acc),
// then bias, activation, factor, residual. The dots are whole numbers below 2^24, so neither their order nor the instruction can change them.
#pragma once
#include "ops/kernels/linear.inl.h"

namespace linnet::ops {
namespace {

constexpr uint64_t kGroupColumns = 32, kUnit = 64;
constexpr uint64_t kBlockGroups = 16;  // of K: three panels' codes, unpacked, are 24 KiB and stay in the first cache
// Rows whose codes stay in the second cache, so that each panel is unpacked once for all of them: so many bytes, but at least and at most
constexpr uint64_t kBlockCodes = uint64_t{512} << 10, kLeastRows = 128, kMostRows = 256;
constexpr uint64_t kAhead = 4608;      // bytes a stream is fetched ahead; 2 to 9 KB are all close

void quantize(const float* x, uint64_t k, uint64_t first, uint64_t last, uint8_t* row) {
  const QuantizedRow at(k);
  float* scales = reinterpret_cast<float*>(row + at.scales);
  int32_t* offsets = reinterpret_cast<int32_t*>(row + at.offsets);
  const F32x16::F magic = F32x16::set(0x1.8p23f);  // adding it rounds to a whole number, left in the low bits
  for (uint64_t g = first; g < last; ++g) {
    const uint64_t begin = g * kGroupColumns;
    const auto half = [&](uint64_t i) {
      return i + 16 <= k ? F32x16::load(x + i) : i < k ? F32x16::load_part(x + i, static_cast<uint32_t>(k - i)) : F32x16::set(0.0f);
    };
    const F32x16::F a = half(begin), b = half(begin + 16);
    const F32x16::I magnitude = F32x16::iset(0x7FFFFFFFu);
    const int32_t top = F32x16::ilargest(F32x16::imax(F32x16::iand(F32x16::bits(a), magnitude), F32x16::iand(F32x16::bits(b), magnitude)));
    const float largest = __builtin_bit_cast(float, top);
    const bool finite = top < 0x7F800000, none = top < 0x0D800000;  // 2^-100
    F32x16::I qa = F32x16::iset(0), qb = qa;
    if (finite && !none) {
      const F32x16::F inverse = F32x16::set(127.0f / largest);
      qa = F32x16::isub(F32x16::bits(F32x16::add(F32x16::mul(a, inverse), magic)), F32x16::bits(magic));
      qb = F32x16::isub(F32x16::bits(F32x16::add(F32x16::mul(b, inverse), magic)), F32x16::bits(magic));
    }
    F32x16::store_i8(reinterpret_cast<int8_t*>(row + begin), qa);
    F32x16::store_i8(reinterpret_cast<int8_t*>(row + begin + 16), qb);
    scales[g] = !finite ? __builtin_nanf("") : none ? 0.0f : largest / 127.0f;
    offsets[g] = -128 * F32x16::isum(F32x16::iadd(qa, qb));
  }
}

// Where a tile reads weights: packed panels as they lie in the file, or a block of them unpacked into units ready to multiply.
template <uint8_t dtype> struct Packed {
  const uint8_t* panels;
  uint64_t panel_bytes;
  Dot::Table table;
  bool fetch;

  template <int P, class Fn> void units(uint64_t g, Fn fn) const {
    const uint8_t* codes = panels + packing::codes_at(dtype, g);
    if (fetch) {
      // Behind a panel's end each stream goes on P panels further.
      const uint64_t ahead = packing::codes_at(dtype, g) + kAhead, jump = ahead < panel_bytes ? 0 : (P - 1) * panel_bytes;
      for (int p = 0; p < P; ++p)
        for (uint64_t line = 0; line < packing::group_code_bytes(dtype) + 32; line += 64) __builtin_prefetch(panels + p * panel_bytes + ahead + jump + line);
    }
    if constexpr (dtype == LINNET_I8) {
#pragma GCC unroll 8
      for (int u = 0; u < 8; ++u) {
        Dot::W w[P];
#pragma GCC unroll 4
        for (int p = 0; p < P; ++p) w[p] = Dot::i8(codes + p * panel_bytes + kUnit * u);
        fn(u, w);
      }
    } else {
#pragma GCC unroll 4
      for (int u = 0; u < 4; ++u) {
        Dot::W low[P], high[P];
#pragma GCC unroll 4
        for (int p = 0; p < P; ++p) Dot::i4(codes + p * panel_bytes + kUnit * u, table, &low[p], &high[p]);
        fn(u, low);
        fn(4 + u, high);
      }
    }
  }
  F32x16::F scales(int p, uint64_t g) const {
    return F32x16::load_f16(reinterpret_cast<const uint16_t*>(panels + p * panel_bytes + packing::scales_at(dtype, g)));
  }
};

// A block of up to kBlockGroups groups of P panels: per group, for each unit the P panels' 64 bytes; and the scales as floats.
struct Unpacked {
  static constexpr uint64_t kPanels = Dot::kTilePanels;
  alignas(64) uint8_t codes[kBlockGroups * 8 * kPanels * kUnit];
  alignas(64) float scale[kBlockGroups * kPanels * 16];
  uint64_t first;  // group

  template <int P, class Source> void fill(const Source& from, uint64_t begin, uint64_t end) {
    first = begin;
    for (uint64_t g = begin; g < end; ++g) {
      uint8_t* to = codes + (g - begin) * 8 * P * kUnit;
      from.template units<P>(g, [&](int u, const Dot::W* w) {
        for (int p = 0; p < P; ++p) Dot::keep(to + (u * P + p) * kUnit, w[p]);
      });
      for (int p = 0; p < P; ++p) F32x16::store(scale + ((g - begin) * P + p) * 16, from.scales(p, g));
    }
  }
  template <int P> struct Of {
    const Unpacked& block;
    template <int, class Fn> void units(uint64_t g, Fn fn) const {
      const uint8_t* at = block.codes + (g - block.first) * 8 * P * kUnit;
#pragma GCC unroll 8
      for (int u = 0; u < 8; ++u) {
        Dot::W w[P];
#pragma GCC unroll 4
        for (int p = 0; p < P; ++p) w[p] = Dot::ready(at + (u * P + p) * kUnit);
        fn(u, w);
      }
    }
    F32x16::F scales(int p, uint64_t g) const { return F32x16::load(block.scale + ((g - block.first) * P + p) * 16); }
  };
};

// R rows times P panels over groups [begin, end), added to acc in registers.
template <int R, int P, class Source>
inline __attribute__((always_inline)) void integer_tile(const Source& from, const QuantizedRow& at, const uint8_t* rows, uint64_t stride,
                                                        uint64_t begin, uint64_t end, F32x16::F (&acc)[R][P]) {
  constexpr int kChains = R * P <= 2 ? 2 : 1;  // vpdpbusd takes 4 or 5 cycles
  for (uint64_t g = begin; g < end; ++g) {
    Dot::I sum[kChains][R][P];
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      int32_t offset;
      std::memcpy(&offset, rows + r * stride + at.offsets + 4 * g, 4);
#pragma GCC unroll 4
      for (int p = 0; p < P; ++p) {
        sum[0][r][p] = Dot::start(offset);
        if constexpr (kChains == 2) sum[1][r][p] = Dot::zero();
      }
    }
    from.template units<P>(g, [&](int u, const Dot::W* w) __attribute__((always_inline)) {
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) {
        int32_t four;
        std::memcpy(&four, rows + r * stride + kGroupColumns * g + 4 * u, 4);
#pragma GCC unroll 4
        for (int p = 0; p < P; ++p) sum[u % kChains][r][p] = Dot::dot(sum[u % kChains][r][p], w[p], four);
      }
    });
#pragma GCC unroll 4
    for (int p = 0; p < P; ++p) {
      const F32x16::F scale = from.scales(p, g);
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) {
        float a;
        std::memcpy(&a, rows + r * stride + at.scales + 4 * g, 4);
        Dot::I dot = sum[0][r][p];
        if constexpr (kChains == 2) dot = F32x16::iadd(dot, sum[1][r][p]);
        acc[r][p] = F32x16::fma(F32x16::from_int(dot), F32x16::mul(scale, F32x16::set(a)), acc[r][p]);
      }
    }
  }
}

// A tile from or to where sums wait between blocks of K.
template <int R, int P, class Source>
void integer_block(const Linear& a, const Source& from, const QuantizedRow& at, uint64_t row, uint64_t panel, uint64_t begin, uint64_t end, float* wait) {
  F32x16::F acc[R][P];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int p = 0; p < P; ++p) acc[r][p] = begin ? F32x16::load(wait + (r * P + p) * 16) : F32x16::set(0.0f);
  const bool last = end == packing::groups(a.k);
  if (last)
    for (uint64_t r = row + R; r < row + 2 * R && r < a.rows; ++r) fetch_for_finish(a, r, panel * kPanel, P);  // for the tile after this one
  integer_tile<R, P>(from, at, a.codes + row * a.code_stride, a.code_stride, begin, end, acc);
  if (!last) {
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
      for (int p = 0; p < P; ++p) F32x16::store(wait + (r * P + p) * 16, acc[r][p]);
    return;
  }
  for (int r = 0; r < R; ++r)
    for (int p = 0; p < P; ++p) {
      const uint64_t output = (panel + p) * kPanel;
      F32x16::store(a.y + (row + r) * a.y_stride + output, finish(a, acc[r][p], row + r, output));
    }
}

template <int P, class Source>
void integer_rows(const Linear& a, const Source& from, const QuantizedRow& at, uint64_t first, uint64_t last, uint64_t panel, uint64_t begin,
                  uint64_t end, float* wait) {
  constexpr int R = Dot::kTileRows;
  uint64_t row = first;
  const auto take = [&]<int r>(std::integral_constant<int, r>) {
    for (; row + r <= last; row += r) integer_block<r, P>(a, from, at, row, panel, begin, end, wait + (row - first) * P * 16);
  };
  take(std::integral_constant<int, R>());
  if constexpr (R > 2) take(std::integral_constant<int, 2>());
  if constexpr (R > 1) take(std::integral_constant<int, 1>());
}

// P panels, all rows.
template <uint8_t dtype, int P> void integer_panels(const Linear& a, const QuantizedRow& at, const Dot::Table& table, uint64_t panel, float* wait, Unpacked* unpacked) {
  const uint64_t bytes = packing::panel_bytes(dtype, a.k), groups = packing::groups(a.k);
  const Packed<dtype> packed{static_cast<const uint8_t*>(a.weights) + panel * bytes, bytes, table, true};
  if (a.rows <= Dot::kTileRows) return integer_rows<P>(a, packed, at, 0, a.rows, panel, 0, groups, wait);  // one tile: nothing to keep
  if constexpr (P <= Dot::kTilePanels) {
    const uint64_t fit = kBlockCodes / a.code_stride, a_block = fit > kMostRows ? kMostRows : fit > kLeastRows ? fit / 4 * 4 : kLeastRows;
    const uint64_t parts = (groups + kBlockGroups - 1) / kBlockGroups, a_part = (groups + parts - 1) / parts;
    for (uint64_t first = 0; first < a.rows; first += a_block) {
      const uint64_t last = first + a_block < a.rows ? first + a_block : a.rows;
      for (uint64_t begin = 0; begin < groups; begin += a_part) {
        const uint64_t end = begin + a_part < groups ? begin + a_part : groups;
        unpacked->fill<P>(packed, begin, end);
        integer_rows<P>(a, Unpacked::Of<P>{*unpacked}, at, first, last, panel, begin, end, wait);
      }
    }
  }
}

Dot::Table level_table(const float* levels) {
  int8_t bytes[16] = {};
  if (levels) for (int i = 0; i < 16; ++i) bytes[i] = static_cast<int8_t>(levels[i]);
  return Dot::table(bytes);
}

template <uint8_t dtype> void linear_integers(const Linear& a) {
  constexpr int P = Dot::kTilePanels;
  const QuantizedRow at(a.k);
  const Dot::Table table = level_table(a.levels);
  if (a.rows == 1) {  // several panels side by side: a processor fetches more of several streams than of one
    constexpr int S = Dot::kStreams;
    uint64_t panel = 0;
    for (; panel + S <= a.panels; panel += S) integer_panels<dtype, S>(a, at, table, panel, nullptr, nullptr);
    for (; panel < a.panels; ++panel) integer_panels<dtype, 1>(a, at, table, panel, nullptr, nullptr);
    return;
  }
  alignas(64) float wait[kMostRows * P * 16];
  Unpacked unpacked;
  uint64_t panel = 0;
  for (; panel + P <= a.panels; panel += P) integer_panels<dtype, P>(a, at, table, panel, wait, &unpacked);
  for (; panel < a.panels; ++panel) integer_panels<dtype, 1>(a, at, table, panel, wait, &unpacked);
}

void linear(const Linear& a) {
  if (a.dtype == LINNET_I8) return linear_integers<LINNET_I8>(a);
  if (a.dtype == LINNET_I4) return linear_integers<LINNET_I4>(a);
  with_dtype(a.dtype, [&](auto loader) { linear_floats<decltype(loader)>(a); });
}

// One row of integer weights, n columns.
void dequantize_row(uint8_t dtype, const float* levels, const uint8_t* panel, uint64_t row, uint64_t n, float* y) {
  for (uint64_t g = 0; g * kGroupColumns < n; ++g) {
    uint8_t bytes[kGroupColumns];  // the row's, in the order of its columns; of i4, half as many
    const uint8_t* codes = panel + packing::codes_at(dtype, g);
    for (uint64_t unit = 0; unit < packing::group_code_bytes(dtype) / kUnit; ++unit) std::memcpy(bytes + 4 * unit, codes + unit * kUnit + 4 * row, 4);
    uint16_t stored;
    std::memcpy(&stored, panel + packing::scales_at(dtype, g) + 2 * row, 2);
    const F32x16::F scale = F32x16::set(f16_to_f32(stored));
    for (uint64_t half = 0; half < 2; ++half) {
      const uint64_t i = g * kGroupColumns + half * 16;
      if (i >= n) return;
      F32x16::F x;
      if (dtype == LINNET_I8) {
        x = F32x16::from_int(F32x16::load_i8(reinterpret_cast<const int8_t*>(bytes) + half * 16));
      } else {
        float level[16];
        for (int j = 0; j < 16; ++j) level[j] = levels[half ? bytes[j] >> 4 : bytes[j] & 15];
        x = F32x16::load(level);
      }
      if (i + 16 <= n) F32x16::store(y + i, F32x16::mul(scale, x));
      else F32x16::store_part(y + i, F32x16::mul(scale, x), static_cast<uint32_t>(n - i));
    }
  }
}

}  // namespace
}  // namespace linnet::ops
