// linnet-score: how likely a model finds a text, and its logits for comparison with other programs.
#include <unistd.h>
#include <xxhash.h>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "common.h"

using namespace linnet;
using namespace linnet::programs;

namespace {

struct Options {
  ModelChoice model;
  std::string text, file, ids, logits;
  uint32_t threads = 0, chunk = 0;
  uint64_t context = 0;
  bool json = false, parse_special = false, no_special = false, per_token = false;
} o;
CLI::App app{"Scores a text: log-likelihood and perplexity of its tokens under a model", "linnet-score"};

// A file that is whole, under its name, or not there: written beside it, and named when it is closed. A device or a pipe takes the bytes directly.
class OutputFile {
 public:
  explicit OutputFile(std::string path) : path_(std::move(path)), name_(path_) {
    std::error_code error;
    const auto status = std::filesystem::status(path_, error);
    beside_ = !std::filesystem::exists(status) || std::filesystem::is_regular_file(status);
    if (std::filesystem::exists(status) && beside_) path_ = std::filesystem::canonical(path_, error).string();  // a link stays one
    written_ = path_;
    if (beside_) {
      const std::string name = ".linnet-score-" + std::to_string(::getpid()) + ".tmp";
      written_ = (std::filesystem::path(path_).parent_path() / name).string();
    }
    errno = 0;
    out_.open(written_, std::ios::binary);
    if (!out_) give_up();
  }
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile() {
    if (beside_) std::remove(written_.c_str());
  }
  void write(const void* data, size_t bytes) {
    errno = 0;
    if (!out_.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes))) give_up();
  }
  void close() {
    errno = 0;
    out_.close();
    if (!out_ || (beside_ && std::rename(written_.c_str(), path_.c_str()) != 0)) give_up();
    beside_ = false;
  }

 private:
  [[noreturn]] void give_up() const { fail("cannot write " + name_ + (errno ? std::string(": ") + std::strerror(errno) : "")); }

  std::string path_, name_, written_;
  bool beside_;
  std::ofstream out_;
};

// NumPy's .npy, version 1.0: float32, C order; the header is padded so that the data starts on 64 bytes.
class NpyWriter {
 public:
  NpyWriter(const std::string& path, size_t rows, size_t columns) : out_(path) {
    std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::to_string(rows) + ", " + std::to_string(columns) + "), }";
    header += std::string((64 - (10 + header.size() + 1) % 64) % 64, ' ') + "\n";
    const char magic[10] = {'\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0, static_cast<char>(header.size() & 255), static_cast<char>(header.size() >> 8)};
    out_.write(magic, sizeof magic);
    out_.write(header.data(), header.size());
  }
  void row(const float* data, size_t n) { out_.write(data, n * sizeof(float)); }
  void close() { out_.close(); }

 private:
  OutputFile out_;
};

double log_softmax(const float* logits, uint32_t n, int32_t token) {
  double most = logits[0], sum = 0;
  for (uint32_t i = 1; i < n; ++i) most = std::max(most, double{logits[i]});
  for (uint32_t i = 0; i < n; ++i) sum += std::exp(logits[i] - most);
  return logits[token] - most - std::log(sum);
}

std::vector<int32_t> tokens(const Model& model) {
  if (app.count("--ids")) return parse_ids(o.ids);
  const std::string text = app.count("TEXT") ? o.text : app.count("--file") ? read_file(o.file) : read_stdin();
  const Tokenizer tokenizer = check(Tokenizer::create(model));
  return check(tokenizer.encode(text, (o.no_special ? 0u : uint32_t{LINNET_ADD_SPECIAL}) | (o.parse_special ? uint32_t{LINNET_PARSE_SPECIAL} : 0u)));
}

int body() {
  Model model = open_model(o.model);
  const std::vector<int32_t> ids = tokens(model);
  if (ids.empty()) fail("there are no tokens to score");
  const uint32_t vocabulary = model.info().vocabulary;
  const uint32_t chunk = o.chunk ? o.chunk : 64;
  RunnerOptions options{.context = o.context ? o.context : ids.size(), .max_rows = chunk, .wanted_rows = chunk, .threads = o.threads};
  Runner runner = check(Runner::create(model, options));
  runner.cancel_on(&interrupted);
  Session session = check(Session::create(runner));
  std::optional<NpyWriter> npy;
  if (!o.logits.empty()) npy.emplace(o.logits, ids.size(), vocabulary);
  XXH3_state_t hash;
  XXH3_64bits_reset(&hash);
  double sum = 0;
  std::vector<double> each;
  for (size_t at = 0; at < ids.size();) {
    const auto rows = static_cast<uint32_t>(std::min<size_t>(chunk, ids.size() - at));
    const linnet_step_entry entry{session.get(), ids.data() + at, rows, LINNET_WANT_ALL};
    check(runner.step({&entry, 1}));
    uint64_t stride = 0;
    const auto logits = check(runner.logits(&stride));
    for (uint32_t i = 0; i < rows; ++i) {
      const float* row = logits.data() + i * stride;
      XXH3_64bits_update(&hash, row, vocabulary * sizeof(float));
      if (npy) npy->row(row, vocabulary);
      if (at + i + 1 < ids.size()) {
        const double p = log_softmax(row, vocabulary, ids[at + i + 1]);
        sum += p;
        if (o.per_token) each.push_back(p);
      }
    }
    at += rows;
  }
  if (npy) npy->close();
  char digest[17];
  std::snprintf(digest, sizeof digest, "%016llx", static_cast<unsigned long long>(XXH3_64bits_digest(&hash)));
  const size_t scored = ids.size() - 1;
  const double mean = scored ? sum / static_cast<double>(scored) : 0;
  if (o.json) {
    nlohmann::ordered_json out{
        {"tokens", ids.size()}, {"scored", scored}, {"log_likelihood", sum}, {"perplexity", std::exp(-mean)}, {"logits_xxh3", digest}};
    if (o.per_token) out["token_log_likelihoods"] = each;
    write_stdout(out.dump() + "\n");
  } else {
    char line[256];
    std::snprintf(line, sizeof line,
                  "tokens          %zu (the first has nothing before it: %zu scored)\nlog-likelihood  %.6f (natural log; %.6f a token)\nperplexity   "
                  "   %.6f\nlogits XXH3     %s\n",
                  ids.size(), scored, sum, mean, std::exp(-mean), digest);
    write_stdout(line);
  }
  return kOk;
}

}  // namespace

int main(int argc, char** argv) {
  describe(app,
           "  linnet-score story.linnet \"Once upon a time there was a bird.\"\n"
           "  linnet-score story.linnet -f text.txt --json\n"
           "  linnet-score story.linnet --ids 1,403,407 --logits logits.npy --isa scalar --threads 1");
  add_model(app, o.model);
  auto* text = app.add_option("TEXT", o.text, "the text; without TEXT, -f or --ids it is read from stdin");
  auto* file = app.add_option("-f,--file", o.file, "a file with the text")->excludes(text);
  app.add_option("--ids", o.ids, "token ids instead of text: 1,2,3 or a JSON array; - reads them from stdin")->excludes(text)->excludes(file);
  app.add_option("--logits", o.logits, "write the logits of every row to this .npy file (float32 [tokens, vocabulary])");
  app.add_flag("--json", o.json, "one JSON object on stdout");
  app.add_flag("--per-token", o.per_token, "with --json: the log-likelihood of each token");
  app.add_flag("--parse-special", o.parse_special, "text such as <s> means the control token");
  app.add_flag("--no-special", o.no_special, "do not add the tokenizer's own beginning or end tokens");
  app.add_option("--chunk", o.chunk, "tokens a step (0: 64); the logits do not depend on it")->capture_default_str();
  app.add_option("-c,--context", o.context, "positions to plan for; 0: as many as there are tokens")->capture_default_str();
  app.add_option("-t,--threads", o.threads, "0: the cores this process may use; the logits do not depend on it")->capture_default_str();
  add_kernels(app, o.model);
  add_kv_dtype(app, o.model);
  catch_interrupts();
  return run(app, argc, argv, body);
}
