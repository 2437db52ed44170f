// Blocks that decoder families share: each adds fused nodes to the model, and the bodies that say the same in primitives (ops/README.md).
#pragma once
#include <string>

#include "converter/architectures/model_builder.h"

namespace linnet::converter {

enum class NormKind : uint8_t { none = 0, rms = 1, layer = 2 };                                     // as the ops number them
enum class Activation : uint8_t { none = 0, relu = 1, gelu = 2, gelu_tanh = 3, silu = 4 };          // the same

struct Norm {
  NormKind kind = NormKind::none;
  Id weight = kAbsent, bias = kAbsent;
  double epsilon = 0;
};

struct Linear {
  Id weight = kAbsent, bias = kAbsent;
};

struct AttentionShape {
  uint64_t heads = 0, kv_heads = 0, head_dim = 0;
  double scale = 1, softcap = 0;
  uint64_t rotary_dim = 0;          // 0: no rotation
  bool rotary_pairs = false;        // rotates (2i, 2i + 1) instead of (i, i + rotary_dim / 2)
};

struct AttentionBlock {
  Norm norm;
  Linear q, k, v, o;
  AttentionShape shape;
  Id rope = kAbsent;                // the table's value
};

struct FeedForwardBlock {
  Norm norm;
  Linear up, gate, down;            // no gate: plain
  uint64_t inner = 0;
  Activation activation = Activation::none;
};

// Each returns the value that goes on: x + block(norm(x)). `width` is x's; names are for people.
Id attention_block(ModelBuilder& b, const std::string& layer, Id x, uint64_t width, const AttentionBlock& block);
Id feed_forward_block(ModelBuilder& b, const std::string& layer, Id x, uint64_t width, const FeedForwardBlock& block);

// Ends of the model. tokens and logits are the model's input and output: begin comes first, finish last.
Id begin_model(ModelBuilder& b, uint64_t vocabulary, uint64_t width, Id table, Id positions);
Id rope_table(ModelBuilder& b, std::vector<float> inverse_frequencies, double factor);
void finish_model(ModelBuilder& b, Id x, uint64_t width, const Norm& norm, Id head);

// config.json's name of an activation, as transformers' ACT2FN has it; refused by name if Linnet has no such function.
Activation read_activation(const Config& config, std::string_view key, const char* fallback);

}  // namespace linnet::converter
