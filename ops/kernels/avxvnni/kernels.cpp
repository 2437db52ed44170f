#include "ops/kernels/dot_avx2.h"
#include "ops/kernels/kernels.inl.h"

namespace linnet::ops {
LINNET_KERNELS(avxvnni)
}  // namespace linnet::ops
