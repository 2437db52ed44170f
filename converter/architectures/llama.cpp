// Llama: RMSNorm, RoPE, grouped key and value heads, a gated feed-forward.
#include "converter/architectures/llama.h"

#include <cmath>

#include "converter/architectures/architecture.h"
#include "converter/architectures/blocks.h"
#include "converter/architectures/rope.h"
#include "converter/message.h"

namespace linnet::converter {

bool is_llama_buffer(std::string_view t) { return t.ends_with("rotary_emb.inv_freq"); }

void build_llama(ModelBuilder& b, const LlamaTraits& traits) {
  const Config& c = b.config;
  const uint64_t d = c.integer("hidden_size", 1, 1 << 20), layers = c.integer("num_hidden_layers", 1, 4096),
                 inner = c.integer("intermediate_size", 1, 1 << 22);
  const uint64_t vocabulary = c.integer("vocab_size", 1, INT32_MAX),
                 context = c.integer_or("max_position_embeddings", 1, INT32_MAX, traits.default_context);
  const uint64_t heads = c.integer("num_attention_heads", 1, 1 << 16), kv_heads = c.integer_or("num_key_value_heads", 1, 1 << 16, heads);
  if (heads % kv_heads) fail(LINNET_BAD_FILE, c.file(), ": num_attention_heads ", heads, " is not a multiple of num_key_value_heads ", kv_heads);
  if (!c.has("head_dim") && d % heads)
    fail(LINNET_BAD_FILE, c.file(), ": hidden_size ", d, " is not a multiple of num_attention_heads ", heads, ", and there is no head_dim");
  const uint64_t head_dim = c.integer_or("head_dim", 1, 1 << 16, d / heads);
  if (head_dim % 2) fail(LINNET_UNSUPPORTED, c.file(), ": heads of ", head_dim, " cannot be rotated in halves; head_dim must be even");
  const double epsilon = c.real_or("rms_norm_eps", 0, 1, 1e-6);
  const Activation activation = read_activation(c, "hidden_act", "silu");
  b.graph.context_trained = static_cast<uint32_t>(context);

  const std::string prefix = b.has("model.embed_tokens.weight") || b.has("model.norm.weight") ? "model." : "";  // none: saved as the base model
  const auto norm = [&](const std::string& name) { return Norm{NormKind::rms, b.vector(name + ".weight", d), kAbsent, epsilon}; };
  const auto linear = [&](const std::string& name, uint64_t out, uint64_t in, bool bias) {
    return Linear{b.linear({name + ".weight"}, out, in), b.vector_if(bias, name + ".bias", out)};
  };

  const auto ends = b.embedding_and_head(prefix + "embed_tokens.weight", "lm_head.weight", c.boolean_or("tie_word_embeddings", false), vocabulary, d);
  Id x = begin_model(b, vocabulary, d, ends.embedding, kAbsent);
  Rope rope = read_rope(c, head_dim, context);
  const Id table = rope_table(b, std::move(rope.inverse_frequencies), rope.factor);
  for (uint64_t i = 0; i < layers; ++i) {
    const std::string layer = cat("layers.", i), at = cat(prefix, "layers.", i, ".");
    AttentionBlock a;
    a.norm = norm(at + "input_layernorm");
    a.q = linear(at + "self_attn.q_proj", heads * head_dim, d, traits.qkv_bias);
    a.k = linear(at + "self_attn.k_proj", kv_heads * head_dim, d, traits.qkv_bias);
    a.v = linear(at + "self_attn.v_proj", kv_heads * head_dim, d, traits.qkv_bias);
    a.o = linear(at + "self_attn.o_proj", d, heads * head_dim, traits.o_bias);
    a.shape = {
        .heads = heads, .kv_heads = kv_heads, .head_dim = head_dim, .scale = 1 / std::sqrt(static_cast<double>(head_dim)), .rotary_dim = head_dim};
    a.rope = table;
    x = attention_block(b, layer, x, d, a);
    FeedForwardBlock m;
    m.norm = norm(at + "post_attention_layernorm");
    m.gate = linear(at + "mlp.gate_proj", inner, d, traits.mlp_bias);
    m.up = linear(at + "mlp.up_proj", inner, d, traits.mlp_bias);
    m.down = linear(at + "mlp.down_proj", d, inner, traits.mlp_bias);
    m.inner = inner;
    m.activation = activation;
    x = feed_forward_block(b, layer, x, d, m);
  }
  finish_model(b, x, d, norm(prefix + "norm"), ends.head);
}

namespace {

void build(ModelBuilder& b) {
  refuse_unknown_settings(b.config, true);
  LlamaTraits traits;
  traits.qkv_bias = traits.o_bias = b.config.boolean_or("attention_bias", false);
  traits.mlp_bias = b.config.boolean_or("mlp_bias", false);
  build_llama(b, traits);
}

}  // namespace

Family llama() { return {"llama", {1, 2}, build, is_llama_buffer}; }

}  // namespace linnet::converter
