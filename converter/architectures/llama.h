// What Llama and the families that grew out of it share.
#pragma once
#include "converter/architectures/model_builder.h"

namespace linnet::converter {

struct LlamaTraits {
  uint64_t default_context = 2048;   // max_position_embeddings where config.json has none
  bool qkv_bias = false, o_bias = false, mlp_bias = false;
};

void build_llama(ModelBuilder& b, const LlamaTraits& traits);
bool is_llama_buffer(std::string_view tensor);

}  // namespace linnet::converter
