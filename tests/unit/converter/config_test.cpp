// Reading config.json and generation_config.json: types, ranges, absence, locale; special tokens (CASES A3, B8, B19).
#include "converter/checkpoint/config.h"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <clocale>
#include <locale>

#include "checkpoints.h"
#include "converter/checkpoint/generation.h"

namespace bdata = boost::unit_test::data;
using namespace linnet;
using namespace linnet::tests;
using converter::Config;
using converter::Generation;

namespace {

Config config(const std::string& text) { return Config::parse(text, "config.json"); }

struct BadField {
  const char* text;
  void (*read)(const Config& c);
  std::vector<std::string> words;
};
std::ostream& operator<<(std::ostream& out, const BadField& b) { return out << b.text; }

void whole(const Config& c) { c.integer("n", 1, 4096); }
void number(const Config& c) { c.real("n", 0, 1); }

const std::vector<BadField> kBadFields = {
    {"{}", whole, {"config.json: n is missing"}},
    {R"({"n":null})", whole, {"n is null"}},
    {R"({"n":0})", whole, {"n is 0", "from 1 to 4096"}},
    {R"({"n":-1})", whole, {"n is -1"}},
    {R"({"n":4097})", whole, {"n is 4097"}},
    {R"({"n":1.0})", whole, {"n is 1.0"}},
    {R"({"n":1e3})", whole, {"n is 1000.0"}},
    {R"({"n":18446744073709551616})", whole, {"n is 1.8446744073709552e+19"}},
    {R"({"n":"12"})", whole, {"n is \"12\""}},
    {R"({"n":true})", whole, {"n is true"}},
    {R"({"n":[1]})", whole, {"n is [1]"}},
    {R"({"n":1.5})", number, {"n is 1.5", "from 0 to 1"}},
    {R"({"n":-1e-9})", number, {"n is -1e-09"}},
    {R"({"n":"1e-5"})", number, {"n is \"1e-5\""}},
    {R"({"n":1})", [](const Config& c) { c.boolean_or("n", false); }, {"n is 1", "true or false"}},
    {R"({"n":1})", [](const Config& c) { c.text("n"); }, {"a string"}},
    {R"({"n":[1,"2"]})", [](const Config& c) { c.integers("n"); }, {"a whole number or a list"}},
    {R"({"n":[1,2.5]})", [](const Config& c) { c.integers("n"); }, {"a whole number or a list"}},
    {R"({"n":["a",1]})", [](const Config& c) { c.texts("n"); }, {"a list of strings"}},
    {R"({"n":[]})", [](const Config& c) { c.object("n"); }, {"an object"}},
    {R"({"o":{"n":7}})", [](const Config& c) { c.object("o").integer("n", 0, 6); }, {"config.json: o.n is 7"}},
};

struct TokenCase {
  const char* what;
  std::string config, generation;  // "": no such file
  std::vector<uint32_t> eos;
  int64_t bos, pad;                // -1: none
  size_t notes;
  const char* error;               // "": none
};
std::ostream& operator<<(std::ostream& out, const TokenCase& t) { return out << t.what; }

// As a family whose class defaults are bos 50256 and eos 50256; vocabulary 53.
const std::vector<TokenCase> kTokens = {
    {"one of each", R"({"bos_token_id":0,"eos_token_id":5,"pad_token_id":6})", "", {5}, 0, 6, 0, ""},
    {"generation_config wins, and may be a list", R"({"eos_token_id":5})", R"({"eos_token_id":[5,7]})", {5, 7}, -1, -1, 0, ""},
    {"generation_config wins even where it says less", R"({"eos_token_id":[5,7]})", R"({"eos_token_id":7})", {7}, -1, -1, 0, ""},
    {"null there is silence", R"({"eos_token_id":5,"bos_token_id":1})", R"({"eos_token_id":null,"bos_token_id":null})", {5}, 1, -1, 0, ""},
    {"each key by itself", R"({"eos_token_id":5,"bos_token_id":1})", R"({"bos_token_id":2})", {5}, 2, -1, 0, ""},
    {"twice the same id", R"({"eos_token_id":[5,5,7]})", "", {5, 7}, -1, -1, 0, ""},
    {"an empty list", R"({"eos_token_id":[]})", "", {}, -1, -1, 0, ""},
    {"null: none, and no default", R"({"bos_token_id":null,"eos_token_id":null})", "", {}, -1, -1, 0, ""},
    {"nothing: defaults, which do not fit", "{}", "", {}, -1, -1, 0, ""},
    {"capp-gpt2: bos from the class default, written out",
     R"({"bos_token_id":50256,"eos_token_id":51,"pad_token_id":52})",
     R"({"bos_token_id":50256,"eos_token_id":51,"pad_token_id":52})",
     {51},
     -1,
     52,
     1,
     ""},
    {"eos from the class default, written out; the real one beside it", R"({"eos_token_id":50256})", R"({"eos_token_id":51})", {51}, -1, -1, 0, ""},
    {"eos from the class default, written out twice", R"({"eos_token_id":50256})", R"({"eos_token_id":50256})", {}, -1, -1, 1, ""},
    {"pad -1, as in the first Llama", R"({"pad_token_id":-1})", "", {}, -1, -1, 1, ""},
    {"pad behind the vocabulary", R"({"pad_token_id":53})", "", {}, -1, -1, 1, ""},
    {"the last id", R"({"eos_token_id":52})", "", {52}, -1, -1, 0, ""},
    {"eos behind the vocabulary", R"({"eos_token_id":53})", "", {}, -1, -1, 0, "config.json: eos_token_id is 53, outside the vocabulary of 53"},
    {"eos -5", R"({"eos_token_id":-5})", "", {}, -1, -1, 0, "config.json: eos_token_id is -5"},
    {"one of a list", R"({"eos_token_id":5})", R"({"eos_token_id":[5,11111]})", {}, -1, -1, 0, "generation_config.json: eos_token_id is 11111"},
    {"text", R"({"eos_token_id":"</s>"})", "", {}, -1, -1, 0, "config.json: eos_token_id is \"</s>\""},
    {"half an id", R"({"eos_token_id":1.5})", "", {}, -1, -1, 0, "eos_token_id is 1.5"},
    {"two bos", R"({"bos_token_id":[1,2]})", "", {}, -1, -1, 0, "bos_token_id is a list of 2"},
};

Generation generation(const std::string& config_text, const std::string& generation_text, const converter::TokenDefaults& defaults = {},
                      uint32_t vocabulary = 53, std::vector<std::string>* notes = nullptr) {
  std::vector<std::string> ignored;
  std::optional<Config> g;
  if (!generation_text.empty()) g = Config::parse(generation_text, "generation_config.json");
  return converter::read_generation(config(config_text), g, defaults, vocabulary, notes ? notes : &ignored);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(config_json)

BOOST_DATA_TEST_CASE(a_bad_field_is_named_with_its_value, bdata::make(kBadFields), bad) {
  const std::string message = error_of([&] { bad.read(config(bad.text)); });
  for (const auto& word : bad.words) BOOST_TEST(message.find(word) != std::string::npos, "\"" << word << "\" is not in: " << message);
}

BOOST_AUTO_TEST_CASE(good_fields_are_read) {
  const Config c = config(
      R"({"n":4096,"x":1e-05,"y":1,"theta":10000.5,"none":null,"t":true,"s":"a","list":[1,-2],"one":3,"texts":["a","b"],
          "o":{"n":1},"empty":{},"zero":0.0})");
  BOOST_TEST(c.integer("n", 1, 4096) == 4096u);
  BOOST_TEST((c.real("x", 0, 1) == 1e-05 && c.real("y", 0, 1) == 1 && c.real("theta", 0, 1e9) == 10000.5));
  BOOST_TEST((c.integer_or("none", 0, 9, 7) == 7 && c.integer_or("absent", 0, 9, 8) == 8 && c.real_or("none", 0, 1, 0.5) == 0.5));
  BOOST_TEST((c.boolean_or("t", false) && c.boolean_or("none", true) && c.text_or("s", "b") == "a" && c.text_or("none", "b") == "b"));
  BOOST_TEST((c.integers("list") == std::vector<int64_t>{1, -2} && c.integers("one") == std::vector<int64_t>{3} && c.integers("none").empty()));
  BOOST_TEST((c.texts("texts") == std::vector<std::string>{"a", "b"} && c.object("o").integer("n", 0, 1) == 1));
  BOOST_TEST((c.present("none") && !c.has("none") && !c.present("absent")));
  BOOST_TEST((c.neutral("none", 0) && c.neutral("absent", 0) && c.neutral("empty", 0) && c.neutral("zero", 0) && c.neutral("y", 1) &&
              !c.neutral("y", 0) && !c.neutral("t", 0) && !c.neutral("s", 0) && !c.neutral("o", 0)));
}

BOOST_AUTO_TEST_CASE(json_that_says_two_things_or_never_ends_is_refused) {
  BOOST_TEST(error_of([] { config(R"({"a":1,"b":{"a":1},"a":2})"); }).find("\"a\" stands twice") != std::string::npos);
  BOOST_TEST(error_of([] { config(R"({"a":1,"b":{"a":1},"c":[{"a":1},{"a":1}]})"); }) == "");
  BOOST_TEST(error_of([] { config("{\"a\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}"); }).find("deeper") != std::string::npos);
  BOOST_TEST(error_of([] { config(std::string("{}\0{}", 5)); }).find("holds a NUL") != std::string::npos);
  BOOST_TEST(error_of([] { config("[1]"); }).find("not a JSON object") != std::string::npos);
  BOOST_TEST(error_of([] { config("{\"eps\": NaN}"); }).find("not valid JSON: error at byte 9") != std::string::npos);
  BOOST_TEST(error_of([] { config("{\"eps\": 1e999}"); }).find("not valid JSON") != std::string::npos);
}

BOOST_DATA_TEST_CASE(special_tokens, bdata::make(kTokens), c) {
  std::vector<std::string> notes;
  Generation g;
  const std::string message = error_of([&] { g = generation(c.config, c.generation, {50256, 50256}, 53, &notes); });
  if (*c.error) {
    BOOST_TEST(message.find(c.error) != std::string::npos, "message: " << message);
    return;
  }
  BOOST_TEST(message == "");
  BOOST_TEST(g.eos == c.eos, boost::test_tools::per_element());
  BOOST_TEST((g.bos ? int64_t{*g.bos} : -1) == c.bos);
  BOOST_TEST((g.pad ? int64_t{*g.pad} : -1) == c.pad);
  BOOST_TEST(notes.size() == c.notes);
}

BOOST_AUTO_TEST_CASE(a_default_that_fits_is_taken_only_where_the_key_is_absent) {
  BOOST_TEST((generation("{}", "", {1, 2}).eos == std::vector<uint32_t>{2} && generation("{}", "", {1, 2}).bos == 1u));
  BOOST_TEST((generation(R"({"eos_token_id":null})", "", {1, 2}).eos.empty() && generation(R"({"eos_token_id":null})", "", {1, 2}).bos == 1u));
  BOOST_TEST((generation("{}", R"({"eos_token_id":9})", {1, 2}).eos == std::vector<uint32_t>{9}));
}

BOOST_AUTO_TEST_CASE(sampling_defaults_count_where_the_model_samples) {
  const std::string all = R"("temperature":0.6,"top_k":20,"top_p":0.9,"repetition_penalty":1.1})";
  Generation g = generation("{}", R"({"do_sample":true,)" + all);
  BOOST_TEST((g.temperature == 0.6f && g.top_k == 20u && g.top_p == 0.9f && g.repetition_penalty == 1.1f));
  for (const char* off : {R"({"do_sample":false,)", "{"}) {
    g = generation("{}", off + all);
    BOOST_TEST((!g.temperature && !g.top_k && !g.top_p && g.repetition_penalty == 1.1f));
  }
  g = generation(R"({"temperature":0.5,"do_sample":true})", "");
  BOOST_TEST((!g.temperature && !g.repetition_penalty));
  for (const char* bad : {R"("temperature":-1)", R"("top_p":1.5)", R"("top_k":-1)", R"("temperature":"hot")", R"("repetition_penalty":0)"})
    BOOST_TEST(
        error_of([&] { generation("{}", std::string(R"({"do_sample":true,)") + bad + "}"); }).find("generation_config.json") != std::string::npos,
        bad);
}

// A host may have set any locale, for C or for C++; neither may reach into a number of the file.
BOOST_AUTO_TEST_CASE(the_locale_changes_nothing) {
  const TempDir t;
  Json c = tiny_llama_config();
  c["rms_norm_eps"] = 1e-05;
  c["rope_theta"] = 10000.5;
  write_checkpoint(t / "m", c, tiny_llama_tensors());
  spill(t / "m/generation_config.json", R"({"do_sample":true,"temperature":0.6})");
  const Converted plain = convert_folder(t / "m");
  BOOST_REQUIRE_MESSAGE(!plain.code, plain.message);

  struct Commas : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
  };
  const std::string before = std::setlocale(LC_ALL, nullptr);
  for (const char* name : {"de_DE.UTF-8", "de_DE.utf8", "de_DE", "fr_FR.UTF-8"})
    if (std::setlocale(LC_ALL, name)) break;  // where the machine has one
  BOOST_TEST_MESSAGE("C locale: " << std::setlocale(LC_ALL, nullptr));
  const std::locale cpp = std::locale::global(std::locale(std::locale::classic(), new Commas));
  ConvertOptions options;
  options.output = t / "other.linnet";
  const Converted other = convert_folder(t / "m", options);
  const std::string message = error_of([] { config(R"({"n":1234567.5})").real("n", 0, 1000000); });
  std::locale::global(cpp);
  std::setlocale(LC_ALL, before.c_str());
  BOOST_REQUIRE_MESSAGE(!other.code, other.message);
  BOOST_TEST((slurp(plain.output) == slurp(other.output)));
  BOOST_TEST(message == "config.json: n is 1234567.5; it must be a number from 0 to 1e+06");
}

BOOST_AUTO_TEST_SUITE_END()
