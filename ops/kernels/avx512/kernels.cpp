#include "ops/kernels/dot_avx512.h"
#include "ops/kernels/kernels.inl.h"

namespace linnet::ops {
LINNET_KERNELS(avx512)
}  // namespace linnet::ops
