#include "runtime/thread_pool.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "runtime/status.h"

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

namespace linnet::detail {

namespace {

inline void pause() {
#if defined(__x86_64__) || defined(__i386__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

constexpr uint64_t kSpinNs = 50000;

}  // namespace

uint64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
}

FloatMode::FloatMode() : saved_(0) {
#if defined(__x86_64__) || defined(__i386__)
  saved_ = _mm_getcsr();
  _mm_setcsr(0x1F80);
#elif defined(__aarch64__)
  asm volatile("mrs %0, fpcr" : "=r"(saved_));
  asm volatile("msr fpcr, %0" : : "r"(uint64_t{0}));
#endif
}

FloatMode::~FloatMode() {
#if defined(__x86_64__) || defined(__i386__)
  _mm_setcsr(static_cast<unsigned>(saved_));
#elif defined(__aarch64__)
  asm volatile("msr fpcr, %0" : : "r"(saved_));
#endif
}

void wait_while_equal(const std::atomic<uint32_t>& word, uint32_t old, bool spin) {
  const uint64_t start = spin ? now_ns() : 0;
  for (unsigned i = 1; spin; ++i) {
    if (word.load(std::memory_order_acquire) != old) return;
    pause();
    if (i % 64 == 0 && now_ns() - start > kSpinNs) break;
  }
  while (word.load(std::memory_order_acquire) == old) word.wait(old, std::memory_order_acquire);
}

void Barrier::wait() {
  const uint32_t generation = generation_.load(std::memory_order_acquire);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
    arrived_.store(0, std::memory_order_relaxed);
    generation_.store(generation + 1, std::memory_order_release);
    generation_.notify_all();
  } else {
    wait_while_equal(generation_, generation, spin_);
  }
}

namespace {
uint32_t usable_processors() {
#if defined(__linux__)
  cpu_set_t usable;
  if (sched_getaffinity(0, sizeof usable, &usable) == 0) return static_cast<uint32_t>(CPU_COUNT(&usable));
#endif
  const long all = sysconf(_SC_NPROCESSORS_ONLN);
  return all > 0 ? static_cast<uint32_t>(all) : 1;
}
}  // namespace

linnet_code ThreadPool::start(uint32_t threads, const linnet_thread_pool* host, Worker* workers, linnet_error* error) {
  threads_ = threads;
  spin_ = threads <= usable_processors();  // more must not spin: each would keep the one it waits for from running
  barrier_.init(threads, spin_);
  workers_ = workers;
  if (host && host->run) {
    host_ = *host;
    return LINNET_OK;
  }
  for (uint32_t i = 1; i < threads; ++i) {
    workers[i - 1] = {this, i, {}};
    if (const int code = pthread_create(&workers[i - 1].thread, nullptr, enter, &workers[i - 1])) {
      stop();
      return fail(error, LINNET_IO, "threads", {threads, i}, "thread %u of %u could not be made: %s", i + 1, threads, std::strerror(code));
    }
    ++running_;
  }
  return LINNET_OK;
}

void ThreadPool::stop() {
  if (!running_) return;
  stop_.store(true, std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  for (uint32_t i = 0; i < running_; ++i) pthread_join(workers_[i].thread, nullptr);
  running_ = 0;
}

void* ThreadPool::enter(void* worker) {
  const auto* w = static_cast<Worker*>(worker);
  w->pool->work(w->index);
  return nullptr;
}

void ThreadPool::work(uint32_t index) {
  for (uint32_t seen = 0;; ++seen) {
    wait_while_equal(generation_, seen, spin_);
    if (stop_.load(std::memory_order_relaxed)) return;
    {
      const FloatMode mode;
      job_(argument_, index);
    }
    if (done_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_ - 1) done_.notify_one();
  }
}

// Linux wakes a thread where its waker runs, even beside idle processors if there are few, and moves it away at a tick, 4 ms later: the
// two would take turns at every barrier till then. So the workers may run anywhere but where the caller does.
void ThreadPool::keep_apart() {
#if defined(__linux__)
  const int cpu = sched_getcpu();
  if (cpu == callers_ || !spin_ || cpu < 0 || cpu >= CPU_SETSIZE) return;
  cpu_set_t usable;
  if (sched_getaffinity(0, sizeof usable, &usable) != 0) return;
  CPU_CLR(cpu, &usable);
  if (static_cast<uint32_t>(CPU_COUNT(&usable)) < running_) return;
  for (uint32_t i = 0; i < running_; ++i) pthread_setaffinity_np(workers_[i].thread, sizeof usable, &usable);
  callers_ = cpu;
#endif
}

void ThreadPool::run(void (*job)(void*, uint32_t), void* argument) {
  if (threads_ == 1) return job(argument, 0);
  if (host_.run) {
    struct Call {
      void (*job)(void*, uint32_t);
      void* argument;
    } call{job, argument};
    return host_.run(
        host_.context, threads_,
        [](void* c, uint32_t index) {
          const FloatMode mode;
          static_cast<Call*>(c)->job(static_cast<Call*>(c)->argument, index);
        },
        &call);
  }
  keep_apart();
  job_ = job;
  argument_ = argument;
  done_.store(0, std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  job(argument, 0);
  for (uint32_t done; (done = done_.load(std::memory_order_acquire)) != threads_ - 1;) wait_while_equal(done_, done, spin_);
}

namespace {

// Up to n - 1 bytes of a small file; empty if there is none.
void read_small(const char* path, char* text, size_t n) {
  text[0] = 0;
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  const ssize_t got = read(fd, text, n - 1);
  text[got > 0 ? got : 0] = 0;
  close(fd);
}

#if defined(__linux__)
// Cores, of which a core with two hardware threads counts once: the second one adds little to kernels that fill the first one's units.
long physical_cores(const cpu_set_t& usable) {
  cpu_set_t seen;
  CPU_ZERO(&seen);
  long cores = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &usable)) continue;
    char path[96], text[64];
    std::snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
    read_small(path, text, sizeof text);
    const long first = text[0] >= '0' && text[0] <= '9' ? std::strtol(text, nullptr, 10) : cpu;  // the list's lowest names the core
    if (first < 0 || first >= CPU_SETSIZE || CPU_ISSET(first, &seen)) continue;
    CPU_SET(first, &seen);
    ++cores;
  }
  return cores;
}

// Whole processors that the control groups' quotas allow (version 2: "QUOTA PERIOD" or "max PERIOD"), from the process's own group up.
long allowed_by_quota() {
  long allowed = LONG_MAX;
  char text[512], path[640];
  read_small("/proc/self/cgroup", text, sizeof text);
  char* group = std::strstr(text, "0::/");
  if (!group) return allowed;
  group += 3;
  group[std::strcspn(group, "\n")] = 0;
  for (;;) {
    char limit[64];
    std::snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", group);
    read_small(path, limit, sizeof limit);
    long quota = 0, period = 0;
    if (std::sscanf(limit, "%ld %ld", &quota, &period) == 2 && quota > 0 && period > 0) {
      const long cpus = (quota + period - 1) / period;
      allowed = cpus < allowed ? cpus : allowed;
    }
    char* slash = std::strrchr(group, '/');
    if (!slash) return allowed;
    *slash = 0;  // the group above
  }
}
#endif

}  // namespace

uint32_t default_threads() {
  long cores = 0;
#if defined(__linux__)
  cpu_set_t usable;
  if (sched_getaffinity(0, sizeof usable, &usable) == 0) cores = physical_cores(usable);
  const long allowed = allowed_by_quota();
  if (cores > allowed) cores = allowed;
#endif
  if (cores < 1) cores = sysconf(_SC_NPROCESSORS_ONLN);
  return cores < 1 ? 1 : cores > 256 ? 256 : static_cast<uint32_t>(cores);
}

}  // namespace linnet::detail
