#include "runtime/runner.h"

#include <cinttypes>

#include "runtime/status.h"

namespace linnet::detail {

linnet_code read_runner_options(const linnet_runner_options* options, linnet_runner_options* out, linnet_error* error) {
  linnet_runner_options_init(out);
  if (!options) return LINNET_OK;
  if (options->size < offsetof(linnet_runner_options, buffer))
    return fail(error, LINNET_INVALID_ARGUMENT, "options", {}, "runner options were not set up with linnet_runner_options_init");
  std::memcpy(out, options, options->size < sizeof *out ? options->size : sizeof *out);
  return LINNET_OK;
}

linnet_code Busy::refuse(linnet_error* error) {
  return fail(error, LINNET_BUSY, "runner", {}, "another thread is inside this runner; give each thread its own runner, or take turns");
}

namespace {

// ---- what ops see of the host ----

struct RegionCall {
  linnet_region region;
  void* argument;
  linnet_runner* runner;
};

void run_region(void* argument, uint32_t index) {
  const auto* call = static_cast<RegionCall*>(argument);
  linnet_runner* r = call->runner;
  const linnet_thread thread{index, r->pool.threads(), r->thread_memory + index * r->thread_stride, &r->pool};
  call->region(call->argument, &thread);
}

void host_parallel(const linnet_op_eval* eval, linnet_region region, void* argument) {
  auto* r = static_cast<linnet_runner*>(eval->host_private);
  RegionCall call{region, argument, r};
  r->pool.run(run_region, &call);
}

void host_barrier(const linnet_thread* thread) { static_cast<ThreadPool*>(thread->host_private)->barrier(); }

linnet_code host_fail(const linnet_op_eval* eval, linnet_code code, const char* message) {
  auto* r = static_cast<linnet_runner*>(eval->host_private);
  return fail(&r->op_error, code, eval->node->op, {}, "%s", message);
}

// ---- creation ----

struct Builder {
  linnet_runner* r;
  const linnet_model* m;
  const Plan& p;
  linnet_rows* next_args;
  linnet_state_memory* next_states;

  template <typename T>
  T* at(const Region& region) {
    return reinterpret_cast<T*>(r->block + region.offset);
  }

  void view(const linnet_value* v, uint64_t stride, uint8_t* data, linnet_rows* out) { *out = {data, 0, v ? v->width : 0, stride}; }

  // base: where the function's values lie. A body's arguments are set at each call.
  void fill(const Instruction& step, const StepPlan& plan, const linnet_function& f, uint8_t* base, StepRun* run) {
    run->args = next_args;
    run->states = next_states;
    run->model_memory = at<uint8_t>(p.model_memory) + plan.model_offset;
    run->session_memory = at<uint8_t>(p.session_memory) + plan.session_offset;
    run->body_bytes = plan.body_bytes;
    for (uint32_t i = 0; i < step.node.input_count + step.node.output_count; ++i) {
      const uint32_t local = step.values[i];
      if (local == kAbsent) {
        *next_args++ = linnet_rows{};
        continue;
      }
      const uint32_t id = f.first_value + local;
      view(&m->values[id], p.value_stride[id], base + p.value_offset[id], next_args++);
    }
    for (uint32_t i = 0; i < step.node.state_count; ++i) *next_states++ = r->state_memory[step.state_ids[i]];
  }

  void build() {
    r->steps = at<StepRun>(p.step_runs);
    r->body_steps = r->steps + m->steps.size();
    r->state_memory = at<linnet_state_memory>(p.state_memory);
    r->segments = at<linnet_segment>(p.segments);
    r->entries = at<StepEntry>(p.entries);
    r->sessions = at<linnet_session>(p.sessions);
    r->page_counts = at<uint32_t>(p.page_counts);
    r->free_pages = at<uint32_t>(p.free_pages);
    r->sampler = at<uint8_t>(p.sampler);
    r->step_memory = at<uint8_t>(p.step_memory);
    r->thread_memory = at<uint8_t>(p.thread_memory);
    r->session_memory = at<uint8_t>(p.session_memory);
    r->thread_stride = p.thread_stride;
    r->session_memory_stride = p.session_memory_stride;
    next_args = at<linnet_rows>(p.args);
    next_states = at<linnet_state_memory>(p.states_of_steps);
    for (uint32_t i = 0; i < m->states.size(); ++i)
      r->state_memory[i] = {at<uint8_t>(p.states) + p.state_offset[i], m->states[i].page_bytes, &m->states[i]};
    auto* arena = at<uint8_t>(p.arena);
    for (uint32_t i = 0; i < m->steps.size(); ++i) {
      const Instruction& step = m->steps[i];
      fill(step, p.steps[i], m->functions[0], arena, &r->steps[i]);
      for (uint32_t j = step.first_step; j < step.first_step + step.steps; ++j)
        fill(m->body_steps[j], p.body_steps[j], m->functions[step.function], r->step_memory, &r->body_steps[j]);
    }
    view(&m->values[0], p.value_stride[0], arena + p.value_offset[0], &r->tokens);
    view(&m->values[1], p.value_stride[1], arena + p.value_offset[1], &r->logits);
    r->free_page_count = r->plan.pages;
    for (uint32_t i = 0; i < r->plan.pages; ++i) r->free_pages[i] = r->plan.pages - 1 - i;  // page 0 goes first
    for (uint32_t i = 0; i < r->plan.session_count; ++i)
      r->sessions[i] = {r, i, 0, 0, 0, at<uint32_t>(p.page_tables) + i * p.table_entries, at<int32_t>(p.tokens) + i * r->plan.context, 0, 0};
  }

  linnet_code init(const Instruction& step, StepRun* run, linnet_error* error) {
    if (!step.def.init) {
      run->initialised = 1;
      return LINNET_OK;
    }
    linnet_op_eval eval{};
    eval.size = sizeof eval;
    eval.host = &r->host;
    eval.node = &step.node;
    eval.model_memory = run->model_memory;
    eval.session_memory = run->session_memory;
    eval.session_stride = r->session_memory_stride;
    eval.states = run->states;
    eval.op_context = step.def.context;
    eval.host_private = r;
    r->op_error = {};
    const linnet_code code = step.def.init(step.def.context, &eval);
    if (code)
      return fail(error, code, step.node.op, {}, "node %u (%s): init failed: %s", step.node.index, step.node.op,
                  r->op_error.message[0] ? r->op_error.message : linnet_code_name(code));
    run->initialised = 1;
    return LINNET_OK;
  }
};

void destroy_ops(linnet_runner* r) {
  const linnet_model* m = r->model;
  const auto end = [](const Instruction& step, const StepRun& run) {
    if (run.initialised && step.def.destroy) step.def.destroy(step.def.context, run.model_memory);
  };
  for (size_t i = m->body_steps.size(); i-- > 0;) end(m->body_steps[i], r->body_steps[i]);
  for (size_t i = m->steps.size(); i-- > 0;)
    if (m->steps[i].steps == 0) end(m->steps[i], r->steps[i]);
}

void end_runner(linnet_runner* r) {
  r->pool.stop();
  destroy_ops(r);
  linnet_model* model = r->model;
  const linnet_allocator allocator = r->allocator;
  uint8_t* block = r->owns_block ? r->block : nullptr;
  const uint64_t bytes = r->plan.total;
  r->~linnet_runner();
  if (block) allocator.free(allocator.context, block, bytes, 64);
  linnet_model_release(model);
}

}  // namespace
}  // namespace linnet::detail

using namespace linnet::detail;

extern "C" {

void linnet_runner_options_init(linnet_runner_options* options) {
  *options = linnet_runner_options{};
  options->size = sizeof *options;
}

linnet_code linnet_model_plan(const linnet_model* model, const linnet_runner_options* options, linnet_plan* out, linnet_error* error) {
  Plan plan(model->allocator);
  const linnet_code code = make_plan(model, options, &plan, error);
  if (code == LINNET_OK) *out = plan.totals;
  return code;
}

linnet_code linnet_runner_create(linnet_model* model, const linnet_runner_options* options, linnet_runner** out, linnet_error* error) {
  *out = nullptr;
  Plan plan(model->allocator);
  if (const auto code = make_plan(model, options, &plan, error)) return code;
  linnet_runner_options o;
  if (const auto code = read_runner_options(options, &o, error)) return code;
  const uint64_t total = plan.totals.total;
  const linnet_allocator allocator = o.allocator && o.allocator->alloc ? *o.allocator : model->allocator;
  auto* block = static_cast<uint8_t*>(o.buffer);
  if (block) {
    if (reinterpret_cast<uintptr_t>(block) % 64)
      return fail(error, LINNET_INVALID_ARGUMENT, "buffer", {total, o.buffer_bytes},
                  "the buffer lies %zu bytes off a 64-byte boundary; align it to 64 (%" PRIu64 " bytes are needed)",
                  static_cast<size_t>(reinterpret_cast<uintptr_t>(block) % 64), total);
    if (o.buffer_bytes < total)
      return fail(error, LINNET_BUFFER_TOO_SMALL, "buffer", {total, o.buffer_bytes},
                  "the buffer has %" PRIu64 " bytes; %" PRIu64 " are needed for these options", o.buffer_bytes, total);
  } else {
    block = static_cast<uint8_t*>(allocator.alloc(allocator.context, total, 64));
    if (!block) return no_memory(error, total, "a runner; ask linnet_model_plan before, or lower context, sessions or max_rows");
  }
  std::memset(block, 0, plan.states.offset);  // all but the pages, which are written before they are read
  auto* r = new (block) linnet_runner{};
  r->allocator = allocator;
  r->block = block;
  r->owns_block = !o.buffer;
  r->model = model;
  linnet_model_retain(model);
  r->plan = plan.totals;
  r->host = {sizeof(linnet_host), LINNET_OP_ABI, model->registry->math, host_parallel, host_barrier, host_fail};
  Builder builder{r, model, plan, nullptr, nullptr};
  builder.build();
  linnet_code code = r->pool.start(r->plan.threads, o.pool, reinterpret_cast<ThreadPool::Worker*>(block + plan.workers.offset), error);
  {
    const FloatMode mode;
    for (uint32_t i = 0; i < model->steps.size() && !code; ++i)
      if (model->steps[i].steps == 0) code = builder.init(model->steps[i], &r->steps[i], error);
    for (uint32_t i = 0; i < model->body_steps.size() && !code; ++i) code = builder.init(model->body_steps[i], &r->body_steps[i], error);
  }
  if (code) {
    end_runner(r);
    return code;
  }
  *out = r;
  return succeed(error);
}

void linnet_runner_release(linnet_runner* runner) {
  if (runner) end_runner(runner);
}

linnet_model* linnet_runner_model(const linnet_runner* runner) { return runner->model; }

void linnet_runner_get_plan(const linnet_runner* runner, linnet_plan* out) { *out = runner->plan; }

uint32_t linnet_runner_free_pages(const linnet_runner* runner) { return runner->free_page_count; }

void linnet_runner_set_cancel(linnet_runner* runner, const volatile int* flag) { runner->cancel = flag; }

}  // extern "C"
