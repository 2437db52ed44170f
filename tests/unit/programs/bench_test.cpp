// linnet-bench on the bundled model: what its JSON says, and how it fails. Its figures are this machine's business.
#include <boost/test/data/test_case.hpp>
#include <nlohmann/json.hpp>

#include "program.h"

using namespace linnet;
using namespace linnet::tests;
namespace data = boost::unit_test::data;
using Json = nlohmann::json;

namespace {

std::vector<std::string> split(const std::string& arguments) {
  std::istringstream words(arguments);
  return {std::istream_iterator<std::string>(words), {}};
}

Json json_of(const std::string& arguments) { return Json::parse(output_of("linnet-bench", split(arguments))); }

void check_rates(const Json& rates, size_t count) {
  BOOST_REQUIRE_EQUAL(rates.size(), count);
  for (const double rate : rates) BOOST_TEST(rate > 0);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(bench_program)

BOOST_AUTO_TEST_CASE(json_says_what_was_measured) {
  const Json j = json_of("MODEL --prefill 70 --decode 3 --depth 5 --threads 1 --repeat 2 --isa scalar --json");
  check_rates(j["prefill_tok_s"], 2);
  check_rates(j["decode_tok_s"], 2);
  BOOST_TEST(j["isa"] == "scalar");
  BOOST_TEST(j["threads"] == 1);
  BOOST_TEST(j["depth"] == 5);
  BOOST_TEST(j["architecture"] == "gpt2");
  BOOST_TEST(j["file_bytes"] == fs::file_size(model_path()));
  BOOST_TEST(!j.contains("profile"));
  // The plan is that of one step for the whole prompt, and of a context that holds the depth and the longer of the two.
  Model model = need(Model::open(model_path()));
  BOOST_TEST(j["plan_bytes"] == need(plan(model, {.context = 76, .max_rows = 70, .threads = 1})).total);
}

// Every weight once; the table that is the head too counts, the positions that are only looked up do not.
BOOST_AUTO_TEST_CASE(weights_a_token_reads) {
  Model model = need(Model::open(model_path()));
  uint64_t bytes = 0;
  for (uint32_t i = 0; const linnet_tensor* t = linnet_model_tensor(model.get(), i); ++i)
    if (std::string_view(t->name).find("wpe") == std::string_view::npos) bytes += t->bytes;
  const Json j = json_of("MODEL -p 1 -n 1 -r 1 --json");
  BOOST_TEST(j["weight_bytes_per_token"] == bytes);
  uint64_t sum = 0;
  for (const auto& [dtype, part] : j["weight_bytes_by_dtype"].items()) sum += part.get<uint64_t>();
  BOOST_TEST(sum == bytes);
}

BOOST_AUTO_TEST_CASE(parts_can_be_left_out) {
  const Json prefill = json_of("MODEL --prefill 8 --decode 0 --repeat 1 --no-warmup --json"), decode = json_of("MODEL -p 0 -n 2 -r 1 -d 70 --json");
  check_rates(prefill["prefill_tok_s"], 1);
  check_rates(prefill["decode_tok_s"], 0);
  check_rates(decode["prefill_tok_s"], 0);
  check_rates(decode["decode_tok_s"], 1);
}

BOOST_AUTO_TEST_CASE(a_profile_counts_every_node_of_every_step) {
  Model model = need(Model::open(model_path()));
  const uint64_t nodes = linnet_model_function(model.get(), 0)->nodes;
  const Json j = json_of("MODEL -p 9 -n 4 -r 2 --profile --json")["profile"];
  const std::pair<const char*, uint64_t> parts[] = {{"prefill", 2}, {"decode", 8}};
  for (const auto& [part, steps] : parts) {
    uint64_t count = 0;
    double share = 0;
    for (const Json& op : j[part]) {
      count += op["count"].get<uint64_t>();
      share += op["share"].get<double>();
      BOOST_TEST(!op["op"].get<std::string>().empty());
      BOOST_TEST((op["weight_bytes"] > 0) == (op["gb_s"] > 0));
    }
    BOOST_TEST(count == nodes * steps, part << ": " << count);
    BOOST_TEST(share == 1.0, boost::test_tools::tolerance(1e-9));
  }
}

BOOST_AUTO_TEST_CASE(a_table_for_people) {
  const std::string table = output_of("linnet-bench", split("MODEL -p 4 -n 2 -r 1 --profile"));
  for (const char* word : {"linnet-tales", "prefill", "decode", "tokens/s", "node by node", "attention"})
    BOOST_TEST(holds(table, word), word);
}

struct Failing {
  const char* arguments;
  int status;
  const char* says;
};
std::ostream& operator<<(std::ostream& out, const Failing& f) { return out << f.arguments; }
const Failing kFailing[] = {
    {"", 2, "MODEL is required"},
    {"MODEL -p 0 -n 0", 2, "nothing to measure"},
    {"MODEL --repeat 0", 2, "repeat"},
    {"MODEL --prefill -1", 2, "prefill"},
    {"MODEL --depth 99999999999999999999", 2, "depth"},
    {"MODEL --isa sse9", 1, "sse9"},
    {"MODEL --prefill 4 --decode 1 --depth 100000", 1, "context"},
    {"/no/such.linnet", 1, "/no/such.linnet"},
};
BOOST_DATA_TEST_CASE(failures_name_their_cause, data::make(kFailing), failing) {
  expect_failure(failing.status, "linnet-bench", split(failing.arguments), {failing.says});
}

BOOST_AUTO_TEST_CASE(an_i8_cache_is_planned) {
  Model model = need(Model::open(model_path(), {.kv_dtype = LINNET_I8}));
  const Json j = json_of("MODEL --prefill 70 --decode 3 --threads 1 --repeat 1 --kv-dtype i8 --json");
  BOOST_TEST(j["plan_bytes"] == need(plan(model, {.context = 71, .max_rows = 70, .threads = 1})).total);
}

BOOST_AUTO_TEST_SUITE_END()
