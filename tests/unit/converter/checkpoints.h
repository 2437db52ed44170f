// Tiny checkpoints, right and wrong, written into temporary folders.
#pragma once
#include <cstdint>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "converter/error.h"
#include "converter/floats.h"
#include "tests/support.h"

namespace linnet::tests {

using Json = nlohmann::ordered_json;

struct TestTensor {
  std::string dtype = "F32";
  std::vector<uint64_t> shape;
  std::string bytes;
};
using Tensors = std::map<std::string, TestTensor>;

inline uint64_t product(const std::vector<uint64_t>& shape) {
  uint64_t n = 1;
  for (const uint64_t d : shape) n *= d;
  return n;
}

// `values` stored as dtype F32, F16 or BF16.
inline TestTensor tensor(const std::string& dtype, std::vector<uint64_t> shape, const std::vector<float>& values) {
  TestTensor t{dtype, std::move(shape), {}};
  for (const float v : values) {
    const uint16_t half = dtype == "F16" ? converter::f32_to_f16(v) : converter::f32_to_bf16(v);
    t.bytes.append(dtype == "F32" ? reinterpret_cast<const char*>(&v) : reinterpret_cast<const char*>(&half), dtype == "F32" ? 4 : 2);
  }
  return t;
}

// Different numbers for different seeds, all of them exact in F16 and BF16.
inline TestTensor some(const std::string& dtype, std::vector<uint64_t> shape, uint32_t seed) {
  std::vector<float> values;
  uint32_t state = seed * 2654435761u + 1;
  for (uint64_t i = 0, n = product(shape); i < n; ++i) {
    state = state * 1664525u + 1013904223u;
    values.push_back(static_cast<float>(static_cast<int>(state >> 24) - 128) / 128.0f);
  }
  return tensor(dtype, std::move(shape), values);
}

inline std::string safetensors(const std::string& header, const std::string& data) {
  const uint64_t n = header.size();
  return std::string(reinterpret_cast<const char*>(&n), 8) + header + data;
}

// `pad`: spaces after the header's JSON, so that the data starts at any address.
inline std::string safetensors(const Tensors& tensors, size_t pad = 0) {
  Json header = {{"__metadata__", {{"format", "pt"}}}};
  std::string data;
  for (const auto& [name, t] : tensors) {
    header[name] = {{"dtype", t.dtype}, {"shape", t.shape}, {"data_offsets", {data.size(), data.size() + t.bytes.size()}}};
    data += t.bytes;
  }
  return safetensors(header.dump() + std::string(pad, ' '), data);
}

inline Json tiny_llama_config() {
  return {{"architectures", {"LlamaForCausalLM"}},
          {"model_type", "llama"},
          {"hidden_size", 6},
          {"intermediate_size", 5},
          {"num_hidden_layers", 2},
          {"num_attention_heads", 3},
          {"num_key_value_heads", 1},
          {"head_dim", 4},
          {"hidden_act", "silu"},
          {"vocab_size", 19},
          {"max_position_embeddings", 64},
          {"rms_norm_eps", 1e-5},
          {"rope_theta", 10000.0},
          {"tie_word_embeddings", false},
          {"bos_token_id", 1},
          {"eos_token_id", 2}};
}

inline Tensors tiny_llama_tensors(const std::string& dtype = "F32") {
  Tensors t;
  uint32_t seed = 1;
  const auto add = [&](const std::string& name, std::vector<uint64_t> shape) { t[name] = some(dtype, std::move(shape), seed++); };
  add("model.embed_tokens.weight", {19, 6});
  add("lm_head.weight", {19, 6});
  add("model.norm.weight", {6});
  for (const std::string layer : {"model.layers.0.", "model.layers.1."}) {
    add(layer + "input_layernorm.weight", {6});
    add(layer + "post_attention_layernorm.weight", {6});
    add(layer + "self_attn.q_proj.weight", {12, 6});
    add(layer + "self_attn.k_proj.weight", {4, 6});
    add(layer + "self_attn.v_proj.weight", {4, 6});
    add(layer + "self_attn.o_proj.weight", {6, 12});
    add(layer + "mlp.gate_proj.weight", {5, 6});
    add(layer + "mlp.up_proj.weight", {5, 6});
    add(layer + "mlp.down_proj.weight", {6, 5});
  }
  return t;
}

inline Json tiny_gpt2_config() {
  return {{"model_type", "gpt2"},
          {"n_embd", 4},
          {"n_layer", 1},
          {"n_head", 2},
          {"n_positions", 8},
          {"n_inner", 3},
          {"vocab_size", 5},
          {"activation_function", "gelu_new"},
          {"layer_norm_epsilon", 1e-5},
          {"bos_token_id", nullptr},
          {"eos_token_id", nullptr}};
}

inline Tensors tiny_gpt2_tensors(const std::string& prefix = "transformer.") {
  Tensors t;
  uint32_t seed = 1;
  const auto add = [&](const std::string& name, std::vector<uint64_t> shape) { t[prefix + name] = some("F32", std::move(shape), seed++); };
  add("wte.weight", {5, 4});
  add("wpe.weight", {8, 4});
  for (const char* norm : {"h.0.ln_1", "h.0.ln_2", "ln_f"})
    for (const char* part : {".weight", ".bias"}) add(std::string(norm) + part, {4});
  const auto conv1d = [&](const std::string& name, uint64_t in, uint64_t out) {
    add(name + ".weight", {in, out});
    add(name + ".bias", {out});
  };
  conv1d("h.0.attn.c_attn", 4, 12);
  conv1d("h.0.attn.c_proj", 4, 4);
  conv1d("h.0.mlp.c_fc", 4, 3);
  conv1d("h.0.mlp.c_proj", 3, 4);
  return t;
}

inline void write_checkpoint(const fs::path& folder, const Json& config, const Tensors& tensors) {
  fs::create_directories(folder);
  spill(folder / "config.json", config.dump());
  spill(folder / "model.safetensors", safetensors(tensors));
}

// A checkpoint of zeros in F16 that takes no disk: a Llama of one layer with small heads. An lm_head unless the head is tied.
inline void write_sparse_llama(const fs::path& folder, const Json& config) {
  const uint64_t d = config["hidden_size"], vocabulary = config["vocab_size"];
  Json header;
  uint64_t at = 0;
  const auto add = [&](const std::string& name, std::vector<uint64_t> shape) {
    const uint64_t bytes = 2 * product(shape);
    header[name] = {{"dtype", "F16"}, {"shape", shape}, {"data_offsets", {at, at + bytes}}};
    at += bytes;
  };
  add("model.embed_tokens.weight", {vocabulary, d});
  if (!config["tie_word_embeddings"]) add("lm_head.weight", {vocabulary, d});
  const std::string l = "model.layers.0.";
  for (const char* name : {"input_layernorm.weight", "post_attention_layernorm.weight"}) add(l + name, {d});
  add(l + "self_attn.q_proj.weight", {12, d});
  for (const char* name : {"self_attn.k_proj.weight", "self_attn.v_proj.weight"}) add(l + name, {4, d});
  add(l + "self_attn.o_proj.weight", {d, 12});
  for (const char* name : {"mlp.gate_proj.weight", "mlp.up_proj.weight"}) add(l + name, {5, d});
  add(l + "mlp.down_proj.weight", {d, 5});
  add("model.norm.weight", {d});
  fs::create_directories(folder);
  spill(folder / "config.json", config.dump());
  spill(folder / "model.safetensors", safetensors(header.dump(), ""));
  fs::resize_file(folder / "model.safetensors", fs::file_size(folder / "model.safetensors") + at);
}

// A conversion of `folder` into its own out.linnet.
struct Converted {
  linnet_code code = LINNET_OK;
  std::string message, output;
  ConvertReport report;
};
inline Converted convert_folder(const fs::path& folder, ConvertOptions options = {}) {
  Converted c;
  options.source = folder.string();
  if (options.output.empty()) options.output = (folder / "out.linnet").string();
  c.output = options.output;
  linnet_error error;
  c.code = convert(options, &c.report, &error);
  c.message = error.message;
  BOOST_TEST(c.code == error.code);
  return c;
}

// Whether `folder` holds anything but what a checkpoint is made of: an output or a temporary file.
inline std::vector<std::string> left_over(const fs::path& folder) {
  std::vector<std::string> out;
  for (const auto& e : fs::directory_iterator(folder)) {
    const std::string name = e.path().filename().string();
    if (name.ends_with(".linnet") || name.ends_with(".tmp")) out.push_back(name);
  }
  return out;
}

// Converts, and expects it to be refused with `code` and words of the message; nothing may be left behind.
inline void expect_refused(const fs::path& folder, linnet_code code, const std::vector<std::string>& words, const ConvertOptions& options = {}) {
  const Converted c = convert_folder(folder, options);
  BOOST_TEST(c.code == code, "code " << c.code << " for " << code << ": " << c.message);
  for (const auto& word : words) BOOST_TEST(c.message.find(word) != std::string::npos, "\"" << word << "\" is not in: " << c.message);
  if (fs::is_directory(folder)) BOOST_TEST(left_over(folder).empty());
}

// The message of the ConvertError that `f` throws, or "" if it throws none.
template <typename F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const ConvertError& e) {
    return e.what();
  }
  return "";
}

}  // namespace linnet::tests
