// What the handle of c.h holds.
#pragma once
#include "linnet/c.h"
#include "runtime/text/tokenizer.h"

struct linnet_tokenizer {
  explicit linnet_tokenizer(const linnet_allocator& allocator) : core(allocator) {}
  linnet::detail::Tokenizer core;
  linnet_model* model = nullptr;  // kept alive: the section is its memory
};
