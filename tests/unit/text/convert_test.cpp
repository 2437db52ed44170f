// tokenizer.json -> section: what is refused, by which name, and what is kept.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "converter/error.h"
#include "unit/text/support.h"

using namespace linnet::test;
using linnet::ConvertError;
using linnet::converter::compile_tokenizer;

namespace {

struct Refusal {
  std::string json, name;
  linnet_code code = LINNET_UNSUPPORTED;
};
std::ostream& operator<<(std::ostream& out, const Refusal& r) { return out << r.name; }

Json with(const char* field, Json value) { return small_tokenizer({"a", "b", "ab"}, {"a b"}, {{field, std::move(value)}}); }
Json model(Json value) { return with("model", std::move(value)); }
Json untyped(const char* drop, const Json& vocab) {
  Json t = small_tokenizer({"a"});
  t["model"].erase("type");
  t["model"].erase(drop);
  if (!vocab.is_null()) t["model"]["vocab"] = vocab;
  return t;
}
Json sequence(const char* list, std::vector<Json> steps) { return {{"type", "Sequence"}, {list, steps}}; }
Json replace(Json pattern, const char* content) { return {{"type", "Replace"}, {"pattern", std::move(pattern)}, {"content", content}}; }
Json decoders(std::vector<Json> steps) { return with("decoder", sequence("decoders", std::move(steps))); }
Json type(const char* name) { return {{"type", name}}; }
Json strip(int start, int stop) { return {{"type", "Strip"}, {"content", " "}, {"start", start}, {"stop", stop}}; }
Json byte_level() { return {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}}; }
Json added(std::vector<Json> tokens) { return with("added_tokens", tokens); }
Json processor(std::vector<Json> pieces) {
  return with("post_processor", {{"type", "TemplateProcessing"},
                                 {"single", pieces},
                                 {"pair", Json::array()},
                                 {"special_tokens", {{"a", {{"id", "a"}, {"ids", {0}}, {"tokens", {"a"}}}}}}});
}
Json piece(const char* kind, const char* id) { return {{kind, {{"id", id}, {"type_id", 0}}}}; }
Json edited(Json base, const char* pointer, Json value) {
  base[Json::json_pointer(pointer)] = std::move(value);
  return base;
}

const std::vector<Refusal>& refusals() {
  static const std::vector<Refusal> all = {
      {with("normalizer", type("NFC")).dump(), "normalizer NFC"},
      {with("normalizer", sequence("normalizers", {replace({{"String", " "}}, "_"), type("NFKC")})).dump(), "normalizer NFKC"},
      {with("normalizer", sequence("normalizers", {sequence("normalizers", {type("Lowercase")})})).dump(), "normalizer Lowercase"},
      {with("normalizer", replace({{"Regex", " +"}}, " ")).dump(), "normalizer Replace with a Regex"},
      {with("normalizer", replace({{"String", ""}}, " ")).dump(), "normalizer Replace of an empty text"},
      {with("normalizer", type("Precompiled")).dump(), "normalizer Precompiled"},
      {with("pre_tokenizer", type("Metaspace")).dump(), "pre_tokenizer Metaspace"},
      {with("pre_tokenizer", sequence("pretokenizers", {{{"type", "Split"}, {"pattern", {{"Regex", "x"}}}}, byte_level()})).dump(),
       "pre_tokenizer Split"},
      {with("pre_tokenizer", type("Whitespace")).dump(), "pre_tokenizer Whitespace"},
      {with("pre_tokenizer", sequence("pretokenizers", {byte_level(), byte_level()})).dump(), "a second pre_tokenizer ByteLevel"},
      {with("pre_tokenizer", byte_level()).dump(), "pre_tokenizer ByteLevel without decoder ByteLevel"},
      {with("decoder", byte_level()).dump(), "decoder ByteLevel without pre_tokenizer ByteLevel"},
      {with("decoder", type("WordPiece")).dump(), "decoder WordPiece"},
      {with("decoder", type("Metaspace")).dump(), "decoder Metaspace"},
      {decoders({type("Fuse"), strip(1, 1)}).dump(), "decoder Strip at the end of the text"},
      {decoders({strip(1, 0)}).dump(), "decoder Strip that does not follow Fuse"},
      {decoders({type("ByteFallback"), replace({{"String", "_"}}, " ")}).dump(), "decoder Replace after"},
      {decoders({type("Fuse"), type("Fuse")}).dump(), "decoder Fuse after"},
      {with("post_processor", type("BertProcessing")).dump(), "post_processor BertProcessing"},
      {processor({piece("SpecialToken", "a")}).dump(), "post_processor TemplateProcessing without the sequence"},
      {processor({piece("Sequence", "A"), piece("Sequence", "A")}).dump(), "post_processor TemplateProcessing whose single form"},
      {model({{"type", "Unigram"}}).dump(), "model Unigram"},
      {model({{"type", "WordPiece"}}).dump(), "model WordPiece"},
      {untyped("merges", {{"a", 0}}).dump(), "a model without a type and without merges"},
      {untyped("merges", Json::array({Json::array({"a", -1.5})})).dump(), "model Unigram"},
      {model({{"dropout", 0.1}}).dump(), "model dropout"},
      {model({{"continuing_subword_prefix", "##"}}).dump(), "continuing_subword_prefix"},
      {model({{"end_of_word_suffix", "</w>"}}).dump(), "end_of_word_suffix"},
      {model({{"unk_token", "<nope>"}}).dump(), "unk_token <nope>"},
      {with("version", "2.0").dump(), "version"},
      {added({added_token(7, "x")}).dump(), "added token x with id 7"},
      {added({added_token(3, "x"), added_token(3, "x", true)}).dump(), "added token x standing twice"},
      {added({added_token(3, std::string(600, 'x'))}).dump(), "an added token of 600 bytes"},
      {small_tokenizer({std::string(70000, 'x')}).dump(), "a token of 70000 bytes"},
      // Not what a tokenizer.json looks like.
      {"", "tokenizer.json", LINNET_BAD_FILE},
      {"[]", "not a JSON object", LINNET_BAD_FILE},
      {"{\"a\": ", "tokenizer.json", LINNET_BAD_FILE},
      {"{}", "no model", LINNET_BAD_FILE},
      {"{\"model\": {\"type\": \"BPE\", \"merges\": [], \"vocab\": {\"\\ud83d\": 0}}}", "tokenizer.json", LINNET_BAD_FILE},
      {model({{"vocab", {{"a", -1}}}}).dump(), "the id is not a number", LINNET_BAD_FILE},
      {model({{"vocab", {{"a", 1.5}}}}).dump(), "the id is not a number", LINNET_BAD_FILE},
      {edited(small_tokenizer({"a"}), "/model/vocab", {{"a", 0}, {"b", 0}}).dump(), "both have id 0", LINNET_BAD_FILE},
      {edited(small_tokenizer({"a"}), "/model/vocab", {{"a", 4000000000u}}).dump(), "beyond the", LINNET_BAD_FILE},
      {edited(small_tokenizer({"a"}), "/model/vocab", Json::object()).dump(), "the vocabulary is empty", LINNET_BAD_FILE},
      {small_tokenizer({"a", "b"}, {"a b"}).dump(), "names ab, which is not in the vocabulary", LINNET_BAD_FILE},
      {small_tokenizer({"a", "b", "ab"}, {"a b c"}).dump(), "is not two tokens", LINNET_BAD_FILE},
      {small_tokenizer({"a", "b", "ab"}, {"ab"}).dump(), "is not two tokens", LINNET_BAD_FILE},
      {edited(small_tokenizer({"a"}), "/model/merges", {{"a"}}).dump(), "is not a pair", LINNET_BAD_FILE},
      {edited(small_tokenizer({"a"}), "/model/merges", "a a").dump(), "merges is not a list", LINNET_BAD_FILE},
      {model({{"byte_fallback", 1}}).dump(), "byte_fallback is not true or false", LINNET_BAD_FILE},
      {with("added_tokens", {{{"id", 3}, {"content", "x"}}}).dump(), "no special", LINNET_BAD_FILE},
      {processor({piece("Sequence", "A"), piece("SpecialToken", "zz")}).dump(), "no ids for zz", LINNET_BAD_FILE},
  };
  return all;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(compiling)

BOOST_DATA_TEST_CASE(refused_by_name, boost::unit_test::data::make(refusals()), sample) {
  try {
    compile_tokenizer(sample.json, "");
    BOOST_TEST(false, "accepted");
  } catch (const ConvertError& e) {
    const std::string message = e.what();
    BOOST_TEST(e.code == sample.code);
    BOOST_TEST(message.find(sample.name) != std::string::npos, message);
  }
}

BOOST_AUTO_TEST_CASE(the_same_file_gives_the_same_bytes) {
  for (const char* name : kTokenizers) {
    const std::string json = read_data(std::string(name) + ".json");
    BOOST_CHECK(compile_tokenizer(json, "") == compile_tokenizer(json, ""));
    BOOST_CHECK(compile_tokenizer(json, "") == compile_tokenizer(Json::parse(json).dump(2), ""));
  }
}

BOOST_AUTO_TEST_CASE(holes_in_the_vocabulary) {
  Json file = small_tokenizer({});
  file["model"]["vocab"] = {{"a", 0}, {"b", 3}, {"c", 5}};
  const TestTokenizer t(file.dump());
  BOOST_TEST(t.core.section().vocabulary == 6u);
  BOOST_TEST(t.encode("abc") == (Ids{0, 3, 5}));
  BOOST_TEST(t.decode({0, 1, 2, 3, 4, 5, 6, -1}) == "abc");
  BOOST_TEST(!t.core.section().present(4));
}

BOOST_AUTO_TEST_CASE(sequences_are_walked) {
  const Json prepend = {{"type", "Prepend"}, {"prepend", "_"}};
  Json file = small_tokenizer({"a", "b", "_", " "}, {},
                              {{"normalizer", sequence("normalizers", {sequence("normalizers", {prepend}), replace({{"String", " "}}, "_")})}});
  file["decoder"] =
      sequence("decoders", {sequence("decoders", {replace({{"String", "_"}}, " ")}), sequence("decoders", {type("Fuse"), strip(1, 0)})});
  const TestTokenizer t(file.dump());
  BOOST_TEST(t.encode("a b") == (Ids{2, 0, 2, 1}));
  BOOST_TEST(t.decode({2, 0, 2, 1}) == "a b");
}

BOOST_AUTO_TEST_CASE(depth_is_limited) {
  const auto nested = [](int depth) {
    std::string step = R"({"type":"Prepend","prepend":"_"})";
    for (int i = 0; i < depth; ++i) step = R"({"type":"Sequence","normalizers":[)" + step + "]}";
    std::string json = small_tokenizer({"a", "_"}).dump();
    return json.replace(json.find(R"("normalizer":null)"), 17, R"("normalizer":)" + step);
  };
  BOOST_TEST(TestTokenizer(nested(16)).encode("a") == (Ids{1, 0}));
  BOOST_CHECK_THROW(compile_tokenizer(nested(17), ""), ConvertError);
  BOOST_CHECK_THROW(compile_tokenizer(nested(20000), ""), ConvertError);
  std::string deep = small_tokenizer({"a"}).dump();
  deep.replace(deep.find(R"("1.0")"), 5, std::string(100000, '[') + std::string(100000, ']'));
  BOOST_CHECK_THROW(compile_tokenizer(deep, ""), ConvertError);
}

BOOST_AUTO_TEST_CASE(templates_nest) {
  const auto around = [](int id) {
    return Json{{"type", "TemplateProcessing"},
                {"single", {piece("SpecialToken", "t"), piece("Sequence", "A"), piece("SpecialToken", "t")}},
                {"special_tokens", {{"t", {{"id", "t"}, {"ids", {id, id}}}}}}};
  };
  const TestTokenizer t(with("post_processor", sequence("processors", {byte_level(), around(1), around(2)})).dump());
  BOOST_TEST(t.encode("a", LINNET_ADD_SPECIAL) == (Ids{2, 2, 1, 1, 0, 1, 1, 2, 2}));
  BOOST_TEST(t.encode("a", 0) == (Ids{0}));
}

BOOST_AUTO_TEST_CASE(chat_template_and_named_tokens) {
  const std::string json = added({added_token(3, "<s>", true)}).dump();
  const auto chat = [&](const Json& config, const std::string& file = "") {
    const Section section(compile_tokenizer(json, config.is_null() ? "" : config.dump(), {file}));
    linnet::detail::TokenizerSection s;
    linnet_error error{};
    BOOST_TEST_REQUIRE(linnet::detail::read_tokenizer(section.data, section.size, &s, &error) == LINNET_OK);
    return std::string(s.chat_template);
  };
  BOOST_TEST(chat(nullptr) == "");
  BOOST_TEST(chat({{"chat_template", "{{ x }}"}, {"bos_token", {{"content", "<s>"}}}, {"eos_token", "nobody"}}) == "{{ x }}");
  BOOST_TEST(chat({{"chat_template", {{{"name", "tool"}, {"template", "t"}}, {{"name", "default"}, {"template", "d"}}}}}) == "d");
  BOOST_TEST(chat({{"chat_template", "c"}}, "from chat_template.jinja") == "from chat_template.jinja");
  BOOST_CHECK_THROW(compile_tokenizer(json, "{"), ConvertError);
}

// A complete byte vocabulary leaves nothing for unk_token or byte_fallback to do, even if they name tokens that do not exist.
BOOST_AUTO_TEST_CASE(complete_bytes_need_no_unknown_token) {
  Json file = Json::parse(read_data("bytelevel.json"));
  const std::string plain = compile_tokenizer(file.dump(), "");
  file["model"]["unk_token"] = "<nope>";
  file["model"]["byte_fallback"] = true;
  BOOST_CHECK(compile_tokenizer(file.dump(), "") == plain);
  file["model"]["vocab"].erase("Ā");  // byte 0
  BOOST_CHECK_THROW(compile_tokenizer(file.dump(), ""), ConvertError);
}

BOOST_AUTO_TEST_CASE(a_report_says_what_it_is) {
  linnet::converter::TokenizerReport report;
  compile_tokenizer(read_data("added.json"), "", {}, &report);
  BOOST_TEST(report.kind == "byte-level BPE");
  BOOST_TEST(report.vocabulary == 347u);
  BOOST_TEST(report.added == 19u);
}

BOOST_AUTO_TEST_SUITE_END()
