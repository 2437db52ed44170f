#include "runtime/registry.h"

#include "runtime/status.h"

using namespace linnet::detail;

extern "C" {

linnet_code linnet_registry_create(const linnet_allocator* allocator, linnet_registry** out, linnet_error* error) {
  const linnet_allocator a = allocator_or_malloc(allocator);
  *out = make<linnet_registry>(a, a);
  return *out ? succeed(error) : no_memory(error, sizeof(linnet_registry), "an op registry");
}

void linnet_registry_release(linnet_registry* registry) {
  if (registry && registry->references.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy(registry->allocator, registry);
}

linnet_code linnet_registry_add(linnet_registry* registry, const linnet_op_def* op, int replace, linnet_error* error) {
  if (!op || !op->name || !op->name[0]) return fail(error, LINNET_INVALID_ARGUMENT, "op", {}, "an op needs a name");
  if (op->abi != LINNET_OP_ABI)
    return fail(error, LINNET_VERSION, op->name, {LINNET_OP_ABI, op->abi},
                "op %s was built for op ABI %u; this library has %u: build it against this library's linnet/op.h", op->name, op->abi, LINNET_OP_ABI);
  if (op->size < offsetof(linnet_op_def, context))
    return fail(error, LINNET_VERSION, op->name, {sizeof(linnet_op_def), op->size},
                "op %s: size is %u bytes, fewer than ABI %u has; set it to sizeof(linnet_op_def)", op->name, op->size, LINNET_OP_ABI);
  OpEntry entry{};
  if (std::strlen(op->name) >= sizeof entry.name)
    return fail(error, LINNET_INVALID_ARGUMENT, op->name, {sizeof entry.name - 1, std::strlen(op->name)}, "op name %s has more than %zu characters",
                op->name, sizeof entry.name - 1);
  if (!op->plan || !op->eval) return fail(error, LINNET_INVALID_ARGUMENT, op->name, {}, "op %s lacks plan or eval", op->name);
  if (op->min_version > op->max_version)
    return fail(error, LINNET_INVALID_ARGUMENT, op->name, {op->min_version, op->max_version}, "op %s: min_version %u is above max_version %u",
                op->name, op->min_version, op->max_version);
  copy_text(entry.name, sizeof entry.name, op->name);
  std::memcpy(&entry.def, op, op->size < sizeof entry.def ? op->size : sizeof entry.def);
  entry.def.size = sizeof entry.def;
  if (const OpEntry* old = registry->find(op->name)) {
    if (!replace)
      return fail(error, LINNET_INVALID_ARGUMENT, op->name, {}, "op %s is registered already; pass replace = 1 to put another in its place",
                  op->name);
    *const_cast<OpEntry*>(old) = entry;
    return succeed(error);
  }
  return registry->ops.push(entry) ? succeed(error) : no_memory(error, sizeof entry, "an op registry");
}

linnet_code linnet_registry_remove(linnet_registry* registry, const char* name, linnet_error* error) {
  const OpEntry* entry = registry->find(name);
  if (!entry) return fail(error, LINNET_INVALID_ARGUMENT, name, {}, "op %s is not registered", name);
  *const_cast<OpEntry*>(entry) = registry->ops.back();
  registry->ops.pop();
  return succeed(error);
}

linnet_code linnet_registry_set_math(linnet_registry* registry, const linnet_math* math, linnet_error* error) {
  if (!math || math->size < sizeof(linnet_math))
    return fail(error, LINNET_INVALID_ARGUMENT, "math", {sizeof(linnet_math), math ? math->size : 0}, "the math table is too small");
  registry->math = math;
  return succeed(error);
}

const char* linnet_version(void) { return LINNET_VERSION_TEXT; }

const char* linnet_code_name(linnet_code code) {
  switch (code) {
    case LINNET_OK: return "ok";
    case LINNET_INVALID_ARGUMENT: return "invalid argument";
    case LINNET_IO: return "input/output error";
    case LINNET_BAD_FILE: return "bad file";
    case LINNET_VERSION: return "version not supported";
    case LINNET_UNSUPPORTED: return "unsupported";
    case LINNET_NO_MEMORY: return "out of memory";
    case LINNET_BUFFER_TOO_SMALL: return "buffer too small";
    case LINNET_CONTEXT_FULL: return "context full";
    case LINNET_POOL_EMPTY: return "pool empty";
    case LINNET_CANCELLED: return "cancelled";
    case LINNET_NOT_FINITE: return "logits not finite";
    case LINNET_BUSY: return "runner busy";
    case LINNET_OP_FAILED: return "op failed";
    case LINNET_STOPPED: return "stopped";
    case LINNET_INTERNAL: return "internal error";
  }
  return "unknown code";
}

}  // extern "C"
