// Makes a tensor's bytes from the checkpoint, a block of rows at a time, so that no tensor has to fit in memory.
#pragma once
#include <functional>
#include <span>

#include "converter/checkpoint/checkpoint.h"
#include "converter/graph.h"

namespace linnet::converter {

// Calls `sink` with the tensor's bytes in order, spec.bytes() in all. Throws what sink throws, and ConvertError where a number does
// not fit the target format. Integer formats are searched for on `threads` threads; the bytes do not depend on how many. factor: for an integer
// matrix whose errors are fed on (quantize/panel.h), else null.
void make_tensor(const TensorSpec& spec, const Checkpoint& checkpoint, unsigned threads, const float* factor,
                 const std::function<void(std::span<const std::byte>)>& sink);

}  // namespace linnet::converter
