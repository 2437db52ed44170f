#include "ops/kernels/dot_neon.h"
#include "ops/kernels/kernels.inl.h"

namespace linnet::ops {
LINNET_KERNELS(neon)
}  // namespace linnet::ops
