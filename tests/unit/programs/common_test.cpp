// What holds for every program: help, version, usage errors, models that are none, a reader that goes away.
#include <boost/test/data/test_case.hpp>

#include "program.h"

using namespace linnet;
using namespace linnet::tests;
namespace data = boost::unit_test::data;

namespace {

const std::vector<std::string> kPrograms = {"linnet-bench", "linnet-convert", "linnet-inspect", "linnet-run", "linnet-score", "linnet-tokenize"};
const std::vector<std::string> kReaders = {"linnet-bench", "linnet-inspect", "linnet-run", "linnet-score", "linnet-tokenize"};  // of a .linnet file

struct NoModel {
  const char *name, *content, *says;
};
std::ostream& operator<<(std::ostream& out, const NoModel& m) { return out << m.name; }
const NoModel kNoModels[] = {
    {"missing.linnet", nullptr, "No such file"}, {"empty.linnet", "", "0 bytes"},
    {"short.linnet", "\x89LINNET\n", "8 bytes"}, {"text.linnet", "Once upon a time, in the village of Puddlewick", "bytes"},
    {"folder", nullptr, "linnet-convert"},
};

}  // namespace

BOOST_AUTO_TEST_SUITE(every_program)

BOOST_DATA_TEST_CASE(help_has_examples, data::make(kPrograms), program) {
  const std::string help = output_of(program, {"--help"});
  const size_t examples = help.find("\nExamples:\n");
  BOOST_REQUIRE(examples != std::string::npos);
  BOOST_TEST(holds(help.substr(examples), "\n  " + program + " "));
  BOOST_TEST(holds(help, "Usage: " + program + " "));
  BOOST_TEST(output_of(program, {"-h"}) == help);
}

BOOST_DATA_TEST_CASE(version, data::make(kPrograms), program) {
  BOOST_TEST(output_of(program, {"--version"}) == program + " " + linnet_version() + "\n");
}

BOOST_DATA_TEST_CASE(wrong_usage, data::make(kPrograms), program) {
  expect_failure(2, program, {}, {program == "linnet-convert" ? "SRC" : "MODEL", "required", "--help"});
  expect_failure(2, program, {"MODEL", "--no-such-option"}, {"--no-such-option", "--help"});
}

BOOST_DATA_TEST_CASE(keys_and_values_in_an_unknown_format, data::make({"linnet-bench", "linnet-inspect", "linnet-run", "linnet-score"}), program) {
  expect_failure(2, program, {"MODEL", "--kv-dtype", "bf16"}, {"--kv-dtype", "bf16"});
}

BOOST_DATA_TEST_CASE(files_that_are_no_models, data::make(kReaders) * data::make(kNoModels), program, file) {
  const TempDir t;
  const std::string path = t / file.name;
  if (file.content) spill(path, file.content);
  else if (std::string(file.name) == "folder") fs::create_directory(path);
  expect_failure(1, program, {path}, {path, file.says});
}

// `| head -1` that has read enough: no message, no signal; the status says that not everything was written.
BOOST_AUTO_TEST_CASE(a_reader_that_went_away) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> commands = {
      {"linnet-run", {"MODEL", "Once upon a time", "-n", "5"}},
      {"linnet-run", {"MODEL", "Once upon a time", "-n", "5", "--print-ids"}},
      {"linnet-score", {"MODEL", "Once upon a time"}},
      {"linnet-tokenize", {"MODEL", "Once upon a time"}},
      {"linnet-inspect", {"MODEL", "--tensors"}},
      {"linnet-inspect", {"MODEL", "--json"}},
  };
  for (const auto& [program, arguments] : commands) {
    const Ran ran = run_program(program, arguments, {.nobody_reads = true});
    BOOST_TEST(ran.status == 1, program << " ended with " << ran.status << ", signal " << ran.signal);
    BOOST_TEST(ran.err == "");
  }
}

// -t -1 and a number with too many digits must not become some other number.
BOOST_AUTO_TEST_CASE(numbers_that_are_none) {
  for (const char* number : {"-1", "99999999999999999999", "1.5", "x", ""}) {
    for (const char* option : {"--context", "--threads"})
      for (const auto& program : {"linnet-run", "linnet-score", "linnet-inspect"}) expect_failure(2, program, {"MODEL", option, number}, {option});
    for (const char* option : {"--seed", "--top-k", "--repeat-last-n", "--chunk"})
      expect_failure(2, "linnet-run", {"MODEL", option, number}, {option});
    if (std::string_view(number) != "-1") expect_failure(2, "linnet-run", {"MODEL", "--max-tokens", number}, {"--max-tokens"});
  }
}

// A folder, as a file or on stdin, is not an empty text.
BOOST_AUTO_TEST_CASE(texts_that_cannot_be_read) {
  const TempDir t;
  const std::string folder = t.path().string(), missing = t / "missing.txt";
  for (const char* program : {"linnet-run", "linnet-score", "linnet-tokenize"}) {
    expect_failure(1, program, {"MODEL", "-f", missing}, {missing, "No such file"});
    expect_failure(1, program, {"MODEL", "-f", folder}, {folder, "directory"});
    expect_failure(1, program, {"MODEL"}, {"standard input", "directory"}, {.stdin_path = folder});
  }
}

// Ctrl-C while a program waits for its input.
BOOST_AUTO_TEST_CASE(interrupted_while_reading) {
  const auto read = [](const Ran& so_far) { return so_far.input_taken; };
  for (const char* text : {" ", "[515, 501", "515, 501"})
    for (const char* program : {"linnet-run", "linnet-score"}) {
      const Ran ran = run_program(program, {"MODEL", "--ids", "-"}, {.input = text, .input_stays_open = true, .interrupt_when = read});
      BOOST_TEST(ran.interrupted);
      BOOST_TEST(ran.status == 130, program << " ended with " << ran.status << ", signal " << ran.signal << ": " << ran.err);
      BOOST_TEST(ran.out == "");
    }
}

// Wrong ids are refused in the same words wherever ids are taken.
BOOST_AUTO_TEST_CASE(ids_that_are_none) {
  for (const char* ids : {"1,2,x", "[1, 2", "[1] 2", "1 2", "{}", "[[1]]", "null", "1.5", "99999999999", "\"1\"", "\xff"}) {
    expect_failure(2, "linnet-run", {"MODEL", "--ids", ids}, {"token ids"});
    expect_failure(2, "linnet-run", {"MODEL", "--ids", "-"}, {"token ids"}, {.input = ids});
    expect_failure(2, "linnet-score", {"MODEL", "--ids", ids}, {"token ids"});
    expect_failure(2, "linnet-tokenize", {"MODEL", "--decode", ids}, {"token ids"});
    expect_failure(2, "linnet-tokenize", {"MODEL", "--decode"}, {"token ids"}, {.input = ids});
  }
  expect_failure(2, "linnet-run", {"MODEL", "--ids", "-"}, {"[515, 501"}, {.input = "[515, 501"});  // what was read, not where
  for (const char* ids : {"515,2048", "-1", "[515, -2147483648]"})
    for (const char* program : {"linnet-run", "linnet-score"}) expect_failure(1, program, {"MODEL", std::string("--ids=") + ids}, {"token", "2048"});
  expect_failure(1, "linnet-tokenize", {"MODEL", "--decode", "515,2048"}, {"2048"});
}

BOOST_AUTO_TEST_SUITE_END()
