// The bundled model through the text API: Hugging Face's ids and text, exact counts, and every way to end a reply.
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <set>

#include "expected.h"

using namespace linnet;
using namespace linnet::tests;

namespace {

fs::path tales() { return fs::path(LINNET_SOURCE_DIR) / "examples/models/linnet-tales"; }

std::string convert_tales(std::optional<linnet_dtype> dtype = LINNET_F32) {
  static TempDir folder;
  const std::string out = folder / ("tales" + std::to_string(dtype ? *dtype : 99) + ".linnet");
  if (fs::exists(out)) return out;
  ConvertOptions options;
  options.source = tales().string();
  options.output = out;
  options.dtype = dtype;
  linnet_error error{};
  BOOST_REQUIRE_MESSAGE(convert(options, nullptr, &error) == LINNET_OK, error.message);
  return out;
}

struct Tales {
  explicit Tales(RunnerOptions options = {.sessions = 2, .threads = 1})
      : model(need(Model::open(convert_tales()))), runner(need(Runner::create(model, options))), writer(runner) {
    need(writer.status());
  }
  std::string all(Reply& reply) {
    std::string text;
    while (auto piece = reply.next()) text += *piece;
    return text;
  }
  std::string write(std::string_view prompt, const WriteOptions& options) {
    auto reply = writer.complete(prompt, options);
    std::string text = all(reply);
    BOOST_TEST(reply.error().ok(), reply.error().message());
    finish = reply.finish();
    return text;
  }
  Model model;
  Runner runner;
  Writer writer;
  Finish finish = Finish::none;
};


}  // namespace

BOOST_AUTO_TEST_CASE(ids_and_text_are_hugging_faces) {
  Tales t;
  const Tokenizer tokenizer = need(Tokenizer::create(t.model));
  const Json expected = Json::parse(slurp(tales() / "expected-greedy.json"));
  BOOST_REQUIRE(expected["prompts"].size() >= 3u);
  for (const auto& p : expected["prompts"]) {
    const std::string prompt = p["prompt"];
    const std::vector<int32_t> ids = ids_of(p["ids"]), greedy_ids = ids_of(p["greedy_ids"]);
    if (!prompt.empty()) BOOST_TEST(need(tokenizer.encode(prompt)) == ids, boost::test_tools::per_element());
    t.writer.reset();
    auto reply = t.writer.complete_ids(ids, {.max_tokens = static_cast<int64_t>(greedy_ids.size())});
    const std::string text = t.all(reply);
    BOOST_TEST(std::vector<int32_t>(t.writer.tokens().begin(), t.writer.tokens().end()) == greedy_ids, boost::test_tools::per_element());
    BOOST_TEST(text == need(tokenizer.decode(greedy_ids, true)));
    BOOST_TEST((p["text"].get<std::string>().find(text) != std::string::npos), text);
  }
}

BOOST_AUTO_TEST_CASE(the_runner_s_own_cancel_flag_counts_beside_the_reply_s) {
  Tales t;
  std::atomic<int> host{0}, reply_flag{0};
  t.runner.cancel_on(&host);
  auto reply = t.writer.complete("Once upon a time", {.max_tokens = 50, .cancel = &reply_flag});
  BOOST_REQUIRE(bool(reply.next()));
  host = 1;
  while (reply.next()) {}
  BOOST_TEST((reply.finish() == Finish::cancelled));
  BOOST_TEST(t.writer.tokens().size() < 50u);
  // And it is still set when the reply is over.
  Session session = need(Session::create(t.runner));
  BOOST_TEST(session.prefill(std::vector<int32_t>{1, 2}).code() == LINNET_CANCELLED);
  host = 0;
  need(session.prefill(std::vector<int32_t>{1, 2}));
}

BOOST_AUTO_TEST_CASE(token_counts_are_exact) {  // D6
  Tales t;
  for (const int64_t n : {0, 1, 2, 17}) {
    t.writer.reset();
    t.write("Once upon a time", {.max_tokens = n});
    BOOST_TEST(t.writer.tokens().size() == static_cast<size_t>(n));
    BOOST_TEST((t.finish == Finish::length));
  }
  t.writer.reset();
  t.write("Once upon a time", {.max_tokens = -1});
  BOOST_TEST((t.finish == Finish::stop || t.finish == Finish::context_full));
  t.writer.reset();
  auto refused = t.writer.complete("Once", {.max_tokens = -2});
  BOOST_TEST(!refused.next());
  BOOST_TEST(refused.error().code() == LINNET_INVALID_ARGUMENT);
}

BOOST_AUTO_TEST_CASE(a_callback_can_stop_and_the_session_goes_on) {  // D7
  Tales t;
  struct Sink {
    int pieces = 0;
    std::string text;
  } sink;
  linnet_write_options options;
  linnet_write_options_init(&options);
  options.max_tokens = 50;
  linnet_finish finish = LINNET_FINISH_NONE;
  linnet_error error{};
  const std::string prompt = "Once upon a time";
  const linnet_code code = linnet_writer_complete(
      t.writer.get(), prompt.data(), prompt.size(), &options,
      [](void* c, const char* text, size_t bytes) {
        auto* s = static_cast<Sink*>(c);
        s->text.append(text, bytes);
        return int{++s->pieces == 3};
      },
      &sink, &finish, &error);
  BOOST_TEST(code == LINNET_STOPPED);
  BOOST_TEST(sink.pieces == 3);
  const std::string more = t.write("", {.max_tokens = 10});
  Tales u;
  const std::string plain = u.write(prompt, {.max_tokens = 50});
  BOOST_TEST(plain.substr(0, sink.text.size()) == sink.text);
  BOOST_TEST(plain.substr(sink.text.size(), more.size()) == more);  // where the first left off
}

BOOST_AUTO_TEST_CASE(a_reply_in_two_parts_is_the_reply) {
  Tales t, u;
  const std::string whole = t.write("The little fox", {.max_tokens = 60});
  std::string parts = u.write("The little fox", {.max_tokens = 25});
  parts += u.write("", {.max_tokens = 35});
  BOOST_TEST(parts == whole);
}

BOOST_AUTO_TEST_CASE(end_tokens_from_both_configs_stop_and_are_not_shown) {  // A3
  Model model = need(Model::open(convert_golden("llama-eos-list")));
  const Json expected = Json::parse(slurp(golden("llama-eos-list") / "expected.json"));
  BOOST_TEST(model.info().eos_count == 2u);
  Runner runner = need(Runner::create(model));
  Writer writer(runner);
  for (const auto& p : expected["prompts"]) {
    writer.reset();
    auto reply = writer.complete_ids(ids_of(p["ids"]), {.max_tokens = 40});
    while (reply.next()) {}
    BOOST_TEST((reply.finish() == Finish::stop));
    BOOST_TEST(std::vector<int32_t>(writer.tokens().begin(), writer.tokens().end()) == ids_of(p["greedy_ids"]), boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(a_cancelled_reply_says_so_and_goes_on) {
  Tales t;
  std::atomic<int> stop{0};
  auto reply = t.writer.complete("Once upon a time", {.max_tokens = 100, .cancel = &stop});
  std::string text;
  for (int i = 0; i < 5; ++i) text += *reply.next();
  stop = 1;
  while (auto piece = reply.next()) text += *piece;
  BOOST_TEST((reply.finish() == Finish::cancelled));
  BOOST_TEST(reply.error().ok() == true);
  stop = 0;
  text += t.write("", {.max_tokens = 20});
  Tales u;
  BOOST_TEST(u.write("Once upon a time", {.max_tokens = 100}).substr(0, text.size()) == text);
}

BOOST_AUTO_TEST_CASE(a_full_context_ends_the_reply_and_keeps_its_text) {
  Tales t({.context = 24, .threads = 1}), u;
  const std::string text = t.write("Once upon a time", {.max_tokens = 100, .ignore_eos = true});
  BOOST_TEST((t.finish == Finish::context_full));
  BOOST_TEST(!text.empty());
  BOOST_TEST(u.write("Once upon a time", {.max_tokens = 100, .ignore_eos = true}).substr(0, text.size()) == text);
  auto again = t.writer.complete("more", {});
  while (again.next()) {}
  BOOST_TEST((again.finish() == Finish::context_full || again.error().code() == LINNET_CONTEXT_FULL));
  t.writer.reset();
  BOOST_TEST(!t.write("Once", {.max_tokens = 3}).empty());
}

BOOST_AUTO_TEST_CASE(stop_strings_cut_exactly) {
  Tales t;
  const std::string whole = t.write("Once upon a time", {.max_tokens = 60});
  const std::string stop = whole.substr(whole.size() / 2, 7);  // ends and begins inside tokens
  const char* const stops[] = {"never in the text", stop.c_str()};
  t.writer.reset();
  const std::string cut = t.write("Once upon a time", {.max_tokens = 60, .stop = stops});
  BOOST_TEST(cut == whole.substr(0, whole.find(stop)));
  BOOST_TEST((t.finish == Finish::stop));
}

BOOST_AUTO_TEST_CASE(a_seed_gives_one_text_whatever_the_threads) {
  std::set<std::string> texts, others;
  for (const uint32_t threads : {1u, 2u, 3u}) {
    Tales t({.max_rows = threads * 3, .threads = threads});
    texts.insert(t.write("Once upon a time", {.max_tokens = 60, .temperature = 1.0f, .top_p = 0.95f, .seed = 7}));
    t.writer.reset();
    others.insert(t.write("Once upon a time", {.max_tokens = 60, .temperature = 1.0f, .top_p = 0.95f, .seed = 8}));
  }
  BOOST_TEST(texts.size() == 1u);
  BOOST_TEST(others.size() == 1u);
  BOOST_TEST(*texts.begin() != *others.begin());
}

BOOST_AUTO_TEST_CASE(an_empty_prompt_starts_from_the_start_token) {
  Tales t;
  const std::string text = t.write("", {.max_tokens = 20});
  BOOST_TEST(!text.empty());
  Model model = need(Model::open(convert_golden("llama-gqa-6over2")));  // no tokenizer
  Runner runner = need(Runner::create(model));
  Writer writer(runner);
  auto reply = writer.complete("", {.max_tokens = 1});
  while (reply.next()) {}
  BOOST_TEST((reply.finish() == Finish::error || writer.tokens().size() == 1u));
}

// A writer's ids are transformers' too, and it ends where they end: at an end token, or after all that were asked for.
BOOST_DATA_TEST_CASE(greedy_ids_of_every_checkpoint, boost::unit_test::data::make(golden_names()), name) {
  Model model = need(Model::open(convert_golden(name)));
  Runner runner = need(Runner::create(model, {.threads = 1}));
  for (const auto& prompt : expected(name).at("prompts")) {
    const auto greedy_ids = ids_of(prompt["greedy_ids"]);
    Writer writer(runner);
    const int64_t all = static_cast<int64_t>(greedy_ids.size()) + (greedy_ids.size() < 12 ? 1 : 0);
    auto reply = writer.complete_ids(ids_of(prompt["ids"]), {.max_tokens = all});
    while (reply.next()) {}
    BOOST_TEST(reply.error().ok(), reply.error().message());
    BOOST_TEST(std::vector<int32_t>(writer.tokens().begin(), writer.tokens().end()) == greedy_ids, boost::test_tools::per_element());
  }
}
