// Sizes: files over 2 GiB, vocabularies of 152k, long prompts.
#include <fcntl.h>

#include "object_api/model_generated.h"
#include "runtime/container.h"
#include "support.h"

using namespace linnet;
using namespace linnet::tests;
using linnet::detail::Header;
using linnet::detail::SectionKind;
namespace fb = linnet::format;

BOOST_AUTO_TEST_CASE(a_file_over_two_gibibytes_loads) {  // B12; sparse, so it costs nothing
  const std::string small = slurp(convert_golden("llama-gqa-6over2"));
  Header h;
  std::memcpy(&h, small.data(), sizeof h);
  const auto find = [&](SectionKind kind) -> linnet::detail::Section& {
    for (auto& s : h.sections)
      if (s.kind == static_cast<uint32_t>(kind)) return s;
    throw std::runtime_error("no such section");
  };
  auto &graph = find(SectionKind::graph), &weights = find(SectionKind::weights);
  constexpr uint64_t kShift = uint64_t{5} << 30;  // every tensor moves up by 5 GiB
  const std::unique_ptr<fb::ModelT> m(fb::GetModel(small.data() + graph.offset)->UnPack());
  for (auto& t : m->tensors) t->offset += kShift;
  flatbuffers::FlatBufferBuilder b;
  b.Finish(fb::Model::Pack(b, m.get()));
  const uint64_t old_bytes = weights.bytes, old_offset = weights.offset;
  graph.bytes = b.GetSize();
  const XXH128_hash_t hash = XXH3_128bits(b.GetBufferPointer(), b.GetSize());
  graph.xxh3[0] = hash.low64;
  graph.xxh3[1] = hash.high64;
  weights.offset = (graph.offset + graph.bytes + 65535) / 65536 * 65536;
  weights.bytes = old_bytes + kShift;
  h.file_bytes = weights.offset + weights.bytes;
  h.xxh3 = XXH3_64bits(&h, offsetof(Header, xxh3));
  TempDir tmp;
  const std::string path = tmp / "large.linnet";
  const int fd = ::open(path.c_str(), O_CREAT | O_WRONLY, 0600);
  BOOST_REQUIRE(fd >= 0);
  const auto put = [&](const void* data, size_t n, uint64_t at) { return ::pwrite(fd, data, n, static_cast<off_t>(at)) == static_cast<ssize_t>(n); };
  BOOST_REQUIRE(::ftruncate(fd, static_cast<off_t>(h.file_bytes)) == 0);
  BOOST_REQUIRE(put(&h, sizeof h, 0) && put(b.GetBufferPointer(), b.GetSize(), graph.offset) &&
                put(small.data() + old_offset, old_bytes, weights.offset + kShift));
  ::close(fd);
  Model large = need(Model::open(path)), model = need(Model::open(convert_golden("llama-gqa-6over2")));
  BOOST_TEST(large.info().file_bytes > kShift);
  const auto ids = random_ids(20, model.info().vocabulary);
  BOOST_TEST(linnet::tests::hash(all_logits(large, ids)) == linnet::tests::hash(all_logits(model, ids)));
  // A cut in the upper part is seen too.
  BOOST_REQUIRE(::truncate(path.c_str(), static_cast<off_t>(h.file_bytes - 1)) == 0);
  BOOST_TEST(!Model::open(path));
}

BOOST_AUTO_TEST_CASE(only_wanted_rows_get_logits) {  // J2
  TempDir tmp;
  constexpr uint32_t kVocabulary = 152000, kRows = 1000, kWidth = 16;
  std::ofstream config(tmp / "config.json");
  config
      << R"({"architectures":["LlamaForCausalLM"],"model_type":"llama","hidden_size":16,"num_hidden_layers":1,"num_attention_heads":1,"intermediate_size":16,)"
      << R"("vocab_size":152000,"max_position_embeddings":2048,"rms_norm_eps":1e-5,"tie_word_embeddings":true,"hidden_act":"silu","torch_dtype":"float32"})";
  config.close();
  const std::pair<const char*, std::vector<uint64_t>> tensors[] = {
      {"model.embed_tokens.weight", {kVocabulary, kWidth}},         {"model.norm.weight", {kWidth}},
      {"model.layers.0.input_layernorm.weight", {kWidth}},          {"model.layers.0.post_attention_layernorm.weight", {kWidth}},
      {"model.layers.0.self_attn.q_proj.weight", {kWidth, kWidth}}, {"model.layers.0.self_attn.k_proj.weight", {kWidth, kWidth}},
      {"model.layers.0.self_attn.v_proj.weight", {kWidth, kWidth}}, {"model.layers.0.self_attn.o_proj.weight", {kWidth, kWidth}},
      {"model.layers.0.mlp.gate_proj.weight", {kWidth, kWidth}},    {"model.layers.0.mlp.up_proj.weight", {kWidth, kWidth}},
      {"model.layers.0.mlp.down_proj.weight", {kWidth, kWidth}}};
  std::string header = "{", data;
  std::mt19937 rng(3);
  for (const auto& [name, shape] : tensors) {
    uint64_t n = 1;
    std::string dims;
    for (const uint64_t d : shape) {
      n *= d;
      dims += (dims.empty() ? "" : ",") + std::to_string(d);
    }
    header += (header.size() > 1 ? ",\"" : "\"") + std::string(name) + "\":{\"dtype\":\"F32\",\"shape\":[" + dims + "],\"data_offsets\":[" +
              std::to_string(data.size()) + "," + std::to_string(data.size() + 4 * n) + "]}";
    for (uint64_t i = 0; i < n; ++i) {
      const float x = static_cast<float>(rng() % 2001) / 1000.0f - 1.0f;
      data.append(reinterpret_cast<const char*>(&x), 4);
    }
  }
  header += "}";
  const uint64_t length = header.size();
  spill(tmp.path() / "model.safetensors", std::string(reinterpret_cast<const char*>(&length), 8) + header + data);
  ConvertOptions options;
  options.source = tmp.path().string();
  options.output = tmp / "wide.linnet";
  linnet_error error{};
  BOOST_REQUIRE_MESSAGE(convert(options, nullptr, &error) == LINNET_OK, error.message);
  Model model = need(Model::open(options.output));
  const linnet_plan plan = need(linnet::plan(model, {.context = kRows, .max_rows = kRows, .threads = 1}));
  BOOST_TEST(plan.wanted_rows == 1u);
  BOOST_TEST(plan.total < uint64_t{4} * kVocabulary * 4 * 4);  // a few rows of the vocabulary, not a thousand (608 MB)
  Runner runner = need(Runner::create(model, {.context = kRows, .max_rows = kRows, .threads = 1}));
  Session s = need(Session::create(runner));
  const auto ids = random_ids(kRows, kVocabulary);
  need(s.prefill(ids));
  const auto last = need(s.logits());
  Runner all = need(Runner::create(model, {.context = kRows, .max_rows = 10, .wanted_rows = 10, .threads = 1}));
  Session t = need(Session::create(all));
  need(t.prefill({ids.data(), kRows - 10}));
  const auto rows = all_logits(all, t, {ids.data() + kRows - 10, 10});
  BOOST_TEST(std::memcmp(rows.back().data(), last.data(), kVocabulary * sizeof(float)) == 0);
}
