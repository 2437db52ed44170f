// linnet-convert: a trained checkpoint becomes one .linnet file.
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <unistd.h>

#include "linnet/c.h"
#include "linnet/convert.h"

namespace {

volatile std::sig_atomic_t stop = 0;
static_assert(std::is_same_v<std::sig_atomic_t, int>, "the cancel flag is an int that a signal handler may set");

void on_signal(int) { stop = 1; }

constexpr char kAbout[] =
    "Converts a trained checkpoint (a Hugging Face folder: config.json, model.safetensors or shards and their index,\n"
    "tokenizer.json, generation_config.json) into one .linnet file.";
constexpr char kExamples[] =
    "Examples:\n"
    "  linnet-convert ./TinyLlama-1.1B                      # writes TinyLlama-1.1B-bf16.linnet, in the checkpoint's own dtype\n"
    "  linnet-convert ./gpt2 -o gpt2.linnet --dtype f16\n"
    "  linnet-run gpt2.linnet \"Once upon a time\"";

std::string size_text(uint64_t bytes) {
  const char* units[] = {"bytes", "KB", "MB", "GB", "TB"};
  double n = static_cast<double>(bytes);
  int unit = 0;
  for (; n >= 1000 && unit < 4; ++unit) n /= 1000;
  char text[32];
  std::snprintf(text, sizeof text, unit ? "%.1f %s" : "%.0f %s", n, units[unit]);
  return text;
}

// One line on a terminal, drawn again when a percent has passed.
class Bar {
 public:
  ~Bar() { clear(); }
  void draw(uint64_t done, uint64_t total, std::string_view tensor) {
    const int percent = total ? static_cast<int>(static_cast<double>(done) / static_cast<double>(total) * 100) : 100;
    if (percent == shown_) return;
    shown_ = percent;
    const std::string name(tensor.substr(0, 44));
    std::fprintf(stderr, "\r\033[K[%-30.*s] %3d%%  %s", percent * 30 / 100, "##############################", percent, name.c_str());
    std::fflush(stderr);
  }
  void clear() {
    if (shown_ >= 0) std::fputs("\r\033[K", stderr);
    shown_ = -1;
  }

 private:
  int shown_ = -1;
};

void print_json(const linnet::ConvertReport& r) {
  const nlohmann::ordered_json j = {{"output", r.output},
                                    {"bytes", r.bytes},
                                    {"parameters", r.parameters},
                                    {"dtype", linnet::dtype_name(r.dtype)},
                                    {"architecture", r.architecture},
                                    {"tokenizer", r.tokenizer},
                                    {"notes", r.notes}};
  std::printf("%s\n", j.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

void print_text(const linnet::ConvertReport& r) {
  for (const auto& note : r.notes) std::fprintf(stderr, "note: %s\n", note.c_str());
  const bool text = r.tokenizer != "none";
  std::printf("%s: %s, %llu parameters, %s, %s (%llu bytes)\n", r.output.c_str(), r.architecture.c_str(),
              static_cast<unsigned long long>(r.parameters), linnet::dtype_name(r.dtype), size_text(r.bytes).c_str(),
              static_cast<unsigned long long>(r.bytes));
  std::printf("tokenizer: %s\n", text ? r.tokenizer.c_str() : "none; the model takes and gives token ids");
  std::printf("next: linnet-run %s %s\n", r.output.c_str(), text ? "\"Once upon a time\"" : "--ids 1,2,3 --print-ids");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{kAbout, "linnet-convert"};
  linnet::ConvertOptions options;
  std::string dtype;
  bool no_tokenizer = false, json = false;
  app.add_option("SRC", options.source, "the checkpoint's folder")->required();
  app.add_option("-o,--output", options.output, "the file to write (default: NAME-DTYPE.linnet in the current folder)");
  app.add_option("--dtype", dtype, "of the weights: f32, f16 or bf16 (default: the checkpoint's own; f32 if its matrices differ)")
      ->check(CLI::IsMember({"f32", "f16", "bf16"}));
  app.add_flag("--force", options.force, "replace the file if it exists");
  app.add_flag("--no-tokenizer", no_tokenizer, "leave the tokenizer out");
  app.add_flag("--json", json, "print the report as JSON");
  app.set_version_flag("--version", std::string("linnet-convert ") + linnet_version());
  std::string families;
  for (const auto& f : linnet::convertible_architectures()) families += (families.empty() ? "" : ", ") + f;
  app.footer("Families: " + families + "\n\n" + kExamples +
             "\n\nExit status: 0 converted, 1 failed (nothing is left behind), 2 wrong usage, 130 interrupted.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);  // --help, --version
    std::fprintf(stderr, "linnet-convert: %s; see --help\n", e.what());
    return 2;
  }
  options.tokenizer = !no_tokenizer;
  if (!dtype.empty()) options.dtype = dtype == "f32" ? LINNET_F32 : dtype == "f16" ? LINNET_F16 : LINNET_BF16;

  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESETHAND | SA_RESTART;  // a second Ctrl-C ends the program at once
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  options.cancel = &stop;

  Bar bar;
  if (::isatty(STDERR_FILENO)) options.progress = [&](uint64_t done, uint64_t total, std::string_view tensor) { bar.draw(done, total, tensor); };
  linnet::ConvertReport report;
  linnet_error error;
  const linnet_code code = linnet::convert(options, &report, &error);
  bar.clear();
  if (code) {
    std::fprintf(stderr, "linnet-convert: %s\n", error.message);
    return code == LINNET_CANCELLED ? 130 : 1;
  }
  json ? print_json(report) : print_text(report);
  return 0;
}
