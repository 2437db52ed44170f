// Up to 16 rows of floats become one panel of R16K4 (ops/packing.h).
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>

#include "converter/graph.h"

namespace linnet::converter {

// A weight that is not finite, or the largest of a group whose scale would be beyond f16. Row and column count within the panel's rows.
struct Misfit {
  uint64_t row = 0, column = 0;
  float value = 0;
};

// Quantizes `count` rows of k floats, row-major, and writes packing::panel_bytes(dtype, k) bytes. dtype is LINNET_I8, or LINNET_I4 with
// its levels.
//   i8   16 scales from amax / 127 up to 6 % above are tried, each rounded to f16; codes are w / scale, rounded to even, within -127..127
//   i4   scales of both signs are tried; the best few are fitted by least squares, rounded to f16, and measured again; codes are the nearest
//        level's, of two equally near ones the lower
// The scale of least squared error wins, of equals the first tried. A group of zeros, or of numbers so small that no f16 scale holds them,
// has scale 0 and codes 0. The bytes are the same on every processor: a lane is a row, no sum is split, nothing is fused.
//
// With a `factor`, k x k, R of H = R^T R (calibrate.h), what counts of a row's errors e is not e e but e H e: the error of its products. Then
// columns are coded from the last to the first, and each makes up for the errors of those behind it, as in GPTQ (Frantar and others, 2022,
// arXiv 2210.17323). Here by R itself: entry i of R e holds the errors of columns i and later, so that each column can make its entry small.
std::optional<Misfit> pack_panel(linnet_dtype dtype, const Levels* levels, const float* rows, uint64_t count, uint64_t k, std::byte* to,
                                 const float* factor = nullptr);

// The same, in the instructions of every processor of this kind: for tests.
std::optional<Misfit> pack_panel_baseline(linnet_dtype dtype, const Levels* levels, const float* rows, uint64_t count, uint64_t k, std::byte* to,
                                          const float* factor = nullptr);

}  // namespace linnet::converter
