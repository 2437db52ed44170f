// The runner: one block of memory, planned to the byte, and the step that runs in it. Sessions are records inside that block.
#pragma once
#include "linnet/c.h"
#include "runtime/plan.h"
#include "runtime/thread_pool.h"

namespace linnet::detail {

// What one instruction is run with; resolved at creation.
struct StepRun {
  linnet_rows* args;  // inputs, then outputs
  linnet_state_memory* states;
  void* model_memory;
  uint8_t* session_memory;
  uint64_t body_bytes;  // StepPlan's
  uint32_t initialised;
};

struct StepEntry {
  linnet_session* session;
  uint32_t count, held_before;  // tokens of this step; pages held before it
};

enum class StepPhase : uint8_t { idle, begun, done };

linnet_code read_runner_options(const linnet_runner_options* options, linnet_runner_options* out, linnet_error* error);

}  // namespace linnet::detail

struct linnet_session {
  linnet_runner* runner;
  uint32_t slot, in_use;
  uint64_t position;
  uint32_t pages_held;  // leading entries of `pages`
  uint32_t* pages;
  int32_t* tokens;
  uint64_t logits_step;  // the step whose logits row is this session's last position; 0: none
  uint32_t logits_row;
};

struct linnet_runner {
  linnet_allocator allocator;
  uint8_t* block;
  bool owns_block;
  linnet_model* model;
  linnet_plan plan;
  linnet::detail::ThreadPool pool;
  linnet_host host;
  linnet::detail::StepRun *steps, *body_steps;
  linnet_state_memory* state_memory;
  linnet_segment* segments;
  linnet::detail::StepEntry* entries;
  linnet_session* sessions;
  uint32_t *page_counts, *free_pages, free_page_count;
  uint8_t* sampler;
  uint8_t *step_memory, *thread_memory, *session_memory;
  uint64_t thread_stride, session_memory_stride;
  linnet_rows tokens, logits;  // function 0's input and output
  const volatile int *cancel, *reply_cancel;  // the host's, and that of the writer's reply in hand
  // the step in hand
  std::atomic<uint32_t> busy;  // a call is inside the runner
  linnet::detail::StepPhase phase;
  uint32_t entry_count, rows, wanted_rows, cursor;
  uint64_t step_serial;   // of the last finished step
  linnet_error op_error;  // what host->fail recorded
};

namespace linnet::detail {

// Holds the runner for one call; a second caller is told LINNET_BUSY.
class Busy {
 public:
  explicit Busy(linnet_runner* r) : runner_(r), held_(r->busy.exchange(1, std::memory_order_acquire) == 0) {}
  ~Busy() {
    if (held_) runner_->busy.store(0, std::memory_order_release);
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;
  bool held() const { return held_; }
  static linnet_code refuse(linnet_error* error);

 private:
  linnet_runner* runner_;
  bool held_;
};

// step.cpp; the caller holds Busy.
linnet_code step_begin(linnet_runner* r, const linnet_step_entry* entries, uint32_t count, linnet_error* error);
linnet_code step_advance(linnet_runner* r, uint64_t budget_ns, int* done, linnet_error* error);
void step_commit(linnet_runner* r, const uint32_t* keep);
void step_abort(linnet_runner* r);
linnet_code step_run(linnet_runner* r, const linnet_step_entry* entries, uint32_t count, linnet_error* error);

// session.cpp
uint32_t take_page(linnet_runner* r);  // kNoPage if there is none; count 1
void drop_pages(linnet_session* s, uint32_t keep);
void copy_page(linnet_runner* r, uint32_t from, uint32_t to);

}  // namespace linnet::detail
