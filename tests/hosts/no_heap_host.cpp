// No heap after creation: counts every call into malloc and its kin while a thousand tokens are read, decoded and sampled.
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <vector>

#include "linnet/linnet.h"

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void __libc_free(void*);
}

namespace {
std::atomic<long> calls{0};
std::atomic<bool> counting{false};
void count() {
  if (counting.load(std::memory_order_relaxed)) calls.fetch_add(1, std::memory_order_relaxed);
}
}  // namespace

extern "C" {
void* malloc(size_t n) {
  count();
  return __libc_malloc(n);
}
void* calloc(size_t n, size_t m) {
  count();
  return __libc_calloc(n, m);
}
void* realloc(void* p, size_t n) {
  count();
  return __libc_realloc(p, n);
}
void* memalign(size_t a, size_t n) {
  count();
  return __libc_memalign(a, n);
}
void* aligned_alloc(size_t a, size_t n) {
  count();
  return __libc_memalign(a, n);
}
int posix_memalign(void** p, size_t a, size_t n) {
  count();
  *p = __libc_memalign(a, n);
  return *p ? 0 : ENOMEM;
}
void free(void* p) {
  count();
  __libc_free(p);
}
}

int main(int, char** argv) {
  auto model = linnet::Model::open(argv[1]);
  if (!model) return 1;
  auto runner = linnet::Runner::create(*model, {.sessions = 3, .threads = 2});
  if (!runner) return 1;
  auto session = linnet::Session::create(*runner);
  linnet::Writer writer(*runner);
  if (!session || !writer.status().ok()) return 1;
  const auto context = runner->plan().context;
  std::vector<int32_t> prompt(100);
  for (size_t i = 0; i < prompt.size(); ++i) prompt[i] = static_cast<int32_t>(i);
  linnet::Sampling greedy, drawn;
  drawn.temperature = 1;
  drawn.top_k = 40;
  drawn.top_p = 0.9f;
  drawn.repetition_penalty = 1.1f;

  calls = 0;
  counting = true;  // prefill, 1000 decode steps greedy and drawn, forks and cuts
  bool ok = session->prefill(prompt).ok();
  for (int i = 0; i < 1000 && ok; ++i) {
    if (session->position() == context) ok = session->truncate(50).ok();
    ok = ok && bool(session->next(i % 2 ? greedy : drawn));
  }
  auto fork = session->fork();
  ok = ok && fork && fork->truncate(10).ok() && fork->prefill(prompt).ok();
  counting = false;
  const long in_session = calls;

  const linnet::WriteOptions options{.max_tokens = 100, .temperature = 0.8f, .seed = 3};
  auto reply = writer.complete("Once upon a time", options);
  auto first = reply.next();  // reads the prompt; encoding may allocate
  calls = 0;
  counting = true;
  while (reply.next()) {}
  counting = false;
  const long in_writer = calls;

  std::printf("allocator calls: %ld in 1000 decode steps, %ld in a streamed reply\n", in_session, in_writer);
  return ok && first && reply.error().ok() && in_session == 0 && in_writer == 0 ? 0 : 1;
}
