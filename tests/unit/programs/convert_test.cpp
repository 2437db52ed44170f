// linnet-convert: the name and the report of its file, what it refuses to replace, its progress bar, Ctrl-C.
#include <boost/test/data/test_case.hpp>
#include <nlohmann/json.hpp>

#include "program.h"
#include "tests/unit/converter/checkpoints.h"

using namespace linnet;
using namespace linnet::tests;
namespace data = boost::unit_test::data;

namespace {

const std::string kTales = LINNET_SOURCE_DIR "/examples/models/linnet-tales";

// A Llama checkpoint `name` in `t` whose weights are a gigabyte of zeros; the file is sparse. Interrupted, little of it is ever written.
std::string big_checkpoint(const TempDir& t, const std::string& name) {
  const uint64_t width = 8192, vocabulary = 65536;
  Json config = tiny_llama_config();
  config.update(Json{{"hidden_size", width}, {"num_hidden_layers", 1}, {"vocab_size", vocabulary}, {"tie_word_embeddings", true}});
  Json header;
  uint64_t at = 0;
  const auto add = [&](const std::string& tensor, std::vector<uint64_t> shape) {
    const uint64_t bytes = 2 * product(shape);
    header[tensor] = {{"dtype", "F16"}, {"shape", shape}, {"data_offsets", {at, at + bytes}}};
    at += bytes;
  };
  add("model.embed_tokens.weight", {vocabulary, width});
  const std::string l = "model.layers.0.";
  for (const char* norm : {"input_layernorm.weight", "post_attention_layernorm.weight"}) add(l + norm, {width});
  add(l + "self_attn.q_proj.weight", {12, width});
  for (const char* part : {"self_attn.k_proj.weight", "self_attn.v_proj.weight"}) add(l + part, {4, width});
  add(l + "self_attn.o_proj.weight", {width, 12});
  for (const char* part : {"mlp.gate_proj.weight", "mlp.up_proj.weight"}) add(l + part, {5, width});
  add(l + "mlp.down_proj.weight", {width, 5});
  add("model.norm.weight", {width});
  const std::string folder = t / name;
  fs::create_directories(folder);
  spill(folder + "/config.json", config.dump());
  spill(folder + "/model.safetensors", safetensors(header.dump(), ""));
  fs::resize_file(folder + "/model.safetensors", fs::file_size(folder + "/model.safetensors") + at);
  return folder;
}

// What a terminal shows of a line that is drawn again and again.
std::vector<std::string> drawings(const std::string& text) {
  std::vector<std::string> out;
  const std::string clear = "\r\033[K";
  for (size_t at = text.find(clear); at != std::string::npos;) {
    const size_t next = text.find(clear, at + clear.size());
    out.push_back(text.substr(at + clear.size(), next == std::string::npos ? next : next - at - clear.size()));
    at = next;
  }
  return out;
}

struct Named {
  std::string source;  // relative to the working folder, which holds the checkpoint "m"
  std::vector<std::string> more;
  std::string file;
};
std::ostream& operator<<(std::ostream& out, const Named& n) { return out << n.source << " -> " << n.file; }
const Named kNamed[] = {
    {"m", {}, "m-f32.linnet"},
    {"m/", {}, "m-f32.linnet"},
    {"./m", {"--dtype", "f16"}, "m-f16.linnet"},
    {"m", {"--dtype", "bf16"}, "m-bf16.linnet"},
    {"m", {"-o", "other.bin"}, "other.bin"},
    {"m", {"--output", "m/inside.linnet"}, "m/inside.linnet"},
};

struct Refused {
  const char* source;
  std::vector<std::string> words;
};
std::ostream& operator<<(std::ostream& out, const Refused& r) { return out << r.source; }
const Refused kRefused[] = {
    {"missing", {"missing", "No such file"}},
    {"empty", {"empty", "config.json"}},
    {"file.txt", {"file.txt"}},
    {"broken", {"config.json"}},
};

}  // namespace

BOOST_AUTO_TEST_SUITE(convert_program)

BOOST_DATA_TEST_CASE(the_name_of_the_file, data::make(kNamed), named) {
  const TempDir t;
  fs::create_directories(t / "m");
  for (const char* file : {"config.json", "model.safetensors"}) fs::copy_file(golden("llama-minimal-config") / file, t / (std::string("m/") + file));
  std::vector<std::string> arguments = {named.source};
  arguments.insert(arguments.end(), named.more.begin(), named.more.end());
  const std::string out = output_of("linnet-convert", arguments, {.folder = t.path().string()});
  BOOST_TEST(out.starts_with(named.file + ": llama, "), out);
  BOOST_TEST(holds(out, "(" + std::to_string(fs::file_size(t / named.file)) + " bytes)"), out);
  BOOST_TEST(holds(out, "next: linnet-run " + named.file + " --ids"), out);
  BOOST_TEST(need(Model::open(t / named.file)).info().name == std::string("m"));
  BOOST_TEST(files_in(t.path()).size() == (named.file.starts_with("m/") ? 1u : 2u));
}

// What the program writes is what the library writes, and what it says is so.
BOOST_AUTO_TEST_CASE(the_report) {
  const TempDir t;
  const std::string path = t / "tales.linnet";
  const Json j = Json::parse(output_of("linnet-convert", {kTales, "-o", path, "--dtype", "f32", "--json"}));
  BOOST_TEST((slurp(path) == slurp(model_path())));
  const Json expected = {{"output", path},         {"bytes", fs::file_size(path)},  {"parameters", 1484800}, {"dtype", "f32"},
                         {"architecture", "gpt2"}, {"tokenizer", "byte-level BPE"}, {"notes", Json::array()}};
  BOOST_TEST(j == expected);
  const std::string text = output_of("linnet-convert", {kTales, "-o", t / "own.linnet"});
  BOOST_TEST(holds(text, ": gpt2, 1484800 parameters, f16, "), text);
  BOOST_TEST(holds(text, "tokenizer: byte-level BPE\n"), text);
  const std::string without = output_of("linnet-convert", {kTales, "-o", t / "ids.linnet", "--no-tokenizer"});
  BOOST_TEST(holds(without, "tokenizer: none"), without);
  BOOST_TEST(need(Model::open(t / "ids.linnet")).info().tokenizer_bytes == 0u);
}

BOOST_AUTO_TEST_CASE(an_existing_file_is_kept_unless_forced) {
  const TempDir t;
  const std::string path = t / "tales.linnet";
  spill(path, "old");
  expect_failure(1, "linnet-convert", {kTales, "-o", path}, {path, "exists", "--force"});
  BOOST_TEST((slurp(path) == "old"));
  BOOST_TEST(output_of("linnet-convert", {kTales, "-o", path, "--force"}).starts_with(path));
  BOOST_TEST(need(Model::open(path)).info().name == std::string("linnet-tales"));
  BOOST_TEST((files_in(t.path()) == std::vector<std::string>{"tales.linnet"}));
}

BOOST_DATA_TEST_CASE(sources_that_are_no_checkpoint, data::make(kRefused), refused) {
  const TempDir t;
  for (const char* folder : {"empty", "broken"}) fs::create_directory(t / folder);
  spill(t / "file.txt", "Once upon a time");
  spill(t / "broken/config.json", "{\"model_type\": ");
  spill(t / "broken/model.safetensors", "");
  const auto before = files_in(t.path());
  expect_failure(1, "linnet-convert", {refused.source}, refused.words, {.folder = t.path().string()});
  BOOST_TEST((files_in(t.path()) == before));
}
BOOST_AUTO_TEST_CASE(other_refusals) {
  const TempDir t;
  expect_failure(1, "linnet-convert", {"MODEL", "-o", t / "x"}, {model_path(), "converted already"});
  expect_failure(1, "linnet-convert", {kTales, "-o", t / "no/x.linnet"}, {t / "no"});
  expect_failure(1, "linnet-convert", {kTales, "-o", t.path().string()}, {t.path().string(), "folder"});
  expect_failure(2, "linnet-convert", {kTales, "-o", t / "x", "--dtype", "i9"}, {"--dtype", "i9"});
  BOOST_TEST(files_in(t.path()).empty());
}

// Not read, but told: the file is there, so that this is no failure.
BOOST_AUTO_TEST_CASE(nobody_reads_the_report) {
  const TempDir t;
  const Ran ran = run_program("linnet-convert", {kTales, "-o", t / "tales.linnet"}, {.nobody_reads = true});
  BOOST_TEST(ran.status == 0, ran.status << ", signal " << ran.signal);
  BOOST_TEST(ran.err == "");
  need(need(Model::open(t / "tales.linnet")).verify());
}

BOOST_AUTO_TEST_CASE(a_bar_on_terminals_only) {
  const TempDir t;
  const std::vector<std::string> arguments = {kTales, "-o", t / "tales.linnet", "--force"};
  const std::string out = output_of("linnet-convert", arguments);  // of which nothing is on stderr
  const Ran shown = run_program("linnet-convert", arguments, {.err_is_terminal = true});
  BOOST_TEST(shown.status == 0);
  BOOST_TEST(shown.out == out);
  const std::vector<std::string> lines = drawings(shown.err);
  BOOST_REQUIRE(lines.size() > 10u);
  BOOST_TEST(lines.back() == "");  // nothing of it stays
  BOOST_TEST(lines[lines.size() - 2].starts_with("[##############################] 100%"), lines[lines.size() - 2]);
  int last = -1;
  for (size_t i = 0; i + 1 < lines.size(); ++i) {
    const int percent = std::stoi(lines[i].substr(lines[i].find(']') + 1));
    BOOST_TEST(percent > last);  // it is drawn for a reason
    last = percent;
  }
  // A terminal for the report, and a file for messages.
  BOOST_TEST(run_program("linnet-convert", arguments, {.out_is_terminal = true}).err == "");
}

// Ctrl-C in the middle: the test sees the temporary file and interrupts; what is left of a gigabyte takes much longer.
BOOST_AUTO_TEST_CASE(interrupted_while_writing) {
  const TempDir t;
  const std::string source = big_checkpoint(t, "m");
  for (const bool old_file : {false, true}) {
    fs::create_directory(t / "out");
    const std::string path = t / "out/m.linnet";
    if (old_file) spill(path, "old");
    const std::vector<std::string> left = old_file ? std::vector<std::string>{"m.linnet"} : std::vector<std::string>{};
    const Ran ran =
        run_program("linnet-convert", {source, "-o", path, "--force"}, {.interrupt_when = [&](const Ran&) { return files_in(t / "out") != left; }});
    BOOST_TEST(ran.interrupted);
    BOOST_TEST(ran.status == 130, ran.status << ", signal " << ran.signal << ": " << ran.err);
    BOOST_TEST(ran.out == "");
    BOOST_TEST(ran.err.starts_with("linnet-convert: "), ran.err);
    BOOST_TEST(holds(ran.err, "cancelled"), ran.err);
    BOOST_TEST((files_in(t / "out") == left));
    if (old_file) BOOST_TEST((slurp(path) == "old"));
    fs::remove_all(t / "out");
  }
}

// On a terminal the bar goes before the message comes.
BOOST_AUTO_TEST_CASE(interrupted_with_a_bar) {
  const TempDir t;
  const std::string source = big_checkpoint(t, "m");
  const Ran ran = run_program("linnet-convert", {source, "-o", t / "m.linnet"},
                              {.err_is_terminal = true, .interrupt_when = [](const Ran& so_far) { return holds(so_far.err, "%"); }});
  BOOST_TEST(ran.interrupted);
  BOOST_TEST(ran.status == 130, ran.status << ", signal " << ran.signal << ": " << ran.err);
  const std::vector<std::string> lines = drawings(ran.err);
  BOOST_REQUIRE(lines.size() >= 2u);
  BOOST_TEST(lines[0].starts_with("["));
  BOOST_TEST(lines.back().starts_with("linnet-convert: "), lines.back());
  BOOST_TEST((files_in(t.path()) == std::vector<std::string>{"m"}));
}

// One that wraps is not drawn over.
BOOST_AUTO_TEST_CASE(a_bar_of_long_names_fits_a_terminal) {
  const TempDir t;
  fs::create_directories(t / "m");
  for (const char* file : {"config.json", "model.safetensors"}) fs::copy_file(golden("llama-12-layers") / file, t / (std::string("m/") + file));
  const Ran ran = run_program("linnet-convert", {t / "m", "-o", t / "m.linnet"}, {.err_is_terminal = true});
  BOOST_TEST(ran.status == 0);
  size_t longest = 0;
  for (const std::string& line : drawings(ran.err)) longest = std::max(longest, line.find('\r') == std::string::npos ? line.size() : line.find('\r'));
  BOOST_TEST(longest > 60u);
  BOOST_TEST(longest < 80u);
}

BOOST_AUTO_TEST_SUITE_END()
