// Memory planning: where every byte of a runner lies, from the graph and the options alone.
#pragma once
#include "runtime/model.h"

namespace linnet::detail {

// What one instruction asked for. Offsets are from the start of their regions.
struct StepPlan {
  uint64_t model_offset, model_bytes;
  uint64_t session_offset, session_bytes;
  uint64_t step_bytes, thread_bytes;
  uint64_t body_bytes;  // of a body's own values, in front of its ops' step_bytes
};

// A region of the runner's block of memory.
struct Region {
  uint64_t offset = 0, bytes = 0;
};

struct Plan {
  explicit Plan(const linnet_allocator& a) : steps(a), body_steps(a), value_offset(a), value_stride(a), state_offset(a) {}
  linnet_plan totals{};
  Vec<StepPlan> steps, body_steps;  // as Model.steps, Model.body_steps
  Vec<uint64_t> value_offset;       // by value id: in the arena (function 0) or in the step scratch (bodies)
  Vec<uint64_t> value_stride;       // elements between rows; for values with width_s, at full capacity
  Vec<uint64_t> state_offset;       // in the states region
  Region runner, step_runs, args, states_of_steps, state_memory, workers, segments, entries;  // records of the runner
  Region sessions, page_tables, tokens, page_counts, free_pages, sampler;                     // records of sessions
  Region arena, model_memory, session_memory, step_memory, thread_memory, states;
  uint64_t session_memory_stride = 0, thread_stride = 0, table_entries = 0;
};

linnet_code make_plan(const linnet_model* model, const linnet_runner_options* options, Plan* plan, linnet_error* error);

}  // namespace linnet::detail
