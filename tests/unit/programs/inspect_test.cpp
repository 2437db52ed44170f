// linnet-inspect: what it lists is what the API says, and a damaged file is found.
#include <boost/test/data/test_case.hpp>
#include <nlohmann/json.hpp>
#include <xxhash.h>

#include "program.h"
#include "runtime/container.h"

using namespace linnet;
using namespace linnet::tests;
namespace data = boost::unit_test::data;
using Json = nlohmann::json;

namespace {

std::string inspect(std::vector<std::string> more) {
  more.insert(more.begin(), "MODEL");
  return output_of("linnet-inspect", more);
}

// "key    value" lines.
std::map<std::string, std::string> table(const std::string& text) {
  std::map<std::string, std::string> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t space = line.find(' '), value = line.find_first_not_of(' ', space);
    BOOST_REQUIRE_MESSAGE(value != std::string::npos, line);
    out[line.substr(0, space)] = line.substr(value);
  }
  return out;
}

const detail::Section& section(const std::string& file, detail::SectionKind kind) {
  const auto* header = reinterpret_cast<const detail::Header*>(file.data());
  for (const auto& s : header->sections)
    if (s.kind == static_cast<uint32_t>(kind)) return s;
  BOOST_FAIL("no such section");
  throw std::logic_error("unreachable");
}

struct Planned {
  std::vector<std::string> arguments;
  RunnerOptions options;
  std::optional<linnet_dtype> kv_dtype = {};
};
std::ostream& operator<<(std::ostream& out, const Planned& p) {
  for (const auto& a : p.arguments) out << a << ' ';
  return out;
}
const Planned kPlanned[] = {
    {{"-t", "1"}, {.threads = 1}},
    {{"--context", "100", "--threads", "1"}, {.context = 100, .threads = 1}},
    {{"-c", "200", "--max-rows", "8", "-t", "2"}, {.context = 200, .max_rows = 8, .threads = 2}},
    {{"--sessions", "3", "--wanted-rows", "5", "--max-rows", "6", "-t", "3"}, {.max_rows = 6, .sessions = 3, .wanted_rows = 5, .threads = 3}},
    {{"--sessions", "3", "--pages", "7", "-t", "1"}, {.sessions = 3, .pages = 7, .threads = 1}},
    {{"--kv-dtype", "f16", "-t", "1"}, {.threads = 1}, LINNET_F16},
    {{"--kv-dtype", "i8", "-t", "1"}, {.threads = 1}, LINNET_I8},
};

}  // namespace

BOOST_AUTO_TEST_SUITE(inspect_program)

BOOST_AUTO_TEST_CASE(metadata) {
  const Json config = Json::parse(slurp(LINNET_SOURCE_DIR "/examples/models/linnet-tales/config.json"));
  const Json j = Json::parse(inspect({"--json"}));
  BOOST_TEST(j["file"] == model_path());
  BOOST_TEST(j["name"] == "linnet-tales");
  BOOST_TEST(j["architecture"] == config["model_type"]);
  BOOST_TEST(j["file_bytes"] == fs::file_size(model_path()));
  BOOST_TEST(j["parameters"] == 1484800);  // examples/models/README.md
  BOOST_TEST(j["vocabulary"] == config["vocab_size"]);
  BOOST_TEST(j["context_trained"] == config["n_positions"]);
  BOOST_TEST(j["context_limit"] == config["n_positions"]);
  BOOST_TEST(j["bos"] == config["bos_token_id"]);
  BOOST_TEST(j["eos"] == Json({config["eos_token_id"]}));
  BOOST_TEST(j["pad"] == nullptr);
  BOOST_TEST(j["states"] == config["n_layer"]);
  const std::string file = slurp(model_path());
  BOOST_TEST(j["weight_bytes"] == section(file, detail::SectionKind::weights).bytes);
  BOOST_TEST(j["tokenizer_bytes"] == section(file, detail::SectionKind::tokenizer).bytes);
  for (const char* only_if_asked : {"graph", "plan", "tensor_list", "verified"}) BOOST_TEST(!j.contains(only_if_asked), only_if_asked);

  auto lines = table(inspect({}));
  BOOST_TEST(lines.size() == j.size());
  for (const auto& [key, value] : j.items())
    BOOST_TEST(lines[key] == (value.is_string() ? value.get<std::string>() : value.is_null() ? "-" : value.dump()), key);
}

BOOST_AUTO_TEST_CASE(tensors) {
  Model model = need(Model::open(model_path()));
  const Json list = Json::parse(inspect({"--tensors", "--json"}))["tensor_list"];
  const std::string lines = inspect({"--tensors"});
  BOOST_TEST(static_cast<size_t>(std::count(lines.begin(), lines.end(), '\n')) == list.size());
  uint32_t i = 0;
  for (; const linnet_tensor* t = linnet_model_tensor(model.get(), i); ++i) {
    BOOST_REQUIRE(i < list.size());
    BOOST_TEST(list[i]["name"] == t->name);
    BOOST_TEST(list[i]["bytes"] == t->bytes);
    BOOST_TEST(holds(lines, "  " + std::string(t->name) + "\n"), t->name);
  }
  BOOST_TEST(i == list.size());
  BOOST_TEST(
      list[0] ==
      Json({{"name", "transformer.wte.weight"}, {"dtype", "f32"}, {"layout", "r16"}, {"shape", {2048, 128}}, {"bytes", 1048576}, {"note", ""}}));
  BOOST_TEST(holds(lines, " f32  plain [256, 128]                 131072  transformer.wpe.weight\n"));
}

BOOST_AUTO_TEST_CASE(graph) {
  Model model = need(Model::open(model_path()));
  const std::string text = inspect({"--graph"});
  BOOST_TEST(Json::parse(inspect({"--graph", "--json"}))["graph"] == text);
  BOOST_TEST(text.starts_with("graph model(tokens: i32 [T, 1]) -> (logits: f32 [R, 2048])\n"));
  BOOST_TEST(holds(text, "     0  x = embedding(tokens, transformer.wte.weight, transformer.wpe.weight; scale=1)\n"));
  BOOST_TEST(
      holds(text, "layers.5.attention = attention(layers.5.q, layers.5.k, layers.5.v, -, state layers.5.kv; heads=4, kv_heads=4, head_dim=32, "));
  BOOST_TEST(holds(text, "  -> attention\n"));
  BOOST_TEST(holds(text, "wanted = select_rows(layers.5.x2)\n"));
  BOOST_TEST(holds(text, "\nbody attention("));
  BOOST_TEST(holds(text, "\nbody feed_forward("));
  BOOST_TEST(holds(text, "state layers.0.kv: f32 128 panels, f32 128 rows; " + std::to_string(64 * 2 * 128 * 4) + " bytes a page of 64 positions\n"));
  // A line a node, a function and a state, and an empty one before each body and the states.
  size_t expected = 0, functions = 0;
  for (; const linnet_function* f = linnet_model_function(model.get(), static_cast<uint32_t>(functions)); ++functions) expected += f->nodes;
  expected += 2 * functions + 6;
  BOOST_TEST(static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) == expected);
}

BOOST_DATA_TEST_CASE(a_plan_is_the_apis, data::make(kPlanned), planned) {
  const linnet_plan p = need(plan(need(Model::open(model_path(), {.kv_dtype = planned.kv_dtype})), planned.options));
  std::vector<std::string> arguments = {"--plan"};
  arguments.insert(arguments.end(), planned.arguments.begin(), planned.arguments.end());
  auto lines = table(inspect(arguments));
  arguments.push_back("--json");
  const Json j = Json::parse(inspect(arguments))["plan"];
  const std::map<std::string, uint64_t> expected = {
      {"context", p.context},         {"max_rows", p.max_rows},     {"sessions", p.session_count},  {"pages", p.pages},
      {"wanted_rows", p.wanted_rows}, {"threads", p.threads},       {"total_bytes", p.total},       {"arena_bytes", p.arena},
      {"states_bytes", p.states},     {"scratch_bytes", p.scratch}, {"sessions_bytes", p.sessions}, {"runner_bytes", p.runner},
  };
  BOOST_TEST(lines.size() == expected.size());
  for (const auto& [key, value] : expected) {
    BOOST_TEST(j[key] == value, key << " " << j[key]);
    BOOST_TEST(lines[key] == std::to_string(value), key << " " << lines[key]);
  }
  BOOST_TEST(p.total == p.arena + p.states + p.scratch + p.sessions + p.runner);
}
BOOST_AUTO_TEST_CASE(a_plan_that_cannot_be) {
  expect_failure(1, "linnet-inspect", {"MODEL", "--plan", "-c", "257"}, {"context is 257", "256"});
  expect_failure(1, "linnet-inspect", {"MODEL", "--plan", "--json", "-t", "1000"}, {"threads is 1000"});
}

BOOST_AUTO_TEST_CASE(a_good_file_is_whole) {
  BOOST_TEST(inspect({"--verify"}) == model_path() + ": every byte is as it was written\n");
  BOOST_TEST(Json::parse(inspect({"--verify", "--json"}))["verified"] == true);
}

// One bit of a tensor: opening does not read it, --verify names the tensor.
BOOST_AUTO_TEST_CASE(a_damaged_tensor_is_named) {
  const TempDir t;
  const std::string good = slurp(model_path()), path = t / "damaged.linnet";
  const uint64_t weights = section(good, detail::SectionKind::weights).offset;
  Model model = need(Model::open(model_path()));
  const auto* first = static_cast<const char*>(linnet_model_tensor(model.get(), 0)->data);
  const uint32_t last = model.info().tensors - 1;
  for (const uint32_t i : {0u, 1u, last / 2, last}) {
    const linnet_tensor& tensor = *linnet_model_tensor(model.get(), i);
    for (const uint64_t byte : {uint64_t{0}, tensor.bytes - 1}) {
      std::string bad = good;
      bad[weights + static_cast<uint64_t>(static_cast<const char*>(tensor.data) - first) + byte] ^= 1;
      spill(path, bad);
      BOOST_TEST(run_program("linnet-inspect", {path}).status == 0);
      expect_failure(1, "linnet-inspect", {path, "--verify"}, {tensor.name});
      expect_failure(1, "linnet-inspect", {path, "--verify", "--json"}, {tensor.name});
    }
  }
}

BOOST_AUTO_TEST_CASE(a_damaged_section_is_named) {
  const TempDir t;
  const std::string good = slurp(model_path()), path = t / "damaged.linnet";
  const detail::Section &graph = section(good, detail::SectionKind::graph), &tokenizer = section(good, detail::SectionKind::tokenizer);
  const auto with_bit = [&](uint64_t at) {
    std::string bad = good;
    bad[at] ^= 1;
    spill(path, bad);
  };
  for (const uint64_t at : {graph.offset, graph.offset + graph.bytes / 2, graph.offset + graph.bytes - 1}) {
    with_bit(at);
    for (const char* option : {"--verify", "--json", "--graph"}) expect_failure(1, "linnet-inspect", {path, option}, {path, "graph"});
  }
  with_bit(tokenizer.offset + tokenizer.bytes / 2);
  expect_failure(1, "linnet-inspect", {path, "--verify"}, {"tokenizer"});
  with_bit(40);
  expect_failure(1, "linnet-inspect", {path}, {path, "header"});
  spill(path, good.substr(0, good.size() - 1));
  expect_failure(1, "linnet-inspect", {path}, {path, std::to_string(good.size()), std::to_string(good.size() - 1)});
}

// A path is bytes; JSON is not.
BOOST_AUTO_TEST_CASE(a_name_that_is_not_utf8) {
  const TempDir t;
  const std::string path = t / "odd\xff.linnet";
  fs::copy_file(model_path(), path);
  BOOST_TEST(Json::parse(output_of("linnet-inspect", {path, "--json"}))["file"] == t / "odd\xEF\xBF\xBD.linnet");
  BOOST_TEST(holds(output_of("linnet-inspect", {path}), path));
}

// A stranger's names reach no terminal as escape sequences: of a tensor, and of the file in an error.
BOOST_AUTO_TEST_CASE(names_that_would_move_the_cursor) {
  const TempDir t;
  std::string file = slurp(model_path());
  auto* header = reinterpret_cast<detail::Header*>(file.data());
  auto* graph = const_cast<detail::Section*>(&section(file, detail::SectionKind::graph));
  const size_t name = file.find("transformer.wte.weight", graph->offset);
  BOOST_REQUIRE(name < graph->offset + graph->bytes);
  file.replace(name, 4, "\x1b[2J");
  const XXH128_hash_t hash = XXH3_128bits(file.data() + graph->offset, graph->bytes);
  graph->xxh3[0] = hash.low64, graph->xxh3[1] = hash.high64;
  header->xxh3 = XXH3_64bits(header, offsetof(detail::Header, xxh3));
  const std::string path = t / "\x1b[2J.linnet";
  spill(path, file);
  for (const char* option : {"--tensors", "--graph"}) {
    const std::string text = output_of("linnet-inspect", {path, option});
    BOOST_TEST(holds(text, "?[2Jsformer.wte.weight"), text);
    BOOST_TEST(!holds(text, "\x1b"));
  }
  BOOST_TEST(!holds(output_of("linnet-inspect", {path}), "\x1b"));
  spill(path, "not a model");
  expect_failure(1, "linnet-inspect", {path}, {"?[2J.linnet"});
}

BOOST_AUTO_TEST_SUITE_END()
