// linnet-run: continues a text, streaming whole characters.
#include <unistd.h>
#include <chrono>
#include <cstdio>

#include "common.h"

using namespace linnet;
using namespace linnet::programs;

namespace {

struct Options {
  ModelChoice model;
  std::string text, prompt, file, ids;
  std::vector<std::string> stop;
  int64_t max_tokens = -1;
  float temperature = 0, top_p = 1, min_p = 0, repeat_penalty = 1;
  uint32_t top_k = 0, repeat_last_n = 0, threads = 0, chunk = 0;
  uint64_t seed = 0, context = 0;
  bool print_ids = false, echo = false, stats = false, parse_special = false, ignore_eos = false;
} o;
CLI::App app{"Continues a text with a model, streaming the continuation to stdout", "linnet-run"};

std::string prompt_text() {
  if (app.count("TEXT")) return o.text;
  if (app.count("--prompt")) return o.prompt;
  if (app.count("--file")) return read_file(o.file);
  if (terminal(STDIN_FILENO)) std::fprintf(stderr, "linnet-run: reading the prompt from the terminal; end it with Ctrl-D\n");
  return read_stdin();
}

const char* reason(Finish f) {
  switch (f) {
    case Finish::stop: return "stop";
    case Finish::length: return "length";
    case Finish::context_full: return "context full";
    case Finish::cancelled: return "cancelled";
    case Finish::error: return "error";
    case Finish::none: break;
  }
  return "none";
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

int body() {
  const auto start = std::chrono::steady_clock::now();
  Model model = open_model(o.model);
  Runner runner = check(Runner::create(model, {.context = o.context, .max_rows = o.chunk, .threads = o.threads}));
  const double opened = seconds_since(start);
  Writer writer(runner);
  check(writer.status());
  std::vector<const char*> stops;
  for (const auto& s : o.stop) stops.push_back(s.c_str());
  const WriteOptions options{.max_tokens = o.max_tokens,
                             .temperature = o.temperature,
                             .top_k = o.top_k,
                             .top_p = o.top_p,
                             .min_p = o.min_p,
                             .repetition_penalty = o.repeat_penalty,
                             .penalty_window = o.repeat_last_n,
                             .seed = o.seed,
                             .stop = stops,
                             .parse_special = o.parse_special,
                             .ignore_eos = o.ignore_eos,
                             .cancel = &interrupted};
  const bool by_ids = app.count("--ids") > 0;
  const std::string prompt = by_ids ? "" : prompt_text();
  const std::vector<int32_t> ids = by_ids ? parse_ids(o.ids) : std::vector<int32_t>{};
  const bool has_text = model.info().tokenizer_bytes != 0;
  if (!has_text && !by_ids) fail(o.model.path + " has no tokenizer: give token ids with --ids, and --print-ids to see the answer");
  if (!has_text && !o.print_ids) fail(o.model.path + " has no tokenizer: add --print-ids to see the answer as token ids");
  auto reply = by_ids ? writer.complete_ids(ids, options) : writer.complete(prompt, options);
  if (reply.finish() == Finish::error) fail(reply.error());  // before anything is written
  if (o.echo && !o.print_ids) write_stdout(prompt);
  double first = 0;
  while (auto text = reply.next()) {
    if (first == 0) first = seconds_since(start);
    if (!o.print_ids) write_stdout(*text);
  }
  const double all = seconds_since(start);
  if (o.print_ids) write_stdout(ids_to_json(writer.tokens().data(), writer.tokens().size()) + "\n");
  else if (reply.finish() != Finish::error && terminal(STDOUT_FILENO)) write_stdout("\n");
  if (reply.finish() == Finish::error) fail(reply.error());
  if (o.stats) {
    const size_t n = writer.tokens().size();
    const uint64_t read = linnet_session_position(linnet_writer_session(writer.get()));
    const auto plan = runner.plan();
    std::fprintf(stderr,
                 "\n%zu tokens written (%s), %llu positions in the context; open %.1f ms, first text after %.1f ms, %.1f tokens/s behind it; %u "
                 "threads; %s planned, file %s\n",
                 n, reason(reply.finish()), static_cast<unsigned long long>(read), opened * 1e3, first * 1e3,
                 n > 1 && all > first ? static_cast<double>(n - 1) / (all - first) : 0.0, plan.threads, human_bytes(plan.total).c_str(),
                 human_bytes(model.info().file_bytes).c_str());
  }
  if (reply.finish() == Finish::context_full && o.max_tokens != -1)
    std::fprintf(stderr, "linnet-run: the context of %llu positions is full\n", static_cast<unsigned long long>(runner.plan().context));
  return reply.finish() == Finish::cancelled ? kInterrupted : kOk;
}

}  // namespace

int main(int argc, char** argv) {
  describe(app,
           "  linnet-run story.linnet \"Once upon a time\"\n"
           "  linnet-run story.linnet -f prompt.txt -n 200 --temperature 0.8 --top-p 0.95 --seed 7\n"
           "  echo \"The little fox\" | linnet-run story.linnet --stats\n"
           "  linnet-run story.linnet --ids 1,403,407 --print-ids -n 20");
  add_model(app, o.model);
  auto* text = app.add_option("TEXT", o.text, "the prompt; without one of TEXT, -p, -f, --ids it is read from stdin");
  auto* prompt = app.add_option("-p,--prompt", o.prompt, "the prompt")->excludes(text);
  auto* file = app.add_option("-f,--file", o.file, "a file with the prompt")->excludes(text)->excludes(prompt);
  app.add_option("--ids", o.ids, "the prompt as token ids: 1,2,3 or a JSON array; - reads them from stdin")
      ->excludes(text)
      ->excludes(prompt)
      ->excludes(file);
  app.add_flag("--print-ids", o.print_ids, "print the continuation's token ids as one JSON array, not its text");
  app.add_option("-n,--max-tokens", o.max_tokens, "tokens to write at most; -1: until an end token or a full context")
      ->check(CLI::Validator([](std::string& n) { return n == "-1" ? "" : refuse_number(n, INT64_MAX); }, ""))
      ->capture_default_str();
  app.add_option("--temperature,--temp", o.temperature, "0: always the most likely token")->capture_default_str();
  app.add_option("--top-k", o.top_k, "draw among the k most likely tokens; 0: all")->capture_default_str();
  app.add_option("--top-p", o.top_p, "draw among the most likely tokens that make up this probability")->capture_default_str();
  app.add_option("--min-p", o.min_p, "leave out tokens less likely than this share of the most likely")->capture_default_str();
  app.add_option("--repeat-penalty", o.repeat_penalty, "weaken tokens already seen; 1: off")->capture_default_str();
  app.add_option("--repeat-last-n", o.repeat_last_n, "tokens the penalty looks back at; 0: all")->capture_default_str();
  app.add_option("-s,--seed", o.seed, "the same seed gives the same text on every machine")->capture_default_str();
  app.add_option("--stop", o.stop, "end before this text (may be repeated)");
  app.add_option("-c,--context", o.context, "positions to plan for; 0: what the model was trained for, at most 4096")->capture_default_str();
  app.add_option("-t,--threads", o.threads, "0: the cores this process may use")->capture_default_str();
  app.add_option("--chunk", o.chunk, "prompt tokens a step; 0: 64")->capture_default_str();
  add_kernels(app, o.model);
  add_kv_dtype(app, o.model);
  app.add_flag("--echo", o.echo, "print the prompt too");
  app.add_flag("--parse-special", o.parse_special, "text such as <s> in the prompt means the control token");
  app.add_flag("--ignore-eos", o.ignore_eos, "do not stop at end tokens");
  app.add_flag("--stats", o.stats, "counts, speed and memory on stderr");
  catch_interrupts();
  return run(app, argc, argv, body);
}
