// Sessions and steps: a step happens or it does not, and how it was cut never shows.
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include "toy_ops.h"

using namespace linnet;
using namespace linnet::tests;
namespace data = boost::unit_test::data;

namespace {

const char* const kLlama = "llama-gqa-6over2";
const char* const kGpt2 = "gpt2-context-16";

std::vector<float> logits_of(Session& s) {
  const auto l = need(s.logits());
  return {l.begin(), l.end()};
}

struct Fixture {
  explicit Fixture(RunnerOptions options = {}, const char* name = kLlama, linnet_registry* registry = nullptr)
      : model(need(Model::open(convert_golden(name), {.registry = registry}))),
        runner(need(Runner::create(model, options))),
        ids(random_ids(300, model.info().vocabulary)) {}
  std::span<const int32_t> first(size_t n) const { return {ids.data(), n}; }
  std::span<const int32_t> from(size_t at, size_t n) const { return {ids.data() + at, n}; }
  Session session() { return need(Session::create(runner)); }
  Model model;
  Runner runner;
  std::vector<int32_t> ids;
};

}  // namespace

BOOST_AUTO_TEST_CASE(twelve_tokens_at_once_one_by_one_or_five_and_seven) {  // F1
  Fixture f({.sessions = 3, .threads = 2});
  Session once = f.session(), each = f.session(), parts = f.session();
  need(once.prefill(f.first(12)));
  const auto want = logits_of(once);
  for (size_t i = 0; i < 12; ++i) need(each.prefill(f.from(i, 1)));
  BOOST_TEST(logits_of(each) == want, boost::test_tools::per_element());
  need(parts.prefill(f.first(5)));
  need(parts.prefill(f.from(5, 7)));
  BOOST_TEST(logits_of(parts) == want, boost::test_tools::per_element());
}

BOOST_DATA_TEST_CASE(chunk_borders_and_reused_caches, data::make({63, 64, 65, 127, 128, 129, 255, 256, 257}), n) {  // F9
  Fixture f({.context = 300, .max_rows = 64, .threads = 2});
  Session s = f.session();
  need(s.prefill(f.from(20, 280)));  // leave something stale in every page
  s.reset();
  need(s.prefill(f.first(n)));
  Fixture fresh({.context = 300, .max_rows = 7, .threads = 1});
  Session t = fresh.session();
  need(t.prefill(fresh.first(n)));
  BOOST_TEST(logits_of(s) == logits_of(t), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(learned_positions_end) {  // F2
  Fixture f({}, kGpt2);
  BOOST_TEST(f.runner.plan().context == 16u);
  Session s = f.session();
  const Status refused = s.prefill(f.first(17));
  BOOST_TEST(refused.code() == LINNET_CONTEXT_FULL);
  BOOST_TEST(refused.details().expected == 16u);
  BOOST_TEST(refused.details().actual == 17u);
  BOOST_TEST(s.position() == 0u);
  need(s.prefill(f.first(16)));
  const auto before = logits_of(s);
  BOOST_TEST(s.next(Sampling()).error().code() == LINNET_CONTEXT_FULL);
  BOOST_TEST(s.position() == 16u);
  BOOST_TEST(logits_of(s) == before, boost::test_tools::per_element());
  const auto larger = Runner::create(f.model, {.context = 17});
  BOOST_REQUIRE(!larger);
  BOOST_TEST(larger.error().code() == LINNET_INVALID_ARGUMENT);
  BOOST_TEST(std::string(larger.error().subject()) == "context");
}

BOOST_DATA_TEST_CASE(token_ids_outside_the_vocabulary_are_refused, data::make({-1, INT32_MIN, INT32_MAX, 1000000}), id) {  // F2
  Fixture f;
  Session s = f.session();
  need(s.prefill(f.first(3)));
  const auto before = logits_of(s);
  const std::vector<int32_t> ids{1, id};
  const Status refused = s.prefill(ids);
  BOOST_TEST(refused.code() == LINNET_INVALID_ARGUMENT);
  BOOST_TEST(std::string(refused.message()).find(std::to_string(id)) != std::string::npos);
  BOOST_TEST(s.position() == 3u);
  BOOST_TEST(logits_of(s) == before, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_second_turn_past_the_limit_is_an_error_code) {  // F4
  Fixture f({.context = 20});
  Session s = f.session();
  need(s.prefill(f.first(15)));
  BOOST_TEST(s.prefill(f.from(15, 10)).code() == LINNET_CONTEXT_FULL);
  BOOST_TEST(s.position() == 15u);
  need(s.prefill(f.from(15, 5)));
  Fixture g({.context = 20});
  Session t = g.session();
  need(t.prefill(g.first(20)));
  BOOST_TEST(logits_of(s) == logits_of(t), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(forks_and_cuts_give_the_bits_of_a_plain_run) {
  for (const size_t n : {1, 63, 64, 65, 100, 128, 200}) {
    Fixture f({.context = 300, .sessions = 3, .threads = 1});
    Session s = f.session();
    need(s.prefill(f.first(n)));
    Session fork = need(s.fork());
    BOOST_TEST(logits_of(fork) == logits_of(s), boost::test_tools::per_element());
    need(s.prefill(f.from(n, 30)));
    need(fork.prefill(f.from(n + 50, 30)));  // goes another way
    Session plain = f.session();
    need(plain.prefill(f.first(n + 30)));
    BOOST_TEST(logits_of(s) == logits_of(plain), boost::test_tools::per_element());
    plain.reset();
    need(plain.prefill(f.first(n)));
    need(plain.prefill(f.from(n + 50, 30)));
    BOOST_TEST(logits_of(fork) == logits_of(plain), boost::test_tools::per_element());
    // Cut the fork back into pages it shares, and write there: the other must not notice.
    const auto before = logits_of(s);
    need(fork.truncate(n / 2));
    need(fork.prefill(f.from(150, 40)));
    s.reset();
    need(s.prefill(f.first(n / 2)));
    need(s.prefill(f.from(150, 40)));
    BOOST_TEST(logits_of(fork) == logits_of(s), boost::test_tools::per_element());
    BOOST_TEST(before.size() == f.model.info().vocabulary);
  }
}

BOOST_AUTO_TEST_CASE(writing_into_a_shared_page_leaves_the_other_session_alone) {
  Fixture f({.context = 300, .sessions = 2, .threads = 1});
  Session s = f.session();
  need(s.prefill(f.first(100)));
  Session fork = need(s.fork());
  need(fork.truncate(20));  // into page 0, which both hold
  need(fork.prefill(f.from(200, 30)));
  need(s.truncate(99));
  need(s.prefill(f.from(99, 1)));  // sees all of page 0
  Fixture g({.context = 300, .threads = 1});
  Session plain = g.session();
  need(plain.prefill(g.first(100)));
  BOOST_TEST(logits_of(s) == logits_of(plain), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(forks_share_whole_pages) {
  Fixture f({.context = 256, .sessions = 3, .pages = 6});
  Session s = f.session();
  need(s.prefill(f.first(130)));
  BOOST_TEST(f.runner.free_pages() == 3u);
  Session fork = need(s.fork());
  BOOST_TEST(f.runner.free_pages() == 2u);  // only the partial third page was copied
  {
    Session third = need(s.fork());
    BOOST_TEST(f.runner.free_pages() == 1u);
  }
  BOOST_TEST(f.runner.free_pages() == 2u);
  s.reset();
  BOOST_TEST(f.runner.free_pages() == 3u);  // the fork holds the two whole ones
  fork.reset();
  BOOST_TEST(f.runner.free_pages() == 6u);
}

BOOST_AUTO_TEST_CASE(an_empty_pool_changes_nothing) {
  Fixture f({.context = 256, .sessions = 2, .pages = 3});
  Session a = f.session(), b = f.session();
  need(a.prefill(f.first(128)));
  need(b.prefill(f.first(60)));
  const auto before = logits_of(b);
  const Status refused = b.prefill(f.from(60, 10));
  BOOST_TEST(refused.code() == LINNET_POOL_EMPTY);
  BOOST_TEST(refused.details().expected == 1u);
  BOOST_TEST(refused.details().actual == 0u);
  BOOST_TEST(b.position() == 60u);
  BOOST_TEST(logits_of(b) == before, boost::test_tools::per_element());
  a.reset();
  need(b.prefill(f.from(60, 10)));
  const auto third = Session::create(f.runner);
  BOOST_REQUIRE(!third);
  BOOST_TEST(third.error().code() == LINNET_POOL_EMPTY);
}

BOOST_AUTO_TEST_CASE(an_error_inside_a_step_leaves_the_session_as_it_was) {
  Toy toy;
  const Registry registry = registry_with(toy);
  Fixture f({.context = 200, .max_rows = 100, .threads = 2}, kLlama, registry.get());
  Session s = f.session();
  need(s.prefill(f.first(60)));
  const auto before = logits_of(s);
  const uint32_t pages = f.runner.free_pages();
  toy.fail_with = LINNET_OP_FAILED;
  const Status failed = s.prefill(f.from(60, 90));
  BOOST_TEST(failed.code() == LINNET_OP_FAILED);
  BOOST_TEST(std::string(failed.details().op) == "select_rows");
  BOOST_TEST(std::string(failed.message()).find("the toy broke") != std::string::npos);
  BOOST_TEST(failed.details().node >= 0);
  toy.fail_with = LINNET_OK;
  toy.spoil = true;
  BOOST_TEST(s.prefill(f.from(60, 90)).code() == LINNET_NOT_FINITE);
  toy.spoil = false;
  BOOST_TEST(s.position() == 60u);
  BOOST_TEST(f.runner.free_pages() == pages);
  BOOST_TEST(logits_of(s) == before, boost::test_tools::per_element());
  need(s.prefill(f.from(60, 90)));
  Fixture g({.context = 200});
  Session t = g.session();
  need(t.prefill(g.first(150)));
  BOOST_TEST(logits_of(s) == logits_of(t), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_cancel_inside_a_step_leaves_the_session_as_it_was) {
  Toy toy;
  const Registry registry = registry_with(toy);
  Fixture f({.context = 200, .max_rows = 100}, kLlama, registry.get());
  std::atomic<int> stop{0};
  f.runner.cancel_on(&stop);
  Session s = f.session();
  need(s.prefill(f.first(60)));
  const auto before = logits_of(s);
  toy.cancel = &stop;  // raised by select_rows, seen before the node after it
  BOOST_TEST(s.prefill(f.from(60, 90)).code() == LINNET_CANCELLED);
  BOOST_TEST(s.position() == 60u);
  toy.cancel = nullptr;
  stop = 0;
  BOOST_TEST(logits_of(s) == before, boost::test_tools::per_element());
  f.runner.cancel_on(nullptr);
}

BOOST_AUTO_TEST_CASE(a_prefill_says_how_far_it_came) {
  Toy toy;
  const Registry registry = registry_with(toy);
  Fixture f({.context = 200, .max_rows = 16}, kLlama, registry.get());
  Session s = f.session();
  toy.evals = 0;
  std::atomic<int> stop{0};
  f.runner.cancel_on(&stop);
  need(s.prefill(f.first(32)));
  toy.cancel = &stop;
  BOOST_TEST(s.prefill(f.from(32, 64)).code() == LINNET_CANCELLED);
  BOOST_TEST(s.position() == 32u);
  toy.cancel = nullptr;
  stop = 0;
  need(s.prefill(f.from(32, 64)));
  BOOST_TEST(s.position() == 96u);
  f.runner.cancel_on(nullptr);
}

BOOST_AUTO_TEST_CASE(slices_of_a_step_give_the_same_bits) {
  Fixture f({.context = 100});
  Session s = f.session();
  const linnet_step_entry entry{s.get(), f.ids.data(), 50, LINNET_WANT_LAST};
  need(f.runner.begin({&entry, 1}));
  int slices = 0;
  for (;; ++slices)
    if (need(f.runner.advance(0))) break;  // one node at a time
  BOOST_TEST(slices > 5);
  BOOST_TEST(s.position() == 0u);
  need(f.runner.commit());
  BOOST_TEST(s.position() == 50u);
  Fixture g({.context = 100});
  Session t = g.session();
  need(t.prefill(g.first(50)));
  BOOST_TEST(logits_of(s) == logits_of(t), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(only_kept_rows_are_committed) {
  Fixture f({.context = 100, .wanted_rows = 8});
  Session s = f.session();
  need(s.prefill(f.first(10)));
  std::vector<int32_t> guess(f.ids.begin() + 10, f.ids.begin() + 14);
  guess.insert(guess.end(), {1, 2, 3});  // wrong from the fifth on
  const linnet_step_entry entry{s.get(), guess.data(), 7, LINNET_WANT_ALL};
  need(f.runner.begin({&entry, 1}));
  BOOST_TEST(need(f.runner.advance(UINT64_MAX)));
  const uint32_t too_many = 8, keep = 4;
  BOOST_TEST(f.runner.commit({&too_many, 1}).code() == LINNET_INVALID_ARGUMENT);
  need(f.runner.commit({&keep, 1}));
  BOOST_TEST(s.position() == 14u);
  const auto kept = logits_of(s);
  need(s.prefill(f.from(14, 3)));
  Fixture g({.context = 100});
  Session t = g.session();
  need(t.prefill(g.first(14)));
  BOOST_TEST(kept == logits_of(t), boost::test_tools::per_element());
  need(t.prefill(g.from(14, 3)));
  BOOST_TEST(logits_of(s) == logits_of(t), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_aborted_step_leaves_no_trace) {
  Fixture f({.context = 200});
  Session s = f.session();
  need(s.prefill(f.first(60)));
  const auto before = logits_of(s);
  const uint32_t pages = f.runner.free_pages();
  const linnet_step_entry entry{s.get(), f.ids.data() + 60, 30, LINNET_WANT_LAST};
  need(f.runner.begin({&entry, 1}));
  BOOST_TEST(!need(f.runner.advance(0)));
  BOOST_TEST(s.prefill(f.from(60, 1)).code() == LINNET_BUSY);  // one step at a time
  BOOST_TEST(f.runner.commit().code() == LINNET_INVALID_ARGUMENT);
  f.runner.abort();
  BOOST_TEST(s.position() == 60u);
  BOOST_TEST(f.runner.free_pages() == pages);
  BOOST_TEST(logits_of(s) == before, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(logits_that_another_step_has_overwritten_come_back_the_same) {
  Fixture f({.context = 100, .sessions = 2});
  Session a = f.session(), b = f.session();
  need(a.prefill(f.first(64)));  // the last position begins no page of its own: recomputing must not drop one
  const auto want = logits_of(a);
  need(b.prefill(f.from(64, 5)));
  BOOST_TEST(logits_of(a) == want, boost::test_tools::per_element());
  need(a.prefill(f.from(64, 1)));
  const auto next = logits_of(a);
  need(b.prefill(f.from(70, 5)));
  BOOST_TEST(logits_of(a) == next, boost::test_tools::per_element());
  BOOST_TEST(a.position() == 65u);
}

BOOST_AUTO_TEST_CASE(steps_that_make_no_sense_are_refused) {
  Fixture f({.context = 50, .max_rows = 8, .sessions = 2});
  Session s = f.session();
  const linnet_step_entry good{s.get(), f.ids.data(), 4, LINNET_WANT_LAST};
  const auto refused = [&](std::vector<linnet_step_entry> entries) { return f.runner.step(entries).code(); };
  BOOST_TEST(refused({}) == LINNET_INVALID_ARGUMENT);
  BOOST_TEST(refused({good, good}) == LINNET_INVALID_ARGUMENT);
  BOOST_TEST(refused({{s.get(), f.ids.data(), 0, LINNET_WANT_LAST}}) == LINNET_INVALID_ARGUMENT);
  BOOST_TEST(refused({{s.get(), nullptr, 1, LINNET_WANT_LAST}}) == LINNET_INVALID_ARGUMENT);
  BOOST_TEST(refused({{nullptr, f.ids.data(), 1, LINNET_WANT_LAST}}) == LINNET_INVALID_ARGUMENT);
  BOOST_TEST(refused({{s.get(), f.ids.data(), 9, LINNET_WANT_LAST}}) == LINNET_INVALID_ARGUMENT);
  BOOST_TEST(refused({{s.get(), f.ids.data(), 4, 3}}) == LINNET_INVALID_ARGUMENT);
  BOOST_TEST(refused({{s.get(), f.ids.data(), 4, LINNET_WANT_ALL}}) == LINNET_INVALID_ARGUMENT);  // wanted_rows is 2
  BOOST_TEST(s.truncate(1).code() == LINNET_INVALID_ARGUMENT);
  BOOST_TEST(s.logits().error().code() == LINNET_INVALID_ARGUMENT);  // empty session
  BOOST_TEST(s.position() == 0u);
  need(f.runner.step({&good, 1}));
  BOOST_TEST(s.position() == 4u);
}
