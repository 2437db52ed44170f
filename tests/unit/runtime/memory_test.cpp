// The plan is exact, known before the weights, and all there is.
#include <sys/mman.h>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <cerrno>

#include "toy_ops.h"

using namespace linnet;
using namespace linnet::tests;
namespace data = boost::unit_test::data;

namespace {

const char* const kLlama = "llama-gqa-6over2";

// Counts what is asked of it, and can run dry.
struct Counting {
  size_t live = 0, calls = 0, refuse_after = SIZE_MAX;
  linnet_allocator allocator() {
    return {[](void* c, size_t size, size_t alignment) -> void* {
              auto* self = static_cast<Counting*>(c);
              if (self->calls >= self->refuse_after) return nullptr;
              ++self->calls;
              self->live += size;
              return std::aligned_alloc(64, (std::max(size, alignment) + 63) / 64 * 64);
            },
            [](void* c, void* p, size_t size, size_t) {
              static_cast<Counting*>(c)->live -= size;
              std::free(p);
            },
            this};
  }
};

class Pages {  // whole pages, whose protection can be changed
 public:
  explicit Pages(const std::string& bytes) : size_((bytes.size() + 4095) / 4096 * 4096) {
    data_ = static_cast<char*>(mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    std::memcpy(data_, bytes.data(), bytes.size());
  }
  ~Pages() { munmap(data_, size_); }
  char* data() { return data_; }
  bool protect(size_t from, int how) { return mprotect(data_ + from, size_ - from, how) == 0; }

 private:
  size_t size_;
  char* data_;
};

}  // namespace

BOOST_DATA_TEST_CASE(exactly_the_planned_bytes_work, data::make(golden_names()), name) {  // H1
  Model model = need(Model::open(convert_golden(name)));
  for (RunnerOptions options :
       {RunnerOptions{.threads = 1}, RunnerOptions{.context = 11, .max_rows = 5, .sessions = 3, .wanted_rows = 4, .threads = 3}}) {
    const linnet_plan plan = need(linnet::plan(model, options));
    BOOST_TEST(plan.total == plan.arena + plan.states + plan.scratch + plan.sessions + plan.runner);
    constexpr size_t kGuard = 256;
    std::vector<unsigned char> memory(plan.total + 2 * kGuard + 64, 0xA5);
    auto* base = memory.data() + kGuard;
    base += (64 - reinterpret_cast<uintptr_t>(base) % 64) % 64;
    const auto buffer = [&](size_t n) { return std::span<std::byte>(reinterpret_cast<std::byte*>(base), n); };
    for (const size_t too_few : {size_t{1}, size_t{64}, static_cast<size_t>(plan.total - 1)}) {
      options.buffer = buffer(too_few);
      const auto refused = Runner::create(model, options);
      BOOST_REQUIRE(!refused);
      BOOST_TEST(refused.error().code() == LINNET_BUFFER_TOO_SMALL);
      BOOST_TEST(refused.error().details().expected == plan.total);
      BOOST_TEST(refused.error().details().actual == too_few);
      BOOST_TEST(std::string(refused.error().message()).find(std::to_string(plan.total)) != std::string::npos);
    }
    options.buffer = {reinterpret_cast<std::byte*>(base) + 1, static_cast<size_t>(plan.total)};
    const auto misaligned = Runner::create(model, options);
    BOOST_REQUIRE(!misaligned);
    BOOST_TEST(misaligned.error().code() == LINNET_INVALID_ARGUMENT);
    BOOST_TEST(misaligned.error().details().expected == plan.total);

    options.buffer = buffer(plan.total);
    const auto ids = random_ids(11, model.info().vocabulary);
    {
      Runner runner = need(Runner::create(model, options));
      Session session = need(Session::create(runner));
      need(session.prefill(ids));
      const auto logits = need(session.logits());
      const auto want = all_logits(model, ids).back();
      BOOST_TEST(std::vector<float>(logits.begin(), logits.end()) == want, boost::test_tools::per_element());
    }
    for (const unsigned char* p = memory.data(); p < base; ++p) BOOST_REQUIRE(*p == 0xA5);
    for (const unsigned char* p = base + plan.total; p < memory.data() + memory.size(); ++p) BOOST_REQUIRE(*p == 0xA5);
  }
}

BOOST_AUTO_TEST_CASE(opening_and_planning_touch_no_weight) {
  const std::string file = slurp(convert_golden(kLlama));
  Pages pages(file);
  // The weights section starts on 64 KiB; make it unreadable: a touch would be a crash.
  BOOST_REQUIRE(file.size() > 65536);
  BOOST_REQUIRE(pages.protect(65536, PROT_NONE));
  Model model = need(Model::open(std::span<const std::byte>(reinterpret_cast<const std::byte*>(pages.data()), file.size())));
  const linnet_plan plan = need(linnet::plan(model, {.context = 64}));
  BOOST_TEST(plan.total > 0u);
  Runner runner = need(Runner::create(model, {.context = 64}));
  BOOST_TEST(runner.plan().total == plan.total);
  BOOST_REQUIRE(pages.protect(65536, PROT_READ));
  Session s = need(Session::create(runner));
  need(s.prefill(random_ids(3, model.info().vocabulary)));
}

BOOST_AUTO_TEST_CASE(a_runner_takes_one_block_and_then_nothing) {
  Counting counting;
  const linnet_allocator allocator = counting.allocator();
  Model model = need(Model::open(convert_golden(kLlama)));
  const linnet_plan plan = need(linnet::plan(model, {.context = 100, .sessions = 2, .threads = 2}));
  {
    Runner runner = need(Runner::create(model, {.context = 100, .sessions = 2, .threads = 2, .allocator = &allocator}));
    BOOST_TEST(counting.calls == 1u);
    BOOST_TEST(counting.live == plan.total);
    Session s = need(Session::create(runner));
    need(s.prefill(random_ids(50, model.info().vocabulary)));
    Session t = need(s.fork());
    greedy(t, 20);
    BOOST_TEST(counting.calls == 1u);
  }
  BOOST_TEST(counting.live == 0u);
}

BOOST_AUTO_TEST_CASE(running_out_of_memory_is_an_error_at_every_allocation) {
  const std::string path = convert_golden(kLlama);
  size_t needed = 0;
  for (size_t allowed = 0;; ++allowed) {
    Counting counting;
    counting.refuse_after = allowed;
    const linnet_allocator allocator = counting.allocator();
    bool done = false;
    {
      auto model = Model::open(path, {.allocator = &allocator});
      if (!model) BOOST_TEST(model.error().code() == LINNET_NO_MEMORY);
      else {
        auto runner = Runner::create(*model, {.context = 64});
        if (!runner) BOOST_TEST(runner.error().code() == LINNET_NO_MEMORY);
        done = bool(runner);
      }
    }
    BOOST_REQUIRE_EQUAL(counting.live, 0u);
    if (done) {
      needed = allowed;
      break;
    }
    BOOST_REQUIRE(allowed < 1000);
  }
  BOOST_TEST(needed > 10u);
}

BOOST_AUTO_TEST_CASE(memory_stays_flat) {  // H3
  Counting counting;
  const linnet_allocator allocator = counting.allocator();
  const std::string path = convert_golden(kLlama);
  Model model = need(Model::open(path, {.allocator = &allocator}));
  const size_t base = counting.live;
  for (int i = 0; i < 1000; ++i) {
    Runner runner = need(Runner::create(model, {.context = 32, .threads = i % 100 == 0 ? 2u : 1u}));
    Session s = need(Session::create(runner));
    if (i % 50 == 0) need(s.prefill(random_ids(5, model.info().vocabulary)));
  }
  BOOST_TEST(counting.live == base);
  Runner runner = need(Runner::create(model, {.context = 100, .threads = 1}));
  const size_t with_runner = counting.live;
  Session s = need(Session::create(runner));
  const Sampling sampling;
  need(s.prefill(random_ids(1, model.info().vocabulary)));
  for (int i = 0; i < 10000; ++i) {
    if (s.position() == 100) {
      s.reset();
      need(s.prefill(random_ids(1, model.info().vocabulary)));
    }
    need(s.next(sampling));
  }
  BOOST_TEST(counting.live == with_runner);
  const std::string bytes = slurp(path);
  TempDir tmp;
  spill(tmp.path() / "cut.linnet", bytes.substr(0, bytes.size() / 2));
  for (int i = 0; i < 200; ++i) BOOST_REQUIRE(!Model::open(tmp / "cut.linnet", {.allocator = &allocator}));
  BOOST_TEST(counting.live == with_runner);
}

BOOST_AUTO_TEST_CASE(options_out_of_range_are_refused_by_name) {
  Model model = need(Model::open(convert_golden(kLlama)));
  const auto subject = [&](const RunnerOptions& o) {
    const auto plan = linnet::plan(model, o);
    BOOST_REQUIRE(!plan);
    BOOST_TEST(plan.error().code() == LINNET_INVALID_ARGUMENT);
    return std::string(plan.error().subject());
  };
  BOOST_TEST(subject({.context = uint64_t{1} << 40}) == "context");
  BOOST_TEST(subject({.max_rows = 1u << 20}) == "max_rows");
  BOOST_TEST(subject({.sessions = 1u << 20}) == "sessions");
  BOOST_TEST(subject({.pages = 1u << 30}) == "pages");
  BOOST_TEST(subject({.max_rows = 8, .wanted_rows = 9}) == "wanted_rows");
  BOOST_TEST(subject({.threads = 100000}) == "threads");
}

BOOST_AUTO_TEST_CASE(an_ops_wishes_are_part_of_the_plan) {
  Toy plain, greedy_toy;
  greedy_toy.model_bytes = 1000;
  greedy_toy.session_bytes = 70;
  greedy_toy.step_bytes = 1 << 20;
  greedy_toy.thread_bytes = 100000;
  const Registry a = registry_with(plain), b = registry_with(greedy_toy);
  const std::string path = convert_golden(kLlama);
  Model small = need(Model::open(path, {.registry = a.get()})), large = need(Model::open(path, {.registry = b.get()}));
  const RunnerOptions options{.context = 64, .sessions = 2, .threads = 2};
  const linnet_plan p = need(linnet::plan(small, options)), q = need(linnet::plan(large, options));
  BOOST_TEST(q.scratch > p.scratch + (1 << 20) - 100000);
  BOOST_TEST(q.total - p.total == q.scratch - p.scratch);
  {
    Runner runner = need(Runner::create(large, options));
    BOOST_TEST(greedy_toy.inits == 1);
    Session s = need(Session::create(runner));
    need(s.prefill(random_ids(10, large.info().vocabulary)));
  }
  BOOST_TEST(greedy_toy.destroys == 1);
}

BOOST_AUTO_TEST_CASE(a_failed_init_undoes_the_others) {
  Toy toy;
  toy.init_with = LINNET_UNSUPPORTED;
  const Registry registry = registry_with(toy);
  Model model = need(Model::open(convert_golden(kLlama), {.registry = registry.get()}));
  const auto runner = Runner::create(model);
  BOOST_REQUIRE(!runner);
  BOOST_TEST(runner.error().code() == LINNET_UNSUPPORTED);
  BOOST_TEST(std::string(runner.error().message()).find("does not want to") != std::string::npos);
  BOOST_TEST(toy.destroys == 0);
}
