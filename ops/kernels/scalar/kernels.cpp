#include "ops/kernels/dot_scalar.h"
#include "ops/kernels/kernels.inl.h"

namespace linnet::ops {
LINNET_KERNELS(scalar)
}  // namespace linnet::ops
