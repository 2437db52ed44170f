// What the programs share: exit statuses, errors on stderr, Ctrl-C, reading inputs.
#pragma once
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "CLI/CLI.hpp"
#include "linnet/linnet.h"

namespace linnet::programs {

enum Exit : int { kOk = 0, kFailed = 1, kUsage = 2, kInterrupted = 130 };

// A failure that ends the program: thrown, caught by run(), printed as one line.
struct Failure {
  std::string message;
  int status = kFailed;
};
[[noreturn]] void fail(std::string message, int status = kFailed);
[[noreturn]] void fail(const Status& error);

template <typename T>
T check(Result<T> result) {
  if (!result) fail(result.error());
  return std::move(*result);
}
inline void check(const Status& status) {
  if (!status.ok()) fail(status);
}

// Parses the command line, runs body, and turns usage errors, failures and exceptions into messages and an exit status.
int run(CLI::App& app, int argc, char** argv, int (*body)());
// CLI11 takes an empty argument for 0, and a sign or too many digits for some other number. What is wrong with text as a whole number up to
// most, or "". run() asks it about all unsigned options.
std::string refuse_number(const std::string& text, uint64_t most);
// --version and the examples of --help.
void describe(CLI::App& app, const std::string& examples);

// Becomes 1 at the first Ctrl-C or SIGTERM; the second one ends the program at once.
extern std::atomic<int> interrupted;
void catch_interrupts();

bool terminal(int fd);
// Whole, or Failure; after Ctrl-C with status 130.
std::string read_stdin();
std::string read_file(const std::string& path);
void write_stdout(std::string_view text);  // whole, or Failure; a pipe whose reader went away ends the program quietly, with kFailed

// "1,2,3" or a JSON array; "-": from stdin.
std::vector<int32_t> parse_ids(const std::string& text);
std::string ids_to_json(const int32_t* ids, size_t count);

// Which model, and how: "" for isa is the best for this processor, for kv_dtype what the file says.
struct ModelChoice {
  std::string path, isa, kv_dtype;
};
void add_model(CLI::App& app, ModelChoice& choice);     // MODEL
void add_kernels(CLI::App& app, ModelChoice& choice);   // --isa
void add_kv_dtype(CLI::App& app, ModelChoice& choice);  // --kv-dtype
// Through the programs' allocator (mimalloc where it was built in).
Model open_model(const ModelChoice& choice);

const char* dtype_name(uint8_t dtype);  // "f16"

// Fit for a terminal: a stranger's file may name its tensors in escape sequences. Control characters but newlines become '?'.
std::string printable(std::string text);

std::string human_bytes(uint64_t bytes);

}  // namespace linnet::programs
