// linnet-run: every way to give a prompt, what goes to which stream, and how it ends.
#include <algorithm>
#include <boost/test/data/test_case.hpp>
#include <nlohmann/json.hpp>

#include "program.h"
#include "tests/unit/converter/checkpoints.h"

using namespace linnet;
using namespace linnet::tests;
namespace data = boost::unit_test::data;

namespace {

// What Hugging Face transformers wrote: examples/models/expected_greedy.py.
const Json& expected() {
  static const Json all = Json::parse(slurp(fs::path(LINNET_SOURCE_DIR) / "examples/models/linnet-tales/expected-greedy.json"));
  return all["prompts"];
}
std::string prompt_of(const Json& p) { return p["prompt"]; }
std::string continuation_of(const Json& p) { return p["text"].get<std::string>().substr(prompt_of(p).size()); }
// The prompt that reaches the end of its text.
const Json& whole() { return expected()[2]; }

// A model with the bundled tokenizer that never comes to an end: its whole text is longer than a pipe holds.
std::string endless_model() {
  static const TempDir t;
  static const std::string path = [] {
    Json config = tiny_llama_config();
    config.update(Json{{"vocab_size", 2048}, {"max_position_embeddings", 40000}});
    Tensors tensors = tiny_llama_tensors();
    tensors["model.embed_tokens.weight"] = some("F32", {2048, 6}, 101);
    tensors["lm_head.weight"] = some("F32", {2048, 6}, 102);
    fs::create_directories(t / "m");
    spill(t / "m/config.json", config.dump());
    spill(t / "m/model.safetensors", safetensors(tensors));
    for (const char* file : {"tokenizer.json", "tokenizer_config.json"})
      fs::copy_file(fs::path(LINNET_SOURCE_DIR) / "examples/models/linnet-tales" / file, t / (std::string("m/") + file));
    ConvertOptions options;
    options.source = t / "m";
    options.output = t / "endless.linnet";
    linnet_error error{};
    BOOST_REQUIRE_MESSAGE(convert(options, nullptr, &error) == LINNET_OK, error.message);
    return options.output;
  }();
  return path;
}

// On one thread: the text is the same, and two that share a processor with other tests wait for each other.
std::string written(std::vector<std::string> arguments, const Setting& setting = {}) {
  if (std::find(arguments.begin(), arguments.end(), "-t") == arguments.end()) arguments.insert(arguments.end(), {"-t", "1"});
  return output_of("linnet-run", arguments, setting);
}

std::string words_of(const std::string& text) {
  std::istringstream in(text);
  std::string out;
  for (std::string word; in >> word;) out += (out.empty() ? "" : " ") + word;
  return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(run_program_)

BOOST_AUTO_TEST_CASE(every_way_to_give_a_prompt) {
  const TempDir t;
  BOOST_REQUIRE(expected().size() >= 3u);
  for (const Json& p : expected()) {
    const std::string prompt = prompt_of(p), text = continuation_of(p);
    const std::string n = std::to_string(p["greedy_ids"].size());
    spill(t / "prompt.txt", prompt);
    BOOST_TEST(written({"MODEL", prompt, "-n", n}) == text);
    BOOST_TEST(written({"MODEL", "-p", prompt, "-n", n}) == text);
    BOOST_TEST(written({"MODEL", "-f", t / "prompt.txt", "-n", n}) == text);
    BOOST_TEST(written({"MODEL", "-n", n}, {.input = prompt}) == text);
    BOOST_TEST(written({"MODEL", "--ids", p["ids"].dump(), "-n", n}) == text);
    BOOST_TEST(written({"MODEL", prompt, "--echo", "-n", n}) == p["text"]);
    // What cannot matter.
    BOOST_TEST(written({"MODEL", prompt, "-n", "12", "-t", "2", "--chunk", "1", "--isa", "scalar"}) == written({"MODEL", prompt, "-n", "12"}));
  }
}

BOOST_AUTO_TEST_CASE(two_prompts_are_one_too_many) {
  const TempDir t;
  spill(t / "prompt.txt", "a");
  const std::vector<std::vector<std::string>> ways = {{"a"}, {"-p", "a"}, {"-f", t / "prompt.txt"}, {"--ids", "1"}};
  for (size_t i = 0; i < ways.size(); ++i)
    for (size_t k = i + 1; k < ways.size(); ++k) {
      std::vector<std::string> arguments = {"MODEL"};
      for (const auto* way : {&ways[i], &ways[k]}) arguments.insert(arguments.end(), way->begin(), way->end());
      expect_failure(2, "linnet-run", arguments, {"excludes"});
    }
}

BOOST_AUTO_TEST_CASE(token_ids_in_and_out) {
  for (const Json& p : expected()) {
    const std::vector<std::string> arguments = {"MODEL", "--print-ids", "-n", std::to_string(p["greedy_ids"].size())};
    const auto with = [&](std::vector<std::string> more, const Setting& setting = {}) {
      more.insert(more.begin(), arguments.begin(), arguments.end());
      const std::string out = written(more, setting);
      BOOST_TEST(out.find('\n') == out.size() - 1);
      return Json::parse(out);
    };
    const std::string array = p["ids"].dump(), list = array.substr(1, array.size() - 2);
    BOOST_TEST(with({prompt_of(p)}) == p["greedy_ids"]);
    BOOST_TEST(with({"--ids", array}) == p["greedy_ids"]);
    BOOST_TEST(with({"--ids", list}) == p["greedy_ids"]);
    BOOST_TEST(with({"--ids", "-"}, {.input = array + "\n"}) == p["greedy_ids"]);
    BOOST_TEST(with({"--ids", "-"}, {.input = list}) == p["greedy_ids"]);
    BOOST_TEST(with({"--ids", array, "--echo"}) == p["greedy_ids"]);
  }
}

BOOST_AUTO_TEST_CASE(counts_and_ends) {
  const Json& p = whole();
  const std::string prompt = prompt_of(p), text = continuation_of(p);
  BOOST_REQUIRE(p["ends_with_eos"] == true);
  BOOST_TEST(written({"MODEL", prompt}) == text);
  BOOST_TEST(written({"MODEL", prompt, "-n", "-1"}) == text);
  BOOST_TEST(written({"MODEL", prompt, "-n", "0"}) == "");
  BOOST_TEST(written({"MODEL", prompt, "-n", "0", "--echo"}) == prompt);
  Json ids = Json::parse(written({"MODEL", prompt, "-n", "7", "--print-ids"}));
  BOOST_TEST(ids == Json(std::vector<int>(p["greedy_ids"].begin(), p["greedy_ids"].begin() + 7)));
  // Behind the end token there is more.
  const std::string longer = written({"MODEL", prompt, "--ignore-eos", "-n", std::to_string(p["greedy_ids"].size() + 9)});
  BOOST_TEST(longer.starts_with(text));
  BOOST_TEST(longer.size() > text.size());
}

BOOST_AUTO_TEST_CASE(stop_strings) {
  const std::string prompt = prompt_of(whole()), text = continuation_of(whole());
  for (const std::string stop : {"hill", "a snug", ".", "\n\n", "owed so lo"}) {
    const size_t at = text.find(stop);
    BOOST_REQUIRE(at != std::string::npos);
    BOOST_TEST(written({"MODEL", prompt, "--stop", stop}) == text.substr(0, at));
    BOOST_TEST(written({"MODEL", prompt, "--stop", "not in it", "--stop", stop}) == text.substr(0, at));
  }
  BOOST_TEST(written({"MODEL", prompt, "--stop", "not in it"}) == text);
  expect_failure(1, "linnet-run", {"MODEL", prompt, "--stop", ""}, {"stop", "empty"});
}

// The tale in README.md: quickstart.sh says with which options.
BOOST_AUTO_TEST_CASE(the_tale_in_the_readme) {
  const std::string readme = slurp(fs::path(LINNET_SOURCE_DIR) / "README.md");
  const size_t from = readme.find("    Once upon a time,"), to = readme.find("\nThe bundled model", from);
  BOOST_REQUIRE((from != std::string::npos && to != std::string::npos));
  const TempDir t;
  output_of("linnet-convert", {LINNET_SOURCE_DIR "/examples/models/linnet-tales", "-o", t / "tales.linnet"});
  BOOST_TEST(words_of(written({t / "tales.linnet", "Once upon a time", "--echo", "-n", "250", "--temperature", "0.7", "--seed", "2"})) ==
             words_of(readme.substr(from, to - from)));
}

BOOST_AUTO_TEST_CASE(a_seed_is_a_text) {
  const auto text = [](std::vector<std::string> more) {
    more.insert(more.begin(), {"MODEL", "Once upon a time", "-n", "40"});
    return written(more);
  };
  const std::string one = text({"--temperature", "0.9", "--seed", "1"});
  BOOST_TEST(text({"--temp", "0.9", "-s", "1", "-t", "2"}) == one);
  BOOST_TEST(text({"--temp", "0.9", "-s", "2"}) != one);
  BOOST_TEST(text({"--temp", "0.9", "-s", "18446744073709551615"}) != one);
  // Each of these leaves one token to draw from.
  const std::string greedy = text({});
  BOOST_TEST(one != greedy);
  for (const std::vector<std::string>& narrow : {std::vector<std::string>{"--top-k", "1"}, {"--top-p", "0"}, {"--min-p", "1"}}) {
    std::vector<std::string> arguments = {"--temp", "0.9", "-s", "1"};
    arguments.insert(arguments.end(), narrow.begin(), narrow.end());
    BOOST_TEST(text(arguments) == greedy, narrow[0]);
  }
  BOOST_TEST(text({"--repeat-penalty", "5"}) != greedy);
  BOOST_TEST(text({"--repeat-penalty", "5", "--repeat-last-n", "1"}) != text({"--repeat-penalty", "5"}));
}

BOOST_AUTO_TEST_CASE(statistics_go_to_stderr) {
  const Json& p = whole();
  const std::vector<std::string> common = {"MODEL", prompt_of(p), "--stats", "--threads", "1"};
  const auto stats = [&](std::vector<std::string> more, const std::string& out, size_t tokens, const std::string& finish) {
    more.insert(more.begin(), common.begin(), common.end());
    const Ran ran = run_program("linnet-run", more);
    BOOST_TEST(ran.status == 0);
    BOOST_TEST(ran.out == out);
    size_t count = 0, positions = 0, threads = 0;
    char why[32] = "", size[32] = "";
    int length = 0;
    std::sscanf(ran.err.c_str(),
                "\n%zu tokens written (%31[^)]), %zu positions in the context; open %*f ms, first text after %*f ms, %*f tokens/s behind it; "
                "%zu threads; %*f %*s planned, file %31[^\n]%n",
                &count, why, &positions, &threads, size, &length);
    BOOST_REQUIRE_MESSAGE((length > 0 && ran.err.substr(static_cast<size_t>(length)) == "\n"), ran.err);
    BOOST_TEST(count == tokens);
    BOOST_TEST(why == finish);
    BOOST_TEST(threads == 1u);
    char mib[32];
    std::snprintf(mib, sizeof mib, "%.1f MiB", static_cast<double>(fs::file_size(model_path())) / (1 << 20));
    BOOST_TEST(size == std::string(mib));
    // The last token of a reply was written and need not be read; one before an end token was.
    BOOST_TEST(positions >= p["ids"].size() + tokens - 1);
    BOOST_TEST(positions <= p["ids"].size() + tokens + 1);
  };
  const std::string text = continuation_of(p);
  stats({}, text, p["greedy_ids"].size(), "stop");
  stats({"-n", "1"}, " was", 1, "length");
  stats({"-n", "0"}, "", 0, "length");
}

BOOST_AUTO_TEST_CASE(a_context_that_is_too_small) {
  const Json& p = whole();
  const size_t prompt = p["ids"].size();
  expect_failure(1, "linnet-run", {"MODEL", prompt_of(p), "-c", std::to_string(prompt - 1), "--echo"},
                 {std::to_string(prompt), "context of " + std::to_string(prompt - 1)});
  // The prompt fits, and the reply fills the rest: told where a number of tokens was asked for.
  const std::vector<std::string> arguments = {"MODEL", prompt_of(p), "-c", std::to_string(prompt + 5)};
  std::vector<std::string> counted = arguments;
  counted.insert(counted.end(), {"-n", "50"});
  const Ran ran = run_program("linnet-run", counted);
  BOOST_TEST(ran.status == 0);
  BOOST_TEST(continuation_of(p).starts_with(ran.out));
  BOOST_TEST(ran.out.size() > 5u);
  BOOST_TEST(ran.err == "linnet-run: the context of " + std::to_string(prompt + 5) + " positions is full\n");
  BOOST_TEST(written(arguments) == ran.out);
}

struct BadOption {
  std::vector<std::string> arguments;
  std::vector<std::string> words;
};
std::ostream& operator<<(std::ostream& out, const BadOption& b) { return out << b.arguments[0] << ' ' << b.arguments[1]; }
const BadOption kBadOptions[] = {
    {{"--temperature", "-1"}, {"temperature is -1", "0 or more"}},
    {{"--temperature", "nan"}, {"temperature is nan"}},
    {{"--temperature", "inf"}, {"temperature is inf"}},
    {{"--top-p", "2"}, {"top_p is 2", "between 0 and 1"}},
    {{"--top-p", "-0.5"}, {"top_p is -0.5", "between 0 and 1"}},
    {{"--min-p", "1.5"}, {"min_p is 1.5", "between 0 and 1"}},
    {{"--repeat-penalty", "0"}, {"repetition_penalty is 0", "greater than 0"}},
    {{"--threads", "100000"}, {"threads is 100000", "256"}},
    {{"--context", "257"}, {"context is 257", "256"}},  // GPT-2's positions are learned
    {{"--isa", "sse9"}, {"sse9"}},
};
// Nothing is on stdout, not even what --echo and --print-ids would write.
BOOST_DATA_TEST_CASE(options_out_of_range, data::make(kBadOptions), bad) {
  for (const char* more : {"--echo", "--print-ids"}) {
    std::vector<std::string> arguments = {"MODEL", "Once upon a time", "-n", "3", more};
    arguments.insert(arguments.end(), bad.arguments.begin(), bad.arguments.end());
    expect_failure(1, "linnet-run", arguments, bad.words);
  }
}
BOOST_AUTO_TEST_CASE(negative_counts_of_tokens) {
  for (const char* n : {"-2", "-01", "+1"}) expect_failure(2, "linnet-run", {"MODEL", "a", "-n", n}, {"--max-tokens", n});
}

// A file without tokenizer runs on ids, and says so.
BOOST_AUTO_TEST_CASE(without_a_tokenizer) {
  const std::string model = convert_golden("gpt2-f16");
  const Json p = Json::parse(slurp(golden("gpt2-f16") / "expected.json"))["prompts"][0];
  const std::string ids = p["ids"].dump(), n = std::to_string(p["greedy_ids"].size());
  BOOST_TEST(Json::parse(written({model, "--ids", ids, "--print-ids", "-n", n})) == p["greedy_ids"]);
  expect_failure(1, "linnet-run", {model, "text"}, {model, "tokenizer", "--ids"});
  expect_failure(1, "linnet-run", {model, "--ids", ids}, {model, "tokenizer", "--print-ids"});
}

// On a terminal the shell's prompt begins on a line of its own.
BOOST_AUTO_TEST_CASE(a_terminal_gets_a_last_newline) {
  const Ran ran = run_program("linnet-run", {"MODEL", "The little fox", "-n", "1"}, {.out_is_terminal = true});
  BOOST_TEST(ran.status == 0);
  BOOST_TEST(ran.out == " was\r\n");
}

// Ctrl-C while text streams. The whole text is longer than what a pipe holds and the test reads before it interrupts.
BOOST_AUTO_TEST_CASE(interrupted_while_streaming) {
  const std::vector<std::string> arguments = {endless_model(), "Once upon a time", "--ignore-eos", "-n"};
  std::vector<std::string> endless = arguments, short_one = arguments;
  endless.insert(endless.end(), {"39000", "-c", "40000", "-t", "1"});
  short_one.push_back("800");
  const std::string text = written(short_one);
  const Ran ran = run_program("linnet-run", endless, {.interrupt_when = [](const Ran& so_far) { return so_far.out.size() >= 100; }});
  BOOST_TEST(ran.interrupted);
  BOOST_TEST(ran.status == 130, ran.status << ", signal " << ran.signal << ": " << ran.err);
  const size_t common = std::min(ran.out.size(), text.size());
  BOOST_TEST(common >= 100u);
  BOOST_TEST(ran.out.substr(0, common) == text.substr(0, common));
  BOOST_TEST(ran.out.size() < 39000u);                                                              // every token is a byte or more
  if (common < text.size()) BOOST_TEST((static_cast<unsigned char>(text[common]) & 0xC0) != 0x80);  // whole characters
}

BOOST_AUTO_TEST_SUITE_END()
