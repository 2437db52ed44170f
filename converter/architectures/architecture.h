// The families of models that can be converted: one file each, found by config.json's model_type.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "converter/architectures/model_builder.h"
#include "converter/checkpoint/generation.h"

namespace linnet::converter {

struct Family {
  std::string_view model_type;
  TokenDefaults tokens;                          // of transformers' config class
  void (*build)(ModelBuilder& b);                // fills b.graph; throws ConvertError
  bool (*is_buffer)(std::string_view tensor);    // tensors that checkpoints carry and nobody needs
};

// One function a file: gpt2.cpp, llama.cpp, ...
Family gpt2();
Family llama();
Family qwen2();

std::span<const Family> families();
const Family& find_family(const Config& config);  // throws, naming model_type and those supported

// Refuses settings that change the computation and that none of the families here has. `llama_like`: also those that models
// derived from Llama add to it under its own model_type.
// `but`: keys that the family has dealt with itself.
void refuse_unknown_settings(const Config& config, bool llama_like, std::initializer_list<std::string_view> but = {});
// Refuses tensors that are packed by a quantization method, naming it where names or dtypes give it away.
void refuse_quantized_tensors(const Checkpoint& checkpoint, const Family& family);
// What the checkpoint's matrices are stored in: one format, or f32 where they differ.
linnet_dtype stored_dtype(const Checkpoint& checkpoint, const Family& family);
// Throws unless every tensor of the checkpoint was used by the builder or is a known buffer.
void check_all_used(const ModelBuilder& b, const Family& family);

}  // namespace linnet::converter
