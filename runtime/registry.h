// Ops by name. Small, so a list; changed only before models are opened with it.
#pragma once
#include <atomic>

#include "linnet/op.h"
#include "runtime/memory.h"

namespace linnet::detail {
struct OpEntry {
  char name[32];
  linnet_op_def def;  // def.name points at the registering code's string; `name` is ours
};
}  // namespace linnet::detail

struct linnet_registry {
  explicit linnet_registry(const linnet_allocator& a) : allocator(a), ops(a) {}
  const linnet::detail::OpEntry* find(const char* name) const {
    for (const auto& entry : ops)
      if (std::strcmp(entry.name, name) == 0) return &entry;
    return nullptr;
  }
  linnet_allocator allocator;
  std::atomic<uint32_t> references{1};
  linnet::detail::Vec<linnet::detail::OpEntry> ops;
  const linnet_math* math = nullptr;
};

namespace linnet::detail {
inline void retain(linnet_registry* r) { r->references.fetch_add(1, std::memory_order_relaxed); }
}  // namespace linnet::detail
