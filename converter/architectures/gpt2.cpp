// GPT-2: learned positions, LayerNorm, fused q k v, matrices stored [in, out] (Conv1D), a head that is the embedding.
#include <cmath>

#include "converter/architectures/architecture.h"
#include "converter/architectures/blocks.h"
#include "converter/message.h"

namespace linnet::converter {

namespace {

bool is_buffer(std::string_view t) { return t.ends_with(".attn.bias") || t.ends_with(".attn.masked_bias"); }

void build(ModelBuilder& b) {
  const Config& c = b.config;
  refuse_unknown_settings(c, false);
  const uint64_t d = c.integer("n_embd", 1, 1 << 20), layers = c.integer("n_layer", 1, 4096), heads = c.integer("n_head", 1, 1 << 16);
  const uint64_t vocabulary = c.integer("vocab_size", 1, INT32_MAX), positions = c.integer("n_positions", 1, 1 << 24);
  const uint64_t inner = c.integer_or("n_inner", 1, 1 << 22, 4 * d);
  if (d % heads) fail(LINNET_BAD_FILE, c.file(), ": n_embd ", d, " is not a multiple of n_head ", heads);
  const double epsilon = c.real_or("layer_norm_epsilon", 0, 1, 1e-5);
  const Activation activation = read_activation(c, "activation_function", "gelu_new");
  const bool scaled = c.boolean_or("scale_attn_weights", true), by_layer = c.boolean_or("scale_attn_by_inverse_layer_idx", false);
  b.graph.context_trained = b.graph.context_limit = static_cast<uint32_t>(positions);

  const std::string prefix = b.has("transformer.wte.weight") || b.has("transformer.wpe.weight") ? "transformer." : "";
  const auto norm = [&](const std::string& name) {
    return Norm{NormKind::layer, b.vector(name + ".weight", d), b.vector(name + ".bias", d), epsilon};
  };
  const auto conv1d = [&](const std::string& name, uint64_t out, uint64_t in) {
    return Linear{b.linear({name + ".weight", true}, out, in), b.vector(name + ".bias", out)};
  };

  const auto ends = b.embedding_and_head(prefix + "wte.weight", "lm_head.weight", c.boolean_or("tie_word_embeddings", true), vocabulary, d);
  Id x = begin_model(b, vocabulary, d, ends.embedding, b.table(prefix + "wpe.weight", positions, d));
  for (uint64_t i = 0; i < layers; ++i) {
    const std::string layer = cat("layers.", i), at = cat(prefix, "h.", i, ".");
    const auto part = [&](uint64_t number, const char* name) {
      return Linear{b.linear({at + "attn.c_attn.weight", true, number * d, 3 * d, name}, d, d),
                    b.vector(at + "attn.c_attn.bias", d, number * d, 3 * d, name)};
    };
    AttentionBlock a;
    a.norm = norm(at + "ln_1");
    a.q = part(0, "q");
    a.k = part(1, "k");
    a.v = part(2, "v");
    a.o = conv1d(at + "attn.c_proj", d, d);
    a.shape = {.heads = heads, .kv_heads = heads, .head_dim = d / heads};
    a.shape.scale = (scaled ? 1 / std::sqrt(static_cast<double>(d / heads)) : 1.0) / (by_layer ? static_cast<double>(i + 1) : 1.0);
    x = attention_block(b, layer, x, d, a);
    FeedForwardBlock m;
    m.norm = norm(at + "ln_2");
    m.up = conv1d(at + "mlp.c_fc", inner, d);
    m.down = conv1d(at + "mlp.c_proj", d, inner);
    m.inner = inner;
    m.activation = activation;
    x = feed_forward_block(b, layer, x, d, m);
  }
  finish_model(b, x, d, norm(prefix + "ln_f"), ends.head);
}

}  // namespace

Family gpt2() { return {"gpt2", {50256, 50256}, build, is_buffer}; }

}  // namespace linnet::converter
