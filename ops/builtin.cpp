#include "ops/builtin.h"

#include "linnet/c.h"
#include "ops/kernels/kernels.h"
#include "runtime/status.h"

namespace linnet::ops {
namespace {

const linnet_op_def* const kOps[] = {&kEmbedding,   &kRmsNorm,    &kLayerNorm,  &kLinear, &kFeedForward, &kRopeTable, &kRope,
                                     &kAttention,   &kSelectRows, &kActivation, &kAdd,    &kMul,         &kMatmul,    &kScaledMaskedSoftmax,
                                     &kStateAppend, &kStateView};

linnet_registry* create_builtin_registry() {
  linnet_registry* registry = nullptr;
  if (linnet_registry_create(nullptr, &registry, nullptr) != LINNET_OK) return nullptr;
  if (linnet_register_builtin_ops(registry, nullptr, nullptr) == LINNET_OK) return registry;
  linnet_registry_release(registry);
  return nullptr;
}

}  // namespace
}  // namespace linnet::ops

extern "C" linnet_code linnet_register_builtin_ops(linnet_registry* registry, const char* isa, linnet_error* error) {
  using namespace linnet;
  if (!registry) return detail::fail(error, LINNET_INVALID_ARGUMENT, "registry", {}, "the registry is NULL");
  const ops::Kernels* kernels = ops::select(isa);
  if (!kernels) {
    return detail::fail(error, LINNET_UNSUPPORTED, "isa", {}, "instruction set '%s' is not one this build and processor run; this one's best is '%s'",
                        isa, ops::select(nullptr)->name);
  }
  for (const linnet_op_def* op : ops::kOps) {
    linnet_op_def copy = *op;
    copy.context = const_cast<ops::Kernels*>(kernels);  // the ABI's context is not const; the ops only read it
    const linnet_code code = linnet_registry_add(registry, &copy, 0, error);
    if (code != LINNET_OK) return code;
  }
  return linnet_registry_set_math(registry, kernels->math, error);
}

extern "C" linnet_registry* linnet_builtin_registry(void) {
  static linnet_registry* const registry = linnet::ops::create_builtin_registry();
  return registry;
}
