#include "ops/kernels/f32x16_neon.h"
#include "ops/kernels/kernels.inl.h"

namespace linnet::ops {
LINNET_KERNELS(neon)
}  // namespace linnet::ops
