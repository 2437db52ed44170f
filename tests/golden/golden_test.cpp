// Checkpoints that differ in what breaks ports, against Hugging Face transformers; and the same bits however they are run.
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include "expected.h"

using namespace linnet;
using namespace linnet::tests;
namespace data = boost::unit_test::data;

namespace {

float largest(const std::vector<float>& row) {
  float m = 0;
  for (const float x : row) m = std::max(m, std::abs(x));
  return m;
}

// The largest difference relative to the largest |logit| of the prompt; the top tokens must be the same.
double worst(const std::vector<std::vector<float>>& ours, const Json& prompt, bool same_top = true) {
  double difference = 0, scale = 0;
  const auto& rows = prompt["logit_rows"];
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto want = prompt["logits"][i].get<std::vector<float>>();
    const auto& got = ours.at(rows[i].get<size_t>());
    BOOST_REQUIRE_EQUAL(got.size(), want.size());
    for (size_t j = 0; j < want.size(); ++j) difference = std::max(difference, double{std::abs(got[j] - want[j])});
    scale = std::max(scale, double{largest(want)});
    if (!same_top) continue;
    BOOST_TEST((std::max_element(got.begin(), got.end()) - got.begin()) == (std::max_element(want.begin(), want.end()) - want.begin()),
               "row " << rows[i] << ": another top token");
  }
  return difference / scale;
}

}  // namespace

BOOST_DATA_TEST_CASE(logits_and_greedy_ids_are_those_of_transformers, data::make(golden_names()), name) {
  Model model = need(Model::open(convert_golden(name)));
  const Json& want = expected(name);
  BOOST_TEST(std::vector<int32_t>(model.info().eos, model.info().eos + model.info().eos_count) == ids_of(want["eos"]),
             boost::test_tools::per_element());
  for (const auto& prompt : want["prompts"]) {
    const auto ids = ids_of(prompt["ids"]);
    const double difference = worst(all_logits(model, ids), prompt);
    BOOST_TEST(difference <= 2e-5, name << ": largest relative difference " << difference);
    BOOST_TEST_MESSAGE(name << " " << difference);

    const auto greedy_ids = ids_of(prompt["greedy_ids"]);
    Runner runner = need(Runner::create(model, {.threads = 1}));
    Session session = need(Session::create(runner));
    need(session.prefill(ids));
    auto got = greedy(session, greedy_ids.size() - 1);
    got.push_back(need(session.sample(Sampling())).token);  // not fed: the context may be full
    BOOST_TEST(got == greedy_ids, boost::test_tools::per_element());
  }
}

BOOST_DATA_TEST_CASE(the_checkpoint_s_own_format_stays_close, data::make(golden_names()), name) {
  // A 16-bit file rounds keys and values (the contract), so it can only be close; its weights are the checkpoint's own.
  Model model = need(Model::open(convert_golden(name, std::nullopt)));
  const Json& want = expected(name);
  for (const auto& prompt : want["prompts"]) {
    const double difference = worst(all_logits(model, ids_of(prompt["ids"])), prompt);
    BOOST_TEST(difference <= 2e-3, name << ": largest relative difference " << difference);
  }
}

// Keys, values and queries in 8 bits move a logit by less than a twentieth of the largest.
BOOST_DATA_TEST_CASE(an_i8_cache_stays_close, data::make(golden_names()), name) {
  const std::string path = convert_golden(name);
  Model model = need(Model::open(path, {.kv_dtype = LINNET_I8}));
  BOOST_TEST(linnet_model_state(model.get(), 0)->tensors[0].dtype == LINNET_I8);
  for (const auto& prompt : expected(name).at("prompts")) {
    const double difference = worst(all_logits(model, ids_of(prompt["ids"])), prompt, false);
    BOOST_TEST(difference <= 0.05, name << ": largest relative difference " << difference);
  }
}

BOOST_AUTO_TEST_CASE(keys_and_values_have_three_formats) {
  const std::string path = convert_golden("llama-gqa-6over2");
  for (const linnet_dtype wrong : {LINNET_BF16, LINNET_I4, LINNET_I32, static_cast<linnet_dtype>(7)}) {
    const auto model = Model::open(path, {.kv_dtype = wrong});
    BOOST_REQUIRE(!model);
    BOOST_TEST(model.error().code() == LINNET_INVALID_ARGUMENT);
    BOOST_TEST(std::string(model.error().message()).find("kv_dtype is " + std::to_string(wrong)) != std::string::npos);
  }
}

namespace {

using KvDtype = std::optional<linnet_dtype>;

// Hashes of every row's logits must be those of one scalar thread, for each {threads, chunk}.
void check_bits(const std::string& name, linnet_dtype dtype, KvDtype kv, const std::vector<std::pair<uint32_t, uint32_t>>& runs) {
  const std::string path = convert_golden(name, dtype);
  const Registry scalar = registry_for("scalar"), best = registry_for(nullptr);
  Model on_scalar = need(Model::open(path, {.registry = scalar.get(), .kv_dtype = kv})),
        on_best = need(Model::open(path, {.registry = best.get(), .kv_dtype = kv}));
  const int64_t limit = on_best.info().context_limit;
  const auto ids = random_ids(limit > 0 ? std::min<size_t>(90, static_cast<size_t>(limit)) : 90, on_best.info().vocabulary);
  const uint64_t want = hash(all_logits(on_scalar, ids, 1, 64));
  for (const auto& [threads, chunk] : runs)
    BOOST_TEST(hash(all_logits(on_best, ids, threads, chunk)) == want, name << " threads " << threads << " chunk " << chunk << " dtype " << dtype << (kv ? ", i8 cache" : ""));
  BOOST_TEST(hash(all_logits(on_scalar, ids, 3, 7)) == want, name << " scalar, threads 3, chunk 7, dtype " << dtype);
}

}  // namespace

BOOST_DATA_TEST_CASE(the_same_bits_for_any_threads_chunks_and_instruction_set, data::make(golden_names()), name) {  // G1
  const std::pair<linnet_dtype, KvDtype> formats[] = {{LINNET_F32, {}},        {LINNET_F16, {}}, {LINNET_BF16, {}}, {LINNET_I8, {}}, {LINNET_I4, {}},
                                                      {LINNET_F32, LINNET_I8}};
  for (const auto& [dtype, kv] : formats) check_bits(name, dtype, kv, {{1, 1}, {2, 7}, {3, 64}, {8, 512}});
}

BOOST_DATA_TEST_CASE(the_same_bits_in_every_combination, data::make({"gpt2-odd-sizes", "llama-gqa-6over2", "llama-head-dim-16", "qwen2-untied"}),
                     name) {
  std::vector<std::pair<uint32_t, uint32_t>> runs;
  for (const uint32_t threads : {1u, 2u, 3u, 8u})
    for (const uint32_t chunk : {1u, 7u, 64u, 512u}) runs.emplace_back(threads, chunk);
  check_bits(name, LINNET_F32, {}, runs);
  check_bits(name, LINNET_I8, {}, runs);
  check_bits(name, LINNET_I4, LINNET_I8, runs);
}

BOOST_DATA_TEST_CASE(the_same_bits_alone_and_beside_other_sessions, data::make(golden_names()), name) {
  Model model = need(Model::open(convert_golden(name)));
  const int64_t limit = model.info().context_limit;
  const size_t n = limit > 0 ? std::min<size_t>(70, static_cast<size_t>(limit)) : 70;
  const uint32_t vocabulary = model.info().vocabulary;
  Runner runner = need(Runner::create(model, {.context = n, .max_rows = 40, .sessions = 3, .wanted_rows = 40, .threads = 2}));
  std::vector<Session> sessions;
  std::vector<std::vector<int32_t>> ids;
  std::vector<std::vector<std::vector<float>>> rows(3);
  for (uint32_t i = 0; i < 3; ++i) {
    sessions.push_back(need(Session::create(runner)));
    ids.push_back(random_ids(n - i, vocabulary, 10 + i));
  }
  for (size_t step = 0;; ++step) {  // uneven shares: 1, 7 and 3 rows a step, in changing order
    std::vector<linnet_step_entry> entries;
    std::vector<uint32_t> who;
    for (uint32_t j = 0; j < 3; ++j) {
      const uint32_t i = static_cast<uint32_t>((j + step) % 3), share[] = {1, 7, 3};
      const size_t at = sessions[i].position(), count = std::min<size_t>(share[(i + step) % 3], ids[i].size() - at);
      if (count == 0) continue;
      entries.push_back({sessions[i].get(), ids[i].data() + at, static_cast<uint32_t>(count), LINNET_WANT_ALL});
      who.push_back(i);
    }
    if (entries.empty()) break;
    need(runner.step(entries));
    uint64_t stride = 0;
    const auto logits = need(runner.logits(&stride));
    size_t row = 0;
    for (size_t e = 0; e < entries.size(); ++e)
      for (uint32_t k = 0; k < entries[e].count; ++k, ++row)
        rows[who[e]].emplace_back(logits.data() + row * stride, logits.data() + row * stride + vocabulary);
  }
  for (uint32_t i = 0; i < 3; ++i) BOOST_TEST(hash(rows[i]) == hash(all_logits(model, ids[i])), name << " session " << i);
}

// What one machine computed, every other must: logits as hashes, recorded on x86.
struct Recorded {
  const char* name;
  linnet_dtype dtype;
  uint64_t hash;
};
std::ostream& operator<<(std::ostream& out, const Recorded& r) { return out << r.name << " " << r.dtype; }
const Recorded kRecorded[] = {
    {"gpt2-odd-sizes", LINNET_F32, 0x51c537cddc276ab5},    {"gpt2-odd-sizes", LINNET_F16, 0x6a033de273cd3f9a},
    {"llama-gqa-6over2", LINNET_F32, 0x88c3ec1c66a8b12a},  {"llama-gqa-6over2", LINNET_BF16, 0xe9991545fbeb780e},
    {"llama-head-dim-16", LINNET_F16, 0x2b53538319982f3e}, {"qwen2-untied", LINNET_F16, 0x28f3ffc68d08e840},
};
BOOST_DATA_TEST_CASE(the_recorded_bits, data::make(kRecorded), recorded) {
  Model model = need(Model::open(convert_golden(recorded.name, recorded.dtype)));
  const int64_t limit = model.info().context_limit;
  const auto ids = random_ids(limit > 0 ? std::min<size_t>(90, static_cast<size_t>(limit)) : 90, model.info().vocabulary);
  const uint64_t got = hash(all_logits(model, ids, 2, 13));
  BOOST_TEST(got == recorded.hash, recorded << ": 0x" << std::hex << got << " was 0x" << recorded.hash);
}

// fused == body: every op that a body can stand in for, taken out of the registry.
BOOST_DATA_TEST_CASE(a_fused_op_equals_its_body, data::make(golden_names()) * data::make({"attention", "feed_forward"}), name, op) {
  const Registry without = registry_without({op});
  const std::string path = convert_golden(name);
  Model fused = need(Model::open(path)), body = need(Model::open(path, {.registry = without.get()}));
  const Json& want = expected(name);
  const auto ids = ids_of(want["prompts"][0]["ids"]);
  const auto a = all_logits(fused, ids), b = all_logits(body, ids, 2, 7);
  double difference = 0, scale = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    scale = std::max(scale, double{largest(a[i])});
    for (size_t j = 0; j < a[i].size(); ++j) difference = std::max(difference, double{std::abs(a[i][j] - b[i][j])});
  }
  BOOST_TEST(difference <= 1e-5 * scale, name << " " << op << ": " << difference / scale);
}
