// SPMD regions: every thread runs the same function, with barriers inside. Threads spin for at most 50 us, then sleep.
#pragma once
#include <pthread.h>
#include <atomic>
#include <cstdint>

#include "linnet/c.h"

namespace linnet::detail {

// Sets the floating-point mode that every kernel counts on (MXCSR 0x1F80, FPCR 0) and puts the caller's back.
class FloatMode {
 public:
  FloatMode();
  ~FloatMode();
  FloatMode(const FloatMode&) = delete;
  FloatMode& operator=(const FloatMode&) = delete;

 private:
  uint64_t saved_;
};

// Spins for at most 50 us (or not at all), then sleeps, until `word` differs from `old`.
void wait_while_equal(const std::atomic<uint32_t>& word, uint32_t old, bool spin);

// A barrier for a fixed number of threads; the last one in lets the others go.
class Barrier {
 public:
  void init(uint32_t threads, bool spin) { threads_ = threads, spin_ = spin; }
  void wait();

 private:
  uint32_t threads_ = 1;
  bool spin_ = true;
  alignas(64) std::atomic<uint32_t> arrived_{0};
  alignas(64) std::atomic<uint32_t> generation_{0};
};

class ThreadPool {
 public:
  struct Worker {
    ThreadPool* pool;
    uint32_t index;
    pthread_t thread;
  };
  // workers: threads - 1 records of the caller's memory. With a host's pool no thread is made. On failure nothing runs.
  linnet_code start(uint32_t threads, const linnet_thread_pool* host, Worker* workers, linnet_error* error);
  void stop();
  // job(argument, index) on every thread, the caller being index 0; returns when all are done.
  void run(void (*job)(void*, uint32_t), void* argument);
  void barrier() {
    if (threads_ > 1) barrier_.wait();
  }
  uint32_t threads() const { return threads_; }

 private:
  static void* enter(void* worker);
  void work(uint32_t index);
  void keep_apart();
  uint32_t threads_ = 1, running_ = 0;
  bool spin_ = true;
  int callers_ = -1;  // processor that the workers leave to the caller
  linnet_thread_pool host_{};
  Worker* workers_ = nullptr;
  Barrier barrier_;
  void (*job_)(void*, uint32_t) = nullptr;
  void* argument_ = nullptr;
  std::atomic<bool> stop_{false};
  alignas(64) std::atomic<uint32_t> generation_{0};
  alignas(64) std::atomic<uint32_t> done_{0};
};

uint64_t now_ns();            // of a clock that only goes forward
uint32_t default_threads();  // physical cores that affinity and control groups leave this process

}  // namespace linnet::detail
