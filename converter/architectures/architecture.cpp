#include "converter/architectures/architecture.h"

#include <algorithm>
#include <optional>

#include "converter/message.h"

namespace linnet::converter {

std::span<const Family> families() {
  static const Family all[] = {gpt2(), llama(), qwen2()};
  return all;
}

const Family& find_family(const Config& config) {
  std::string known;
  for (const Family& f : families()) known += cat(known.empty() ? "" : ", ", f.model_type);
  if (!config.has("model_type")) fail(LINNET_UNSUPPORTED, config.file(), " has no model_type; supported are ", known);
  const std::string type = config.text("model_type");
  for (const Family& f : families())
    if (f.model_type == type) return f;
  std::string_view what;
  if (config.boolean_or("is_encoder_decoder", false)) what = " (an encoder and a decoder)";
  else if (config.has("vision_config") || config.has("audio_config")) what = " (with a part for images or sound)";
  fail(LINNET_UNSUPPORTED, config.file(), ": model_type \"", shown(type, 60), "\"", what, " is not supported; supported are ", known);
}

namespace {

// Keys whose null, false, 0 and empty change nothing, and keys where 1 does not.
constexpr std::string_view kAnyModel[] = {"is_encoder_decoder", "add_cross_attention"};
constexpr std::string_view kLlamaLike[] = {
    "sliding_window", "attention_multiplier", "attn_logit_softcapping", "final_logit_softcapping", "query_pre_attn_scalar", "qk_norm",
    "use_qk_norm", "qk_layernorm", "clip_qkv", "alibi", "no_rope_layers", "no_rope_layer_interval", "num_local_experts", "num_experts",
    "n_routed_experts", "parallel_residual", "use_parallel_residual", "parallel_attn", "attention_chunk_size", "attn_temperature_tuning",
    "scale_depth", "dim_model_base"};
constexpr std::string_view kMultipliers[] = {"embedding_multiplier", "residual_multiplier", "logits_scaling", "logit_scale", "scale_emb"};

// The method that packed a tensor, as far as its name and dtype tell; empty: none that is known.
std::string_view packed_by(const TensorInfo& t) {
  const auto named = [&](auto... parts) { return ((t.name.find(parts) != std::string::npos) || ...); };
  if (named(".qweight", ".qzeros", ".g_idx")) return "GPTQ or AWQ";
  if (named("absmax", ".SCB", "quant_map", "quant_state")) return "bitsandbytes";
  if (t.dtype.starts_with("F8")) return "FP8";
  if (t.dtype == "U8" || t.dtype == "I8" || t.dtype.starts_with("F4") || t.dtype.starts_with("F6_")) return "a packed integer or small float format";
  return "";
}

}  // namespace

void refuse_unknown_settings(const Config& config, bool llama_like, std::initializer_list<std::string_view> but) {
  const auto check = [&](std::span<const std::string_view> keys, double neutral) {
    for (const std::string_view key : keys)
      if (!config.neutral(key, neutral) && std::find(but.begin(), but.end(), key) == but.end())
        fail(LINNET_UNSUPPORTED, config.file(), ": ", key, " is ", config.value_text(key), "; a ", config.text_or("model_type", "model"),
             " with it is not supported");
  };
  check(kAnyModel, 0);
  if (!llama_like) return;
  check(kLlamaLike, 0);
  check(kMultipliers, 1);
  for (const std::string& type : config.texts("layer_types"))
    if (type != "full_attention")
      fail(LINNET_UNSUPPORTED, config.file(), ": layer_types has \"", shown(type, 40), "\"; only full_attention is supported");
}

void refuse_quantized_tensors(const Checkpoint& checkpoint, const Family& family) {
  for (const TensorInfo& t : checkpoint.tensors()) {
    if (t.type != ElementType::other || family.is_buffer(t.name)) continue;
    const std::string_view method = packed_by(t);
    if (method.empty()) fail(LINNET_UNSUPPORTED, "tensor ", shown(t.name), " has dtype ", t.dtype, "; F32, F16 and BF16 are weights");
    fail(LINNET_UNSUPPORTED, "tensor ", shown(t.name), " has dtype ", t.dtype, ": the checkpoint is quantized already (", method,
         "); convert the original, unquantized checkpoint");
  }
}

linnet_dtype stored_dtype(const Checkpoint& checkpoint, const Family& family) {
  std::optional<ElementType> one;
  for (const TensorInfo& t : checkpoint.tensors()) {
    if (t.shape.size() < 2 || family.is_buffer(t.name)) continue;
    if (one && *one != t.type) return LINNET_F32;
    one = t.type;
  }
  return one == ElementType::f16 ? LINNET_F16 : one == ElementType::bf16 ? LINNET_BF16 : LINNET_F32;
}

void check_all_used(const ModelBuilder& b, const Family& family) {
  std::string first;
  size_t more = 0;
  for (const TensorInfo& t : b.checkpoint.tensors()) {
    if (b.used().contains(t.name) || family.is_buffer(t.name)) continue;
    if (first.empty()) first = t.name + " " + shown(t.shape);
    else ++more;
  }
  if (first.empty()) return;
  fail(LINNET_UNSUPPORTED, "tensor ", shown(first), " of the checkpoint has no place in a ", family.model_type, " with these settings",
       more ? cat(" (and ", more, " more)") : "", "; dropping it would change what the model computes");
}

}  // namespace linnet::converter
