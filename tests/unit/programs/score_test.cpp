// linnet-score: its figures, its hash, its .npy file and how that file comes to be.
#include <cmath>
#include <nlohmann/json.hpp>

#include "program.h"

using namespace linnet;
using namespace linnet::tests;
using Json = nlohmann::json;

namespace {

const char* const kText = "Once upon a time, in the village of Puddlewick, there lived a little boy named Jasper.";

std::vector<int32_t> ids_of(const std::string& text) {
  Model model = need(Model::open(model_path()));
  return need(need(Tokenizer::create(model)).encode(text));
}

Json score(std::vector<std::string> arguments, const Setting& setting = {}) {
  arguments.push_back("--json");
  return Json::parse(output_of("linnet-score", arguments, setting));
}

// The log-likelihoods of the tokens behind the first, written down once more.
std::vector<double> log_likelihoods(const std::vector<std::vector<float>>& logits, const std::vector<int32_t>& ids) {
  std::vector<double> out;
  for (size_t i = 0; i + 1 < ids.size(); ++i) {
    double sum = 0;
    for (const float x : logits[i]) sum += std::exp(double{x} - logits[i][static_cast<size_t>(ids[i + 1])]);
    out.push_back(-std::log(sum));
  }
  return out;
}

struct Npy {
  size_t rows = 0, columns = 0;
  std::vector<float> data;
};
// Version 1.0 as NumPy describes it (numpy.lib.format), with exactly as much data as the header says.
Npy read_npy(const std::string& path) {
  const std::string bytes = slurp(path);
  BOOST_REQUIRE(bytes.size() > 10);
  BOOST_REQUIRE(bytes.starts_with(std::string("\x93NUMPY\x01\x00", 8)));
  const size_t length = static_cast<unsigned char>(bytes[8]) + 256u * static_cast<unsigned char>(bytes[9]), begin = 10 + length;
  BOOST_REQUIRE(begin <= bytes.size());
  BOOST_TEST(begin % 64 == 0u);
  const std::string header = bytes.substr(10, length);
  Npy npy;
  int end = 0;
  std::sscanf(header.c_str(), "{'descr': '<f4', 'fortran_order': False, 'shape': (%zu, %zu), } %n", &npy.rows, &npy.columns, &end);
  BOOST_REQUIRE_MESSAGE((end > 0 && static_cast<size_t>(end) == header.size() && header.back() == '\n'), header);
  BOOST_REQUIRE(bytes.size() - begin == npy.rows * npy.columns * sizeof(float));
  npy.data.resize(npy.rows * npy.columns);
  std::memcpy(npy.data.data(), bytes.data() + begin, bytes.size() - begin);
  return npy;
}

std::string comma_separated(const std::vector<int32_t>& ids) {
  const std::string array = Json(ids).dump();
  return array.substr(1, array.size() - 2);
}

// So many that the last of them is far away when the first rows are written.
const std::vector<int32_t>& many_ids() {
  static const std::vector<int32_t> ids = random_ids(30000, 61);
  return ids;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(score_program)

BOOST_AUTO_TEST_CASE(figures_are_those_of_the_logits) {
  const std::vector<int32_t> ids = ids_of(kText);
  const auto logits = all_logits(need(Model::open(model_path())), ids);
  const std::vector<double> each = log_likelihoods(logits, ids);
  double sum = 0;
  for (const double p : each) sum += p;

  const Json j = score({"MODEL", kText, "--per-token"});
  BOOST_TEST(j["tokens"] == ids.size());
  BOOST_TEST(j["scored"] == ids.size() - 1);
  BOOST_TEST(j["log_likelihood"].get<double>() == sum, boost::test_tools::tolerance(1e-9));
  BOOST_REQUIRE_EQUAL(j["token_log_likelihoods"].size(), each.size());
  for (size_t i = 0; i < each.size(); ++i) BOOST_TEST(std::abs(j["token_log_likelihoods"][i].get<double>() - each[i]) < 1e-9);
  BOOST_TEST(j["perplexity"].get<double>() == std::exp(-j["log_likelihood"].get<double>() / j["scored"].get<double>()),
             boost::test_tools::tolerance(1e-12));
  std::string bytes;
  for (const auto& row : logits) bytes.append(reinterpret_cast<const char*>(row.data()), row.size() * sizeof(float));
  char digest[17];
  std::snprintf(digest, sizeof digest, "%016llx", static_cast<unsigned long long>(XXH3_64bits(bytes.data(), bytes.size())));
  BOOST_TEST(j["logits_xxh3"] == digest);
  BOOST_TEST(!score({"MODEL", kText}).contains("token_log_likelihoods"));
}

BOOST_AUTO_TEST_CASE(the_table_says_the_same) {
  const Json j = score({"MODEL", kText});
  const std::string out = output_of("linnet-score", {"MODEL", kText});
  size_t tokens = 0, scored = 0;
  double sum = 0, mean = 0, perplexity = 0;
  char digest[32] = "";
  int end = 0;
  std::sscanf(out.c_str(),
              "tokens %zu (the first has nothing before it: %zu scored)\nlog-likelihood %lf (natural log; %lf a token)\nperplexity %lf\nlogits XXH3 "
              "%31s%n",
              &tokens, &scored, &sum, &mean, &perplexity, digest, &end);
  BOOST_REQUIRE_MESSAGE((end > 0 && out.substr(static_cast<size_t>(end)) == "\n"), out);
  BOOST_TEST(tokens == j["tokens"].get<size_t>());
  BOOST_TEST(scored == j["scored"].get<size_t>());
  BOOST_TEST(std::abs(sum - j["log_likelihood"].get<double>()) < 1e-6);
  BOOST_TEST(std::abs(mean - j["log_likelihood"].get<double>() / j["scored"].get<double>()) < 1e-6);
  BOOST_TEST(std::abs(perplexity - j["perplexity"].get<double>()) < 1e-6);
  BOOST_TEST(digest == j["logits_xxh3"].get<std::string>());
}

BOOST_AUTO_TEST_CASE(every_way_to_give_a_text) {
  const TempDir t;
  spill(t / "text.txt", kText);
  const std::vector<int32_t> ids = ids_of(kText);
  const Json j = score({"MODEL", kText});
  BOOST_TEST(score({"MODEL", "-f", t / "text.txt"}) == j);
  BOOST_TEST(score({"MODEL"}, {.input = kText}) == j);
  BOOST_TEST(score({"MODEL", "--ids", comma_separated(ids)}) == j);
  BOOST_TEST(score({"MODEL", "--ids", Json(ids).dump()}) == j);
  BOOST_TEST(score({"MODEL", "--ids", "-"}, {.input = Json(ids).dump()}) == j);
  BOOST_TEST(score({"MODEL", "--parse-special", "Once<|endoftext|>"}) == score({"MODEL", "--ids", comma_separated({ids[0], 0})}));
  BOOST_TEST(score({"MODEL", "Once<|endoftext|>"})["tokens"] > 2);
}

BOOST_AUTO_TEST_CASE(logits_do_not_depend_on_how_they_are_made) {
  const Json j = score({"MODEL", kText});
  for (const char* chunk : {"1", "7", "64", "0"})
    for (const char* threads : {"1", "2"}) BOOST_TEST(score({"MODEL", kText, "--chunk", chunk, "-t", threads}) == j);
  BOOST_TEST(score({"MODEL", kText, "--isa", "scalar", "-c", "200"}) == j);
  BOOST_TEST(score({"MODEL", std::string(kText) + " "})["logits_xxh3"] != j["logits_xxh3"]);
  const Json i8 = score({"MODEL", kText, "--kv-dtype", "i8"});
  BOOST_TEST(i8["logits_xxh3"] != j["logits_xxh3"]);
  BOOST_TEST(std::abs(i8["log_likelihood"].get<double>() - j["log_likelihood"].get<double>()) < 0.02 * std::abs(j["log_likelihood"].get<double>()));
}

// The .npy file holds what Hugging Face computes for the golden checkpoints.
BOOST_AUTO_TEST_CASE(a_file_of_logits) {
  const TempDir t;
  for (const char* name : {"gpt2-gelu-new", "llama-mha-no-kv-key"}) {
    const std::string model = convert_golden(name), path = t / "logits.npy";
    const Json expected = Json::parse(slurp(golden(name) / "expected.json"));
    for (const Json& p : expected["prompts"]) {
      // A file that is there is replaced.
      const Json j = score({model, "--ids", p["ids"].dump(), "--logits", path, "--chunk", "4"});
      BOOST_TEST((files_in(t.path()) == std::vector<std::string>{"logits.npy"}));
      const Npy npy = read_npy(path);
      BOOST_REQUIRE_EQUAL(npy.rows, p["ids"].size());
      BOOST_REQUIRE_EQUAL(npy.columns, p["logits"][0].size());
      char digest[17];
      std::snprintf(digest, sizeof digest, "%016llx", static_cast<unsigned long long>(XXH3_64bits(npy.data.data(), npy.data.size() * sizeof(float))));
      BOOST_TEST(j["logits_xxh3"] == digest);
      for (size_t i = 0; i < p["logit_rows"].size(); ++i) {
        const std::vector<float> row = p["logits"][i];
        float most = 0, off = 0;
        for (const float x : row) most = std::max(most, std::abs(x));
        for (size_t k = 0; k < row.size(); ++k) off = std::max(off, std::abs(row[k] - npy.data[p["logit_rows"][i].get<size_t>() * npy.columns + k]));
        BOOST_TEST(off <= 2e-5f * most, name << " row " << i << ": " << off << " of " << most);
      }
    }
  }
}

// A device takes the bytes as they come, and stays a device; a link stays a link.
BOOST_AUTO_TEST_CASE(logits_through_a_link_and_into_a_device) {
  const TempDir t;
  spill(t / "real.npy", "old");
  fs::create_symlink("real.npy", t / "link.npy");
  score({"MODEL", kText, "--logits", t / "link.npy"});
  BOOST_TEST(fs::is_symlink(t / "link.npy"));
  BOOST_TEST(read_npy(t / "real.npy").columns == 2048u);
  score({"MODEL", kText, "--logits", "/dev/null"});
  BOOST_TEST(fs::is_character_file("/dev/null"));
  const std::string both = output_of("linnet-score", {"MODEL", "Once", "--logits", "/dev/stdout"});
  BOOST_TEST((both.starts_with("\x93NUMPY") && holds(both, "tokens  ")));
}

// Whatever goes wrong, a file of logits is whole or not there, and an old one is as it was.
BOOST_AUTO_TEST_CASE(failures_leave_no_file) {
  const TempDir t;
  for (const bool old_file : {false, true}) {
    const std::string path = t / "logits.npy";
    if (old_file) spill(path, "old");
    expect_failure(1, "linnet-score", {"MODEL", kText, "-c", "10", "--chunk", "4", "--logits", path}, {"context", "10"});
    expect_failure(1, "linnet-score", {"MODEL", "--ids", "1,2,3,9999", "--chunk", "1", "--logits", path}, {"9999"});
    BOOST_TEST((files_in(t.path()) == (old_file ? std::vector<std::string>{"logits.npy"} : std::vector<std::string>{})));
    if (old_file) BOOST_TEST((slurp(path) == "old"));
  }
  expect_failure(1, "linnet-score", {"MODEL", kText, "--logits", t.path().string()}, {t.path().string(), "directory"});
  expect_failure(1, "linnet-score", {"MODEL", kText, "--logits", t / "no/logits.npy"}, {t / "no/logits.npy", "No such file"});
  expect_failure(1, "linnet-score", {"MODEL", kText, "--logits", "/dev/full"}, {"/dev/full", "No space"});
}

BOOST_AUTO_TEST_CASE(interrupted_while_writing_logits) {
  const std::string model = convert_golden("llama-minimal-config");
  for (const bool old_file : {false, true}) {
    const TempDir t;
    const std::string path = t / "logits.npy";
    if (old_file) spill(path, "old");
    const Ran ran =
        run_program("linnet-score", {model, "--ids", "-", "--logits", path},
                    {.input = Json(many_ids()).dump(), .interrupt_when = [&](const Ran&) { return files_in(t.path()).size() > old_file; }});
    BOOST_TEST(ran.interrupted);
    BOOST_TEST(ran.status == 130, ran.status << ", signal " << ran.signal << ": " << ran.err);
    BOOST_TEST(ran.out == "");
    BOOST_TEST((files_in(t.path()) == (old_file ? std::vector<std::string>{"logits.npy"} : std::vector<std::string>{})));
    if (old_file) BOOST_TEST((slurp(path) == "old"));
  }
}

BOOST_AUTO_TEST_CASE(too_few_tokens) {
  expect_failure(1, "linnet-score", {"MODEL", ""}, {"no tokens"});
  expect_failure(1, "linnet-score", {"MODEL", "--ids", "[]"}, {"no tokens"});
  // One token has nothing before it: nothing is scored, and nothing is a surprise.
  const Json j = score({"MODEL", "--ids", "5"});
  BOOST_TEST(j["scored"] == 0);
  BOOST_TEST(j["log_likelihood"] == 0.0);
  BOOST_TEST(j["perplexity"] == 1.0);
}

BOOST_AUTO_TEST_SUITE_END()
