// Runs the programs as a shell or a terminal would: their own process, their own streams, Ctrl-C.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support.h"

namespace linnet::tests {

// examples/models/linnet-tales, converted once (f32).
std::string model_path();

struct Ran {
  int status = -1;           // exit status; -1: a signal ended it
  int signal = 0;            // that signal
  bool interrupted = false;  // SIGINT was sent
  bool input_taken = false;  // all of stdin's text has been read
  std::string out, err;
};

struct Setting {
  std::string input = {};                                      // stdin, a pipe
  bool input_stays_open = false;                               // no end of file behind `input`
  std::string stdin_path = {};                                 // stdin is this file or folder instead
  std::string folder = {};                                     // working directory
  bool out_is_terminal = false, err_is_terminal = false;       // of 80 columns; what is written to it comes with \r\n
  bool nobody_reads = false;                                   // stdout is a pipe without a reader
  std::function<bool(const Ran& so_far)> interrupt_when = {};  // asked every few milliseconds, and whenever something was written
  int timeout_seconds = 60;                                    // then it is killed, and the test fails
};

// `name` is the program's, without its folder. An argument that is MODEL stands for model_path().
Ran run_program(const std::string& name, std::vector<std::string> arguments, const Setting& setting = {});

inline bool holds(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// Exit status 0 and nothing on stderr; returns stdout.
std::string output_of(const std::string& name, const std::vector<std::string>& arguments, const Setting& setting = {});

// That exit status, nothing on stdout, and one message on stderr, of the program's, that holds each of `words`.
void expect_failure(int status, const std::string& name, const std::vector<std::string>& arguments, const std::vector<std::string>& words,
                    const Setting& setting = {});

}  // namespace linnet::tests
