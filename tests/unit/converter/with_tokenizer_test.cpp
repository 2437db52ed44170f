// A conversion takes the tokenizer along, or says why not.
#include <boost/test/unit_test.hpp>

#include "model.h"
#include "runtime/container.h"

using namespace linnet;
using namespace linnet::tests;

namespace {

// Three tokens, one merge.
Json tiny_tokenizer() {
  return {{"version", "1.0"},
          {"added_tokens", Json::array()},
          {"normalizer", nullptr},
          {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}}},
          {"post_processor", nullptr},
          {"decoder", {{"type", "ByteLevel"}}},
          {"model", {{"type", "BPE"}, {"vocab", {{"a", 0}, {"b", 1}, {"ab", 2}}}, {"merges", {"a b"}}}}};
}

struct WithTokenizer {
  TempDir folder;
  WithTokenizer() {
    write_checkpoint(folder.path(), tiny_gpt2_config(), tiny_gpt2_tensors());
    spill(folder / "tokenizer.json", tiny_tokenizer().dump());
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(with_tokenizer)

BOOST_AUTO_TEST_CASE(its_section_lies_between_graph_and_weights) {
  const WithTokenizer t;
  const Converted with = convert_folder(t.folder.path());
  BOOST_REQUIRE_MESSAGE(!with.code, with.message);
  BOOST_TEST((!with.report.tokenizer.empty() && with.report.tokenizer != "none"));
  const std::string file = slurp(with.output);
  detail::Header h;
  std::memcpy(&h, file.data(), sizeof h);
  BOOST_REQUIRE(h.section_count == 3u);
  const detail::Section &graph = h.sections[0], &tokenizer = h.sections[1], &weights = h.sections[2];
  BOOST_TEST((tokenizer.kind == 2 && tokenizer.offset % 64 == 0 && tokenizer.offset >= graph.offset + graph.bytes));
  BOOST_TEST((weights.kind == 3 && weights.offset % 65536 == 0 && tokenizer.offset + tokenizer.bytes <= weights.offset));
  const XXH128_hash_t hash = XXH3_128bits(file.data() + tokenizer.offset, tokenizer.bytes);
  BOOST_TEST((tokenizer.xxh3[0] == hash.low64 && tokenizer.xxh3[1] == hash.high64));
  const Opened m(with.output);
  BOOST_TEST(m.info.tokenizer_bytes == tokenizer.bytes);

  ConvertOptions options;
  options.force = true;
  BOOST_TEST((convert_folder(t.folder.path(), options).code == LINNET_OK && slurp(with.output) == file));
  options.tokenizer = false;
  const Converted without = convert_folder(t.folder.path(), options);
  BOOST_TEST((!without.code && without.report.tokenizer == "none" && Opened(without.output).info.tokenizer_bytes == 0));
}

BOOST_AUTO_TEST_CASE(one_that_cannot_be_compiled_stops_the_conversion) {
  const WithTokenizer t;
  Json odd = tiny_tokenizer();
  odd["pre_tokenizer"]["type"] = "Telepathy";
  spill(t.folder / "tokenizer.json", odd.dump());
  expect_refused(t.folder.path(), LINNET_UNSUPPORTED, {"Telepathy", "is not supported yet; with --no-tokenizer the checkpoint converts without its tokenizer"});
  spill(t.folder / "tokenizer.json", "{");
  expect_refused(t.folder.path(), LINNET_BAD_FILE, {"tokenizer.json", "--no-tokenizer"});
  spill(t.folder / "tokenizer.json", "version https://git-lfs.github.com/spec/v1\n");
  expect_refused(t.folder.path(), LINNET_BAD_FILE, {"tokenizer.json", "git lfs pull"});
  ConvertOptions options;
  options.tokenizer = false;
  BOOST_TEST(convert_folder(t.folder.path(), options).code == LINNET_OK);
}

BOOST_AUTO_TEST_CASE(what_a_person_should_know_is_noted) {
  const WithTokenizer t;
  Json large = tiny_tokenizer();
  for (int i = 3; i < 9; ++i) large["model"]["vocab"][std::string(1, static_cast<char>('a' + i))] = i;
  spill(t.folder / "tokenizer.json", large.dump());
  const Converted c = convert_folder(t.folder.path());
  BOOST_REQUIRE_MESSAGE(!c.code, c.message);
  BOOST_REQUIRE(c.report.notes.size() == 1u);
  BOOST_TEST(c.report.notes[0].find("the tokenizer has 9 ids, the model only 5") != std::string::npos);

  fs::rename(t.folder / "tokenizer.json", t.folder / "tokenizer.model");
  ConvertOptions options;
  options.force = true;
  const Converted other = convert_folder(t.folder.path(), options);
  BOOST_REQUIRE_MESSAGE(!other.code, other.message);
  BOOST_REQUIRE((other.report.tokenizer == "none" && other.report.notes.size() == 1u));
  BOOST_TEST(other.report.notes[0].find("tokenizer.model is not read") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
