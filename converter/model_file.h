// Lays out and writes a .linnet file: header, graph, tokenizer, weights (schema/FORMAT.md).
#pragma once
#include <functional>
#include <span>
#include <string_view>

#include "converter/checkpoint/checkpoint.h"
#include "converter/graph.h"
#include "converter/writer.h"

namespace linnet::converter {

class Calibration;

// `step` is called before each block of weights is written, with the bytes written so far, all there are, and the tensor. It may throw.
// calibration: null, or what integer matrices are packed with. Returns the size of the file.
uint64_t write_model(const Graph& graph, std::span<const std::byte> tokenizer, const Checkpoint& checkpoint, unsigned threads, OutputFile* file,
                     const std::function<void(uint64_t, uint64_t, std::string_view)>& step, Calibration* calibration = nullptr);

}  // namespace linnet::converter
