// Rotary position embedding: config.json's settings, in their old and new spellings, become inverse frequencies.
#pragma once
#include <cstdint>
#include <vector>

#include "converter/checkpoint/config.h"

namespace linnet::converter {

struct Rope {
  std::vector<float> inverse_frequencies;  // rotary_dim / 2
  double factor = 1;                       // of the cosines and sines
};

// Kinds default, linear and llama3, as transformers computes them; any other is refused by name. context: max_position_embeddings.
Rope read_rope(const Config& config, uint64_t rotary_dim, uint64_t context);

}  // namespace linnet::converter
