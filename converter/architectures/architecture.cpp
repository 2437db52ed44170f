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
  const bool pair = config.boolean_or("is_encoder_decoder", false);
  const bool sees = config.has("vision_config") || config.has("audio_config");
  fail(LINNET_UNSUPPORTED, config.file(), ": model_type \"", shown(type, 60), "\"", pair ? " (an encoder and a decoder)" : sees ? " (with a part for images or sound)" : "",
       " is not supported; supported are ", known);
}

namespace {

struct Setting {
  std::string_view key;
  double neutral;  // a number that changes nothing; null, false and empty never do
};

constexpr Setting kAnyModel[] = {{"is_encoder_decoder", 0}, {"add_cross_attention", 0}};

constexpr Setting kLlamaLike[] = {
    {"sliding_window", 0},         {"embedding_multiplier", 1},     {"attention_multiplier", 0},  {"residual_multiplier", 1},     {"logits_scaling", 1},
    {"logit_scale", 1},            {"scale_emb", 1},                {"scale_depth", 0},           {"dim_model_base", 0},          {"attn_logit_softcapping", 0},
    {"final_logit_softcapping", 0},{"query_pre_attn_scalar", 0},    {"qk_norm", 0},               {"use_qk_norm", 0},             {"qk_layernorm", 0},
    {"clip_qkv", 0},               {"alibi", 0},                    {"no_rope_layers", 0},        {"no_rope_layer_interval", 0},  {"num_local_experts", 0},
    {"num_experts", 0},            {"n_routed_experts", 0},         {"parallel_residual", 0},     {"use_parallel_residual", 0},   {"parallel_attn", 0},
    {"attention_chunk_size", 0},   {"attn_temperature_tuning", 0},
};

}  // namespace

void refuse_unknown_settings(const Config& config, bool llama_like, std::initializer_list<std::string_view> but) {
  const auto check = [&](std::span<const Setting> settings) {
    for (const Setting& s : settings)
      if (!config.neutral(s.key, s.neutral) && std::find(but.begin(), but.end(), s.key) == but.end())
        fail(LINNET_UNSUPPORTED, config.file(), ": ", s.key, " is ", config.value_text(s.key), "; a ", config.text_or("model_type", "model"), " with it is not supported");
  };
  check(kAnyModel);
  if (!llama_like) return;
  check(kLlamaLike);
  for (const std::string& type : config.texts("layer_types"))
    if (type != "full_attention") fail(LINNET_UNSUPPORTED, config.file(), ": layer_types has \"", shown(type, 40), "\"; only full_attention is supported");
}

void refuse_quantized_tensors(const Checkpoint& checkpoint, const Family& family) {
  for (const TensorInfo& t : checkpoint.tensors()) {
    if (t.type != ElementType::other || family.is_buffer(t.name)) continue;
    const auto named = [&](std::string_view part) { return t.name.find(part) != std::string::npos; };
    const std::string_view method = named(".qweight") || named(".qzeros") || named(".g_idx") ? "GPTQ or AWQ"
                                    : named("absmax") || named(".SCB") || named("quant_map") || named("quant_state") ? "bitsandbytes"
                                    : t.dtype.starts_with("F8") ? "FP8"
                                    : t.dtype == "U8" || t.dtype == "I8" || t.dtype.starts_with("F4") || t.dtype.starts_with("F6_") ? "a packed integer or small float format" : "";
    if (method.empty()) fail(LINNET_UNSUPPORTED, "tensor ", shown(t.name), " has dtype ", t.dtype, "; F32, F16 and BF16 are weights");
    fail(LINNET_UNSUPPORTED, "tensor ", shown(t.name), " has dtype ", t.dtype, ": the checkpoint is quantized already (", method, "); convert the original, unquantized checkpoint");
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
  fail(LINNET_UNSUPPORTED, "tensor ", shown(first), " of the checkpoint has no place in a ", family.model_type, " with these settings", more ? cat(" (and ", more, " more)") : "",
       "; dropping it would change what the model computes");
}

}  // namespace linnet::converter
