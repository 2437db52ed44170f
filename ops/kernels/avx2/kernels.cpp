#include "ops/kernels/f32x16_avx2.h"
#include "ops/kernels/kernels.inl.h"

namespace linnet::ops {
LINNET_KERNELS(avx2)
}  // namespace linnet::ops
