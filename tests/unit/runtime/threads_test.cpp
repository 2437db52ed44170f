// Threads: models are shared, runners are not, and a host may bring its own. Run under TSan by tests/run.sh --all.
#include <sched.h>
#include <thread>

#include "toy_ops.h"

using namespace linnet;
using namespace linnet::tests;

BOOST_AUTO_TEST_CASE(four_threads_on_one_model_give_what_one_gives) {  // I2
  Model model = need(Model::open(convert_golden("llama-gqa-6over2")));
  std::vector<std::vector<int32_t>> ids;
  std::vector<uint64_t> want(4), got(4);
  for (uint32_t i = 0; i < 4; ++i) {
    ids.push_back(random_ids(80, model.info().vocabulary, i));
    want[i] = hash(all_logits(model, ids[i]));
  }
  std::vector<std::string> failures(4);
  {
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < 4; ++i)
      threads.emplace_back([&, i] {  // Boost's assertions belong to the main thread
        auto runner = Runner::create(model, {.context = 80, .max_rows = 5, .wanted_rows = 5, .threads = 2});
        if (!runner) {
          failures[i] = runner.error().message();
          return;
        }
        auto session = Session::create(*runner);
        uint64_t h = 0;
        for (size_t at = 0; at < 80 && session; at += 5) {
          const linnet_step_entry entry{session->get(), ids[i].data() + at, 5, LINNET_WANT_ALL};
          uint64_t stride = 0;
          if (!runner->step({&entry, 1}).ok()) {
            failures[i] = "step";
            return;
          }
          const auto logits = runner->logits(&stride);
          for (uint32_t r = 0; r < 5; ++r) h = XXH3_64bits_withSeed(logits->data() + r * stride, model.info().vocabulary * sizeof(float), h);
        }
        got[i] = h;
      });
    for (auto& t : threads) t.join();
  }
  for (uint32_t i = 0; i < 4; ++i) {
    BOOST_TEST(failures[i] == "");
    BOOST_TEST(got[i] == want[i]);
  }
}

BOOST_AUTO_TEST_CASE(two_threads_in_one_runner_are_told_so) {
  struct Meet {
    std::atomic<int> inside{0}, go{0};
  } meet;
  linnet_op_def def{};
  def.size = sizeof def;
  def.name = "select_rows";
  def.min_version = def.max_version = 1;
  def.context = &meet;
  def.plan = [](void*, linnet_op_plan* p) {
    p->output_widths[0] = p->node->inputs[0]->width;
    return LINNET_OK;
  };
  def.eval = [](const linnet_op_eval* e) {
    auto* m = static_cast<Meet*>(e->op_context);
    m->inside = 1;
    while (!m->go) std::this_thread::yield();
    std::memset(e->outputs[0].data, 0, e->outputs[0].rows * e->outputs[0].stride * sizeof(float));
    return LINNET_OK;
  };
  const Registry registry = registry_for(nullptr);
  linnet_error error{};
  BOOST_REQUIRE_EQUAL(linnet_registry_add(registry.get(), &def, 1, &error), LINNET_OK);
  Model model = need(Model::open(convert_golden("llama-gqa-6over2"), {.registry = registry.get()}));
  Runner runner = need(Runner::create(model, {.sessions = 2}));
  Session a = need(Session::create(runner)), b = need(Session::create(runner));
  const std::vector<int32_t> ids{1, 2, 3};
  Status first;
  std::thread other([&] { first = a.prefill(ids); });
  while (!meet.inside) std::this_thread::yield();
  BOOST_TEST(b.prefill(ids).code() == LINNET_BUSY);
  meet.go = 1;
  other.join();
  BOOST_TEST(first.ok());
  BOOST_TEST(b.position() == 0u);
}

BOOST_AUTO_TEST_CASE(a_host_brings_its_own_threads) {
  struct Pool {
    int calls = 0;
    static void run(void* context, uint32_t threads, void (*job)(void*, uint32_t), void* argument) {
      ++static_cast<Pool*>(context)->calls;
      std::vector<std::thread> own;
      for (uint32_t i = 1; i < threads; ++i) own.emplace_back(job, argument, i);
      job(argument, 0);
      for (auto& t : own) t.join();
    }
  } pool;
  const linnet_thread_pool hosts{Pool::run, &pool};
  Model model = need(Model::open(convert_golden("llama-gqa-6over2")));
  const auto ids = random_ids(20, model.info().vocabulary);
  Runner runner = need(Runner::create(model, {.context = 20, .max_rows = 20, .wanted_rows = 20, .threads = 3, .pool = &hosts}));
  Session s = need(Session::create(runner));
  BOOST_TEST(hash(all_logits(runner, s, ids)) == hash(all_logits(model, ids)));
  BOOST_TEST(pool.calls > 0);
}

BOOST_AUTO_TEST_CASE(a_cancel_flag_from_another_thread_ends_a_prefill) {
  Model model = need(Model::open(convert_golden("llama-12-layers")));
  Runner runner = need(Runner::create(model, {.context = 4096, .max_rows = 1, .threads = 2}));
  Session s = need(Session::create(runner));
  std::atomic<int> stop{0};
  runner.cancel_on(&stop);
  const auto ids = random_ids(4096, model.info().vocabulary);
  std::thread other([&] { stop = 1; });
  const Status result = s.prefill(ids);
  other.join();
  BOOST_TEST(result.code() == LINNET_CANCELLED);
  runner.cancel_on(nullptr);
  const auto at = s.position();
  BOOST_TEST(at < 4096u);
  need(s.prefill({ids.data() + at, 3}));
  BOOST_TEST(s.position() == at + 3);
}

// Never more than the processors this process may use (J3).
BOOST_AUTO_TEST_CASE(the_default_number_of_threads_obeys_affinity) {
  Model model = need(Model::open(convert_golden("llama-gqa-6over2")));
  const auto threads = [&] { return need(plan(model)).threads; };
  cpu_set_t usable, one;
  BOOST_REQUIRE(sched_getaffinity(0, sizeof usable, &usable) == 0);
  const uint32_t all = threads();
  BOOST_TEST(all >= 1u);
  BOOST_TEST(all <= static_cast<uint32_t>(CPU_COUNT(&usable)));
  int first = 0;
  while (!CPU_ISSET(first, &usable)) ++first;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  BOOST_REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
  const uint32_t pinned = threads();
  BOOST_REQUIRE(sched_setaffinity(0, sizeof usable, &usable) == 0);
  BOOST_TEST(pinned == 1u);
}

// Linux wakes a thread on its waker's processor if there are few, for the two to take turns at every barrier till the next tick: the first
// step after a pause took 20 times as long. A worker may go anywhere but where the caller runs.
BOOST_AUTO_TEST_CASE(workers_leave_the_caller_its_processor) {
  cpu_set_t usable;
  BOOST_REQUIRE(sched_getaffinity(0, sizeof usable, &usable) == 0);
  struct Seen {
    int caller = -1, after = -1;
    cpu_set_t worker;
  } seen;
  linnet_op_def def{};
  def.size = sizeof def;
  def.name = "select_rows";
  def.min_version = def.max_version = 1;
  def.context = &seen;
  def.plan = [](void*, linnet_op_plan* p) {
    p->output_widths[0] = p->node->inputs[0]->width;
    return LINNET_OK;
  };
  def.eval = [](const linnet_op_eval* e) {
    auto* s = static_cast<Seen*>(e->op_context);
    s->caller = sched_getcpu();
    e->host->parallel(
        e,
        [](void* argument, const linnet_thread* thread) {
          if (thread->index == 1) sched_getaffinity(0, sizeof(cpu_set_t), &static_cast<Seen*>(argument)->worker);
        },
        s);
    s->after = sched_getcpu();
    std::memset(e->outputs[0].data, 0, e->outputs[0].rows * e->outputs[0].stride * sizeof(float));
    return LINNET_OK;
  };
  const Registry registry = registry_for(nullptr);
  linnet_error error{};
  BOOST_REQUIRE_EQUAL(linnet_registry_add(registry.get(), &def, 1, &error), LINNET_OK);
  Model model = need(Model::open(convert_golden("llama-gqa-6over2"), {.registry = registry.get()}));
  Runner runner = need(Runner::create(model, {.threads = 2}));
  Session session = need(Session::create(runner));
  int stayed = 0;
  for (int i = 0; i < 100 && !stayed; ++i) {
    need(session.prefill(std::vector<int32_t>{1}));
    stayed += seen.caller == seen.after;
  }
  BOOST_REQUIRE(stayed);
  // With one processor there is nothing to leave.
  BOOST_TEST((!CPU_ISSET(seen.caller, &seen.worker)) == (CPU_COUNT(&usable) > 1));
  BOOST_TEST(CPU_COUNT(&seen.worker) > 0);
}
