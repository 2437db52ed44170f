// linnet-convert: a trained checkpoint becomes one .linnet file.
#include <unistd.h>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "common.h"
#include "linnet/convert.h"

using namespace linnet;
using namespace linnet::programs;

namespace {

constexpr linnet_dtype kDtypes[] = {LINNET_F32, LINNET_F16, LINNET_BF16, LINNET_I8, LINNET_I4};
ConvertOptions options;
std::string dtype;
bool no_tokenizer = false, json = false;
CLI::App app{
    "Converts a trained checkpoint (a Hugging Face folder: config.json, model.safetensors or shards and their index,\n"
    "tokenizer.json, generation_config.json) into one .linnet file",
    "linnet-convert"};

// One line on a terminal, drawn again when a percent has passed. It fits into 80 columns: one that wraps is not drawn over.
class Bar {
 public:
  ~Bar() { clear(); }
  void draw(uint64_t done, uint64_t total, std::string_view tensor) {
    const int percent = total ? static_cast<int>(static_cast<double>(done) / static_cast<double>(total) * 100) : 100;
    if (percent == shown_) return;
    shown_ = percent;
    const std::string name(tensor.substr(0, 39));
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

void print_json(const ConvertReport& r) {
  const nlohmann::ordered_json j = {{"output", r.output},
                                    {"bytes", r.bytes},
                                    {"parameters", r.parameters},
                                    {"dtype", dtype_name(r.dtype)},
                                    {"architecture", r.architecture},
                                    {"tokenizer", r.tokenizer},
                                    {"notes", r.notes}};
  write_stdout(j.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

void print_text(const ConvertReport& r) {
  for (const auto& note : r.notes) std::fprintf(stderr, "note: %s\n", note.c_str());
  const bool text = r.tokenizer != "none";
  write_stdout(r.output + ": " + r.architecture + ", " + std::to_string(r.parameters) + " parameters, " + dtype_name(r.dtype) + ", " +
               human_bytes(r.bytes) + " (" + std::to_string(r.bytes) + " bytes)\n" +
               "tokenizer: " + (text ? r.tokenizer : "none; the model takes and gives token ids") + "\n" +
               "next: linnet-run " + r.output + (text ? " \"Once upon a time\"\n" : " --ids 1,2,3 --print-ids\n"));
}

int convert_it() {
  options.tokenizer = !no_tokenizer;
  for (const linnet_dtype d : kDtypes)
    if (dtype == dtype_name(d)) options.dtype = d;
  options.cancel = detail::flag(&interrupted);
  catch_interrupts();
  Bar bar;
  if (terminal(STDERR_FILENO)) options.progress = [&](uint64_t done, uint64_t total, std::string_view tensor) { bar.draw(done, total, tensor); };
  ConvertReport report;
  const Status status = detail::status([&](linnet_error* e) { return convert(options, &report, e); });
  bar.clear();
  check(status);
  try {
    json ? print_json(report) : print_text(report);
  } catch (const Failure& e) {
    if (!e.message.empty()) throw;  // else nobody reads the report; the file is there all the same
  }
  return kOk;
}

}  // namespace

int main(int argc, char** argv) {
  app.add_option("SRC", options.source, "the checkpoint's folder")->required();
  app.add_option("-o,--output", options.output, "the file to write (default: NAME-DTYPE.linnet in the current folder)");
  app.add_option("--dtype", dtype,
                 "of the matrices: f32, f16, bf16, i8 (8.5 bits a weight) or i4 (4.5); default: the checkpoint's own, f32 if its matrices differ")
      ->check(CLI::IsMember({"f32", "f16", "bf16", "i8", "i4"}));
  app.add_flag("--pure", options.pure, "every matrix alike (else i4 keeps at i8 what suffers most for its size)");
  app.add_option("--calibrate", options.calibrate,
                 "i8, i4: a text (or token ids, if its name ends in .json) like those the model will read; the errors that it would notice are kept small");
  app.add_option("-t,--threads", options.threads, "that quantize; 0: the processors this process may use (the file is the same)")
      ->capture_default_str();
  app.add_flag("--force", options.force, "replace the file if it exists");
  app.add_flag("--no-tokenizer", no_tokenizer, "leave the tokenizer out");
  app.add_flag("--json", json, "print the report as JSON");
  std::string families;
  for (const auto& f : convertible_architectures()) families += (families.empty() ? "" : ", ") + f;
  describe(app,
           "  linnet-convert ./TinyLlama-1.1B                      # writes TinyLlama-1.1B-bf16.linnet, in the checkpoint's own dtype\n"
           "  linnet-convert ./gpt2 -o gpt2.linnet --dtype f16\n"
           "  linnet-convert ./TinyLlama-1.1B --dtype i4           # linnet-inspect --tensors shows what each tensor got, and why\n"
           "  linnet-convert ./gpt2 --dtype i4 --calibrate book.txt  # closer to the checkpoint at the same size; takes longer\n"
           "  linnet-run gpt2.linnet \"Once upon a time\"\n\n"
           "Families: " + families + "\n\n"
           "Exit status: 0 converted, 1 failed (nothing is left behind), 2 wrong usage, 130 interrupted.");
  return run(app, argc, argv, convert_it);
}
