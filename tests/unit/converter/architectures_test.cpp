// What graph each family becomes, and which settings and tensors are refused (CASES A1, A2, A4, A5, A7, A11, A13, A14).
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <cmath>

#include "model.h"

namespace bdata = boost::unit_test::data;
using namespace linnet;
using namespace linnet::tests;

namespace {

Json with(Json config, const Json& changes) {
  for (const auto& [key, value] : changes.items()) config[key] = value;
  return config;
}
Json without(Json config, const std::vector<std::string>& keys) {
  for (const auto& key : keys) config.erase(key);
  return config;
}
using Names = std::vector<std::string>;

}  // namespace

BOOST_AUTO_TEST_SUITE(architectures)

BOOST_AUTO_TEST_CASE(a_llama) {
  const Made m(tiny_llama_config(), tiny_llama_tensors());
  BOOST_TEST(m->listing() ==
             "model: embedding rope_table linear attention linear feed_forward linear attention linear feed_forward select_rows linear\n"
             "attention: rope rope state_append state_append state_view state_view matmul scaled_masked_softmax matmul\n"
             "feed_forward: rms_norm linear activation mul linear\n");
  BOOST_TEST((m->info.architecture == std::string("llama") && m->info.name == std::string("m") && m->info.vocabulary == 19 &&
              m->info.context_trained == 64 && m->info.context_limit == -1));
  BOOST_TEST((m->info.bos == 1 && m->info.eos_count == 1 && m->info.eos[0] == 2 && m->info.pad == -1));
  BOOST_TEST(m->weights(m->find("embedding")) == (Names{"model.embed_tokens.weight", "-"}), boost::test_tools::per_element());
  const std::string l = "model.layers.0.";
  BOOST_TEST(m->weights(m->find("linear", 0)) == (Names{l + "input_layernorm.weight", "-", l + "self_attn.q_proj.weight", "-",
                                                        l + "self_attn.k_proj.weight", "-", l + "self_attn.v_proj.weight", "-"}),
             boost::test_tools::per_element());
  BOOST_TEST(m->weights(m->find("linear", 1)) == (Names{"-", "-", l + "self_attn.o_proj.weight", "-"}), boost::test_tools::per_element());
  BOOST_TEST(m->weights(m->find("feed_forward")) == (Names{l + "post_attention_layernorm.weight", "-", l + "mlp.up_proj.weight", "-",
                                                           l + "mlp.gate_proj.weight", "-", l + "mlp.down_proj.weight", "-"}),
             boost::test_tools::per_element());
  BOOST_TEST(m->weights(m->find("linear", 4)) == (Names{"model.norm.weight", "-", "lm_head.weight", "-"}), boost::test_tools::per_element());

  const auto a = m->find("attention", 1);
  BOOST_TEST((a.inputs == 4 && a.states == 1 && a.body == 1));
  BOOST_TEST((Opened::attribute(a, "heads").integer == 3 && Opened::attribute(a, "kv_heads").integer == 1 &&
              Opened::attribute(a, "head_dim").integer == 4 && Opened::attribute(a, "rotary_dim").integer == 4 &&
              Opened::attribute(a, "style").integer == 0 && Opened::attribute(a, "scale").real == 0.5 && Opened::attribute(a, "softcap").real == 0));
  const auto qkv = m->find("linear", 0), ff = m->find("feed_forward");
  BOOST_TEST((Opened::attribute(qkv, "norm").integer == 1 && Opened::attribute(qkv, "epsilon").real == 1e-5 &&
              Opened::attribute(qkv, "activation").integer == 0));
  BOOST_TEST((Opened::attribute(ff, "norm").integer == 1 && Opened::attribute(ff, "epsilon").real == 1e-5 &&
              Opened::attribute(ff, "activation").integer == 4 && ff.args[0] == ff.args[1] && ff.body == 2));
  BOOST_TEST((Opened::attribute(m->find("linear", 1), "norm").integer == 0 && Opened::attribute(m->find("linear", 4), "norm").integer == 1));

  const auto* q = m->tensor(l + "self_attn.q_proj.weight");
  BOOST_TEST((q->layout == LINNET_R16 && q->rank == 2 && q->shape[0] == 1 && q->shape[1] == 12 && q->shape[2] == 6 && q->bytes == 16 * 6 * 4));
  const auto* table = m->tensor("model.embed_tokens.weight");
  BOOST_TEST((table->layout == LINNET_PLAIN && table->shape[1] == 19 && table->shape[2] == 6 && table->bytes == 19 * 6 * 4));
  const auto* norm = m->tensor("model.norm.weight");
  BOOST_TEST((norm->layout == LINNET_PLAIN && norm->rank == 1 && norm->shape[2] == 6 && norm->dtype == LINNET_F32));
  const auto* kv = linnet_model_state(m->get(), 1);
  BOOST_TEST((m->info.states == 2 && kv->tensor_count == 2 && kv->tensors[0].width == 4 && kv->tensors[0].layout == LINNET_STATE_PANELS &&
              kv->tensors[1].layout == LINNET_STATE_ROWS && kv->tensors[0].dtype == LINNET_F32));
}

BOOST_AUTO_TEST_CASE(a_gpt2) {
  const Made m(tiny_gpt2_config(), tiny_gpt2_tensors());
  BOOST_TEST(m->listing() ==
             "model: embedding linear attention linear feed_forward select_rows linear\n"
             "attention: state_append state_append state_view state_view matmul scaled_masked_softmax matmul\n"
             "feed_forward: layer_norm linear activation linear\n");
  BOOST_TEST((m->info.context_trained == 8 && m->info.context_limit == 8 && m->info.bos == -1 && m->info.eos_count == 0));
  BOOST_TEST(m->weights(m->find("embedding")) == (Names{"transformer.wte.weight", "transformer.wpe.weight"}), boost::test_tools::per_element());
  const std::string h = "transformer.h.0.";
  BOOST_TEST(m->weights(m->find("linear", 0)) ==
                 (Names{h + "ln_1.weight", h + "ln_1.bias", h + "attn.c_attn.weight#q", h + "attn.c_attn.bias#q", h + "attn.c_attn.weight#k",
                        h + "attn.c_attn.bias#k", h + "attn.c_attn.weight#v", h + "attn.c_attn.bias#v"}),
             boost::test_tools::per_element());
  BOOST_TEST(m->weights(m->find("feed_forward")) == (Names{h + "ln_2.weight", h + "ln_2.bias", h + "mlp.c_fc.weight", h + "mlp.c_fc.bias", "-", "-",
                                                           h + "mlp.c_proj.weight", h + "mlp.c_proj.bias"}),
             boost::test_tools::per_element());
  BOOST_TEST(m->weights(m->find("linear", 2)) == (Names{"transformer.ln_f.weight", "transformer.ln_f.bias", "transformer.wte.weight", "-"}),
             boost::test_tools::per_element());
  const auto a = m->find("attention");
  BOOST_TEST((a.args[3] == 0xFFFFFFFFu && Opened::attribute(a, "heads").integer == 2 && Opened::attribute(a, "kv_heads").integer == 2 &&
              Opened::attribute(a, "rotary_dim").integer == 0 && std::abs(Opened::attribute(a, "scale").real - std::sqrt(0.5)) < 1e-15));
  BOOST_TEST((Opened::attribute(m->find("linear", 0), "norm").integer == 2 && Opened::attribute(m->find("feed_forward"), "activation").integer == 3));
  BOOST_TEST((m->tensor("transformer.wte.weight")->layout == LINNET_R16 && m->tensor("transformer.wpe.weight")->layout == LINNET_PLAIN));

  // c_attn is [in 4, out 12]: row r of part p is its column 4 p + r.
  const TestTensor source = tiny_gpt2_tensors().at(h + "attn.c_attn.weight");
  std::vector<float> w(48);
  std::memcpy(w.data(), source.bytes.data(), source.bytes.size());
  for (size_t p = 0; p < 3; ++p) {
    const auto packed = m->floats(h + "attn.c_attn.weight#" + std::string(1, "qkv"[p]));
    for (size_t r = 0; r < 4; ++r)
      for (size_t k = 0; k < 4; ++k) BOOST_TEST(packed[k * 16 + r] == w[k * 12 + p * 4 + r]);
    std::vector<float> bias(12);
    std::memcpy(bias.data(), tiny_gpt2_tensors().at(h + "attn.c_attn.bias").bytes.data(), 48);
    BOOST_TEST(m->floats(h + "attn.c_attn.bias#" + std::string(1, "qkv"[p])) == (std::vector<float>(bias.begin() + 4 * p, bias.begin() + 4 * p + 4)),
               boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(gpt2_settings) {
  const auto scale = [](const Json& changes) {
    const Made m(with(tiny_gpt2_config(), changes), tiny_gpt2_tensors());
    return Opened::attribute(m->find("attention"), "scale").real;
  };
  BOOST_TEST(scale({{"scale_attn_weights", false}}) == 1.0);
  BOOST_TEST(scale({{"scale_attn_by_inverse_layer_idx", true}, {"reorder_and_upcast_attn", true}}) == 1 / std::sqrt(2.0));
  // Two layers: the second one's scores are halved, so it has a body of its own.
  Tensors two = tiny_gpt2_tensors();
  for (const auto& [name, t] : tiny_gpt2_tensors())
    if (const size_t at = name.find("h.0."); at != name.npos) two[std::string(name).replace(at, 4, "h.1.")] = t;
  const Made m(with(tiny_gpt2_config(), {{"n_layer", 2}, {"scale_attn_by_inverse_layer_idx", true}}), two);
  BOOST_TEST(Opened::attribute(m->find("attention", 1), "scale").real == 1 / std::sqrt(2.0) / 2);
  BOOST_TEST((m->find("attention", 0).body == 1 && m->find("feed_forward", 0).body == 2 && m->find("attention", 1).body == 3 &&
              m->find("feed_forward", 1).body == 2));
  BOOST_TEST(linnet_model_function(m->get(), 3)->name == std::string("attention.1"));
  // n_inner null is four times n_embd.
  Tensors wide = tiny_gpt2_tensors();
  wide["transformer.h.0.mlp.c_fc.weight"] = some("F32", {4, 16}, 90);
  wide["transformer.h.0.mlp.c_fc.bias"] = some("F32", {16}, 91);
  wide["transformer.h.0.mlp.c_proj.weight"] = some("F32", {16, 4}, 92);
  for (const Json& c : {with(tiny_gpt2_config(), {{"n_inner", nullptr}}), without(tiny_gpt2_config(), {"n_inner"})})
    BOOST_TEST(Made(c, wide)->tensor("transformer.h.0.mlp.c_fc.weight")->shape[1] == 16u);
}

// One name or the other, with buffers or without: the same tensors under their own names, the same bytes in them.
BOOST_AUTO_TEST_CASE(prefixes_and_known_buffers) {
  const Made with_prefix(tiny_gpt2_config(), tiny_gpt2_tensors());
  Tensors bare = tiny_gpt2_tensors("");
  bare["h.0.attn.bias"] = {"U8", {1, 1, 8, 8}, std::string(64, '\1')};
  bare["h.0.attn.masked_bias"] = tensor("F32", {}, {-1e4f});
  const Made no_prefix(tiny_gpt2_config(), bare);
  for (const char* name : {"wte.weight", "h.0.attn.c_attn.weight#k", "h.0.ln_2.bias"})
    BOOST_TEST((no_prefix->floats(name) == with_prefix->floats(std::string("transformer.") + name)), name);
  BOOST_TEST(no_prefix->info.tensors == with_prefix->info.tensors);
  bare["h.0.attn.bias2"] = bare["h.0.attn.bias"];
  bare["h.0.attn.bias2"].dtype = "BOOL";
  write_checkpoint(with_prefix.folder / "bad", tiny_gpt2_config(), bare);
  expect_refused(with_prefix.folder / "bad", LINNET_UNSUPPORTED, {"h.0.attn.bias2", "BOOL"});

  Tensors base;  // a LlamaModel without its head, tied
  for (const auto& [name, t] : tiny_llama_tensors())
    if (name.starts_with("model.")) base[name.substr(6)] = t;
  base["layers.0.self_attn.rotary_emb.inv_freq"] = some("F32", {2}, 5);
  const Made m(with(tiny_llama_config(), {{"tie_word_embeddings", true}}), base);
  BOOST_TEST(m->tensor("layers.1.mlp.up_proj.weight") != nullptr);
  BOOST_TEST(m->tensor("layers.0.self_attn.rotary_emb.inv_freq") == nullptr);
}

BOOST_AUTO_TEST_CASE(tied_and_untied_heads) {
  const TempDir t;
  const Json tied = with(tiny_llama_config(), {{"tie_word_embeddings", true}});
  Tensors one = tiny_llama_tensors(), both = one, head_only = one;
  one.erase("lm_head.weight");
  both["lm_head.weight"] = both["model.embed_tokens.weight"];
  head_only.erase("model.embed_tokens.weight");
  for (const Tensors& tensors : {one, both}) {
    const Made m(tied, tensors);
    BOOST_TEST((m->tensor("lm_head.weight") == nullptr && m->tensor("model.embed_tokens.weight")->layout == LINNET_R16));
    BOOST_TEST(m->weights(m->find("linear", 4))[2] == "model.embed_tokens.weight");
  }
  const Made named(tied, head_only);  // a writer kept the other of two shared tensors
  BOOST_TEST(named->weights(named->find("embedding"))[0] == "lm_head.weight");
  const auto refused = [&](const Json& c, const Tensors& tensors, linnet_code code, const std::vector<std::string>& words) {
    write_checkpoint(t / "m", c, tensors);
    expect_refused(t / "m", code, words);
  };
  refused(tied, tiny_llama_tensors(), LINNET_UNSUPPORTED, {"two different tensors", "lm_head.weight", "model.embed_tokens.weight"});
  refused(tiny_llama_config(), one, LINNET_BAD_FILE, {"lm_head.weight is not in the checkpoint", "\"tie_word_embeddings\": true"});
  refused(without(tiny_llama_config(), {"tie_word_embeddings"}), one, LINNET_BAD_FILE, {"lm_head.weight"});
  Tensors neither = one;
  neither.erase("model.embed_tokens.weight");
  refused(tied, neither, LINNET_BAD_FILE, {"model.embed_tokens.weight"});
  const Made untied(with(tiny_gpt2_config(), {{"tie_word_embeddings", false}}), [] {
    Tensors g = tiny_gpt2_tensors();
    g["lm_head.weight"] = some("F32", {5, 4}, 77);
    return g;
  }());
  BOOST_TEST((untied->tensor("lm_head.weight")->layout == LINNET_R16 && untied->tensor("transformer.wte.weight")->layout == LINNET_PLAIN));
}

BOOST_AUTO_TEST_CASE(head_dim_and_kv_heads) {
  // hidden 6 over 3 heads is 2 where head_dim is null or absent; kv heads are the heads where they are absent or null.
  Tensors t = tiny_llama_tensors();
  for (const std::string l : {"model.layers.0.self_attn.", "model.layers.1.self_attn."})
    for (const char* m : {"q_proj.weight", "k_proj.weight", "v_proj.weight", "o_proj.weight"}) t[l + m] = some("F32", {6, 6}, 50);
  for (const Json& c : {with(tiny_llama_config(), {{"head_dim", nullptr}, {"num_key_value_heads", nullptr}}),
                        without(tiny_llama_config(), {"head_dim", "num_key_value_heads"})}) {
    const Made m(c, t);
    const auto a = m->find("attention");
    BOOST_TEST((Opened::attribute(a, "head_dim").integer == 2 && Opened::attribute(a, "kv_heads").integer == 3));
  }
}

BOOST_AUTO_TEST_CASE(biases_are_used_where_they_belong) {
  Tensors t = tiny_llama_tensors();
  const std::vector<std::pair<std::string, uint64_t>> qkv = {
      {"self_attn.q_proj.bias", 12}, {"self_attn.k_proj.bias", 4}, {"self_attn.v_proj.bias", 4}};
  for (const std::string l : {"model.layers.0.", "model.layers.1."})
    for (const auto& [name, n] : qkv) t[l + name] = some("F32", {n}, 60);
  const Made qwen(
      with(tiny_llama_config(),
           {{"model_type", "qwen2"}, {"use_sliding_window", false}, {"sliding_window", 4}, {"layer_types", {"full_attention", "full_attention"}}}),
      t);
  const auto names = qwen->weights(qwen->find("linear", 0));
  BOOST_TEST((names[3] == "model.layers.0.self_attn.q_proj.bias" && names[5] == "model.layers.0.self_attn.k_proj.bias" &&
              names[7] == "model.layers.0.self_attn.v_proj.bias"));
  BOOST_TEST(qwen->weights(qwen->find("linear", 1))[3] == "-");

  const TempDir folder;  // a Llama has them only where attention_bias says so, and then on o too
  write_checkpoint(folder.path(), tiny_llama_config(), t);
  expect_refused(folder.path(), LINNET_UNSUPPORTED, {"model.layers.0.self_attn.k_proj.bias [4]", "and 5 more"});
  write_checkpoint(folder.path(), with(tiny_llama_config(), {{"attention_bias", true}}), t);
  expect_refused(folder.path(), LINNET_BAD_FILE, {"model.layers.0.self_attn.o_proj.bias"});
  for (const std::string l : {"model.layers.0.", "model.layers.1."}) {
    t[l + "self_attn.o_proj.bias"] = some("F32", {6}, 61);
    for (const char* m : {"mlp.up_proj.bias", "mlp.gate_proj.bias"}) t[l + m] = some("F32", {5}, 62);
    t[l + "mlp.down_proj.bias"] = some("F32", {6}, 63);
  }
  const Made llama(with(tiny_llama_config(), {{"attention_bias", true}, {"mlp_bias", true}}), t);
  BOOST_TEST(llama->weights(llama->find("linear", 1))[3] == "model.layers.0.self_attn.o_proj.bias");
  const auto ff = llama->weights(llama->find("feed_forward"));
  BOOST_TEST(
      (ff[3] == "model.layers.0.mlp.up_proj.bias" && ff[5] == "model.layers.0.mlp.gate_proj.bias" && ff[7] == "model.layers.0.mlp.down_proj.bias"));
  const auto* body = linnet_model_function(llama->get(), 2);  // its linears take the biases too
  BOOST_TEST((llama->node(body->first_node + 1).args[llama->node(body->first_node + 1).inputs + 2 + 3] == 3u));
}

BOOST_AUTO_TEST_CASE(every_tensor_is_used_or_named) {
  const TempDir folder;
  const auto refused = [&](const std::string& name, const std::vector<uint64_t>& shape, const std::vector<std::string>& words) {
    Tensors t = tiny_llama_tensors();
    t[name] = some("F32", shape, 1);
    write_checkpoint(folder.path(), tiny_llama_config(), t);
    expect_refused(folder.path(), LINNET_UNSUPPORTED, words);
  };
  refused("foo.weight", {2, 3}, {"foo.weight [2, 3]", "llama"});
  refused("model.layers.2.input_layernorm.weight", {6}, {"model.layers.2.input_layernorm.weight"});
  refused("model.layers.0.self_attn.q_norm.weight", {4}, {"q_norm.weight"});
  refused("bad\x1b[2Jname", {1}, {"bad?[2Jname"});  // no terminal codes in a message
  Tensors missing = tiny_llama_tensors();
  missing.erase("model.layers.1.mlp.up_proj.weight");
  write_checkpoint(folder.path(), tiny_llama_config(), missing);
  expect_refused(folder.path(), LINNET_BAD_FILE, {"model.layers.1.mlp.up_proj.weight of shape [5, 6]", "not in the checkpoint"});
  Tensors turned = tiny_llama_tensors();
  turned["model.layers.1.mlp.up_proj.weight"] = some("F32", {6, 5}, 1);
  write_checkpoint(folder.path(), tiny_llama_config(), turned);
  expect_refused(folder.path(), LINNET_BAD_FILE, {"has shape [6, 5] in the checkpoint", "it is [5, 6]"});
}

struct Refused {
  const char* family;
  Json changes;
  linnet_code code;
  std::vector<std::string> words;
};
std::ostream& operator<<(std::ostream& out, const Refused& r) { return out << r.family << " " << r.changes.dump(); }

const std::vector<Refused> kRefused = {
    {"llama", {{"model_type", "t5"}, {"is_encoder_decoder", true}}, LINNET_UNSUPPORTED, {"t5", "encoder and a decoder", "gpt2, llama, qwen2"}},
    {"llama", {{"model_type", "llava"}, {"vision_config", {{"a", 1}}}}, LINNET_UNSUPPORTED, {"llava", "images", "gpt2, llama, qwen2"}},
    {"llama", {{"model_type", nullptr}}, LINNET_UNSUPPORTED, {"no model_type", "gpt2, llama, qwen2"}},
    {"llama", {{"model_type", 3}}, LINNET_BAD_FILE, {"model_type is 3"}},
    {"llama", {{"hidden_size", 0}}, LINNET_BAD_FILE, {"hidden_size is 0"}},
    {"llama", {{"num_hidden_layers", 4097}}, LINNET_BAD_FILE, {"num_hidden_layers is 4097", "from 1 to 4096"}},
    {"llama", {{"num_key_value_heads", 2}}, LINNET_BAD_FILE, {"num_attention_heads 3", "num_key_value_heads 2"}},
    {"llama", {{"head_dim", nullptr}, {"hidden_size", 7}}, LINNET_BAD_FILE, {"hidden_size 7", "num_attention_heads 3"}},
    {"llama", {{"head_dim", 5}}, LINNET_UNSUPPORTED, {"heads of 5"}},
    {"llama", {{"hidden_act", "quick_gelu"}}, LINNET_UNSUPPORTED, {"hidden_act", "quick_gelu", "gelu_new"}},
    {"llama", {{"rms_norm_eps", "1e-5"}}, LINNET_BAD_FILE, {"rms_norm_eps"}},
    {"llama", {{"rope_scaling", {{"rope_type", "yarn"}, {"factor", 4}}}}, LINNET_UNSUPPORTED, {"yarn"}},
    {"llama", {{"rope_scaling", {{"type", "dynamic"}, {"factor", 4}}}}, LINNET_UNSUPPORTED, {"dynamic"}},
    {"llama", {{"rope_scaling", {{"type", "invented"}}}}, LINNET_UNSUPPORTED, {"invented", "default, linear and llama3"}},
    {"llama", {{"rope_scaling", {{"type", "linear"}}}}, LINNET_BAD_FILE, {"rope_scaling.factor is missing"}},
    {"llama", {{"rope_parameters", {{"full_attention", {{"rope_theta", 5}}}}}}, LINNET_UNSUPPORTED, {"full_attention"}},
    {"llama", {{"rope_theta", 0}}, LINNET_BAD_FILE, {"rope_theta is 0"}},
    {"llama", {{"partial_rotary_factor", 0.5}}, LINNET_UNSUPPORTED, {"partial_rotary_factor is 0.5"}},
    {"llama", {{"sliding_window", 4096}}, LINNET_UNSUPPORTED, {"sliding_window is 4096"}},
    {"llama", {{"attention_multiplier", 0.015625}}, LINNET_UNSUPPORTED, {"attention_multiplier"}},
    {"llama", {{"residual_multiplier", 0.22}}, LINNET_UNSUPPORTED, {"residual_multiplier"}},
    {"llama", {{"logit_scale", 0.0625}}, LINNET_UNSUPPORTED, {"logit_scale"}},
    {"llama", {{"num_local_experts", 8}}, LINNET_UNSUPPORTED, {"num_local_experts"}},
    {"llama", {{"layer_types", {"full_attention", "sliding_attention"}}}, LINNET_UNSUPPORTED, {"sliding_attention"}},
    {"llama", {{"add_cross_attention", true}}, LINNET_UNSUPPORTED, {"add_cross_attention"}},
    {"llama", {{"eos_token_id", 19}}, LINNET_BAD_FILE, {"config.json: eos_token_id is 19, outside the vocabulary of 19"}},
    {"llama", {{"vocab_size", 20}}, LINNET_BAD_FILE, {"model.embed_tokens.weight", "[19, 6]", "[20, 6]"}},
    {"llama", {{"model_type", "qwen2"}, {"use_sliding_window", true}}, LINNET_UNSUPPORTED, {"use_sliding_window"}},
    {"gpt2", {{"n_head", 3}}, LINNET_BAD_FILE, {"n_embd 4", "n_head 3"}},
    {"gpt2", {{"add_cross_attention", true}}, LINNET_UNSUPPORTED, {"add_cross_attention"}},
    {"gpt2", {{"activation_function", "gelu_10"}}, LINNET_UNSUPPORTED, {"gelu_10"}},
    {"gpt2", {{"n_positions", 9}}, LINNET_BAD_FILE, {"wpe.weight", "[8, 4]", "[9, 4]"}},
    {"gpt2", {{"eos_token_id", -5}}, LINNET_BAD_FILE, {"eos_token_id is -5"}},
};

BOOST_DATA_TEST_CASE(a_setting_that_cannot_be_kept_is_refused, bdata::make(kRefused), r) {
  const TempDir folder;
  const bool gpt2 = r.family == std::string("gpt2");
  write_checkpoint(folder.path(), with(gpt2 ? tiny_gpt2_config() : tiny_llama_config(), r.changes),
                   gpt2 ? tiny_gpt2_tensors() : tiny_llama_tensors());
  expect_refused(folder.path(), r.code, r.words);
}

// Settings that change nothing, as real files carry them.
BOOST_AUTO_TEST_CASE(neutral_settings_are_no_obstacle) {
  const Json c = with(tiny_llama_config(), {{"sliding_window", nullptr},
                                            {"logit_scale", 1.0},
                                            {"residual_multiplier", 1},
                                            {"num_experts", 0},
                                            {"quantization_config", nullptr},
                                            {"rope_scaling", nullptr},
                                            {"pretraining_tp", 2},
                                            {"use_cache", true},
                                            {"is_encoder_decoder", false},
                                            {"partial_rotary_factor", 1.0},
                                            {"unheard_of", {{"a", 1}}}});
  const Made m(c, tiny_llama_tensors());
  BOOST_TEST(m.converted.report.notes.empty());
}

BOOST_AUTO_TEST_CASE(activations) {
  const std::vector<std::pair<const char*, int>> names = {{"relu", 1},      {"gelu", 2}, {"gelu_new", 3}, {"gelu_pytorch_tanh", 3},
                                                          {"gelu_fast", 3}, {"silu", 4}, {"swish", 4}};
  for (const auto& [name, kind] : names) {
    const Made l(with(tiny_llama_config(), {{"hidden_act", name}}), tiny_llama_tensors());
    BOOST_TEST(Opened::attribute(l->find("feed_forward"), "activation").integer == kind, name);
    const Made g(with(tiny_gpt2_config(), {{"activation_function", name}}), tiny_gpt2_tensors());
    BOOST_TEST(Opened::attribute(g->find("feed_forward"), "activation").integer == kind, name);
  }
  const Made g(without(tiny_gpt2_config(), {"activation_function"}), tiny_gpt2_tensors());
  BOOST_TEST(Opened::attribute(g->find("feed_forward"), "activation").integer == 3);
}

BOOST_AUTO_TEST_SUITE_END()
