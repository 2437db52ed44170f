#include "runtime/plan.h"

#include <algorithm>
#include <cinttypes>

#include "runtime/runner.h"
#include "runtime/state_page.h"
#include "runtime/status.h"

namespace linnet::detail {
namespace {

constexpr uint64_t kAlign = 64;
constexpr uint32_t kMaxRows = 1u << 16, kMaxSessions = 1u << 16, kMaxThreads = 256;
constexpr uint64_t kMaxContext = uint64_t{1} << 30, kMaxPages = uint64_t{1} << 26;
constexpr uint64_t kDefaultContext = 4096, kDefaultRows = 64;
constexpr size_t kMaxLive = 4096;  // values alive at once: a model has a dozen; this keeps a stranger's graph from quadratic work

struct Planner {
  const linnet_model* m;
  Plan* p;
  linnet_error* error;
  bool overflow = false;

  uint64_t add(uint64_t a, uint64_t b) {
    uint64_t r;
    overflow |= add_overflows(a, b, &r);
    return r;
  }
  uint64_t mul(uint64_t a, uint64_t b) {
    uint64_t r;
    overflow |= mul_overflows(a, b, &r);
    return r;
  }
  uint64_t align(uint64_t n) { return add(n, kAlign - 1) & ~(kAlign - 1); }

  linnet_code refuse(const char* field, uint64_t least, uint64_t most, uint64_t got) {
    return fail(error, LINNET_INVALID_ARGUMENT, field, {most, got}, "option %s is %" PRIu64 "; it can be %" PRIu64 " to %" PRIu64, field, got, least,
                most);
  }

  linnet_code read_options(const linnet_runner_options& o) {
    linnet_plan& t = p->totals;
    const linnet_model_info& info = m->info;
    const uint64_t trained = info.context_limit > 0     ? uint64_t(info.context_limit)
                             : info.context_trained > 0 ? uint64_t(info.context_trained)
                                                        : kDefaultContext;
    t.context = o.context ? o.context : std::min(trained, kDefaultContext);
    if (t.context > kMaxContext) return refuse("context", 1, kMaxContext, t.context);
    if (info.context_limit > 0 && t.context > uint64_t(info.context_limit))
      return fail(error, LINNET_INVALID_ARGUMENT, "context", {uint64_t(info.context_limit), t.context},
                  "option context is %" PRIu64 "; the model has learned positions for %lld only", t.context,
                  static_cast<long long>(info.context_limit));
    t.max_rows = o.max_rows ? o.max_rows : static_cast<uint32_t>(std::min(kDefaultRows, t.context));
    if (t.max_rows > kMaxRows) return refuse("max_rows", 1, kMaxRows, t.max_rows);
    t.session_count = o.sessions ? o.sessions : 1;
    if (t.session_count > kMaxSessions) return refuse("sessions", 1, kMaxSessions, t.session_count);
    p->table_entries = (t.context + kPage - 1) / kPage;
    const uint64_t pages = o.pages ? o.pages : p->table_entries * t.session_count;
    if (pages > kMaxPages) return refuse("pages", 1, kMaxPages, pages);
    t.pages = static_cast<uint32_t>(pages);
    t.wanted_rows = o.wanted_rows ? o.wanted_rows : std::min(t.session_count, t.max_rows);
    if (t.wanted_rows > t.max_rows) return refuse("wanted_rows", 1, t.max_rows, t.wanted_rows);
    t.threads = o.threads ? o.threads : default_threads();
    if (t.threads > kMaxThreads) return refuse("threads", 1, kMaxThreads, t.threads);
    return LINNET_OK;
  }

  uint64_t most_rows(const linnet_value& v) const {
    return v.leading == LINNET_STEP_ROWS ? p->totals.max_rows : v.leading == LINNET_WANTED_ROWS ? p->totals.wanted_rows : 1;
  }

  uint64_t value_bytes(uint32_t id) {  // also sets the stride
    const linnet_value& v = m->values[id];
    const uint64_t elements = round_up(add(v.width, mul(v.width_s, p->totals.context)), LINNET_ROW_ALIGN);
    p->value_stride[id] = elements;
    return align(mul(mul(most_rows(v), elements), 4));
  }

  linnet_code plan_op(const Instruction& step, StepPlan* out) {
    linnet_op_plan request{};
    request.size = sizeof request;
    request.node = &step.node;
    request.max_rows = p->totals.max_rows;
    request.max_wanted_rows = p->totals.wanted_rows;
    request.sessions = p->totals.session_count;
    request.threads = p->totals.threads;
    request.capacity = p->totals.context;
    for (uint32_t& w : request.output_widths) w = UINT32_MAX;
    linnet_error inner{};
    request.error = &inner;
    linnet_code code = step.def.plan(step.def.context, &request);
    if (!code)
      for (uint32_t i = 0; i < step.node.output_count && !code; ++i)
        if (request.output_widths[i] != UINT32_MAX && step.node.outputs[i]->width != request.output_widths[i])
          code = fail(&inner, LINNET_BAD_FILE, step.node.outputs[i]->name, {request.output_widths[i], step.node.outputs[i]->width},
                      "output %u is %u wide in the graph; the op makes %u", i, step.node.outputs[i]->width, request.output_widths[i]);
    if (code) {
      if (error) {
        *error = inner;
        error->code = code;
        error->node = static_cast<int32_t>(step.node.index);
        copy_text(error->op, sizeof error->op, step.node.op);
        std::snprintf(error->message, sizeof error->message, "node %u (%.31s): %.440s", step.node.index, step.node.op,
                      inner.message[0] ? inner.message : "plan failed and said no more");
      }
      return code;
    }
    *out = {0, align(request.model_bytes), 0, align(request.session_bytes), align(request.step_bytes), align(request.thread_bytes), 0};
    out->model_offset = p->model_memory.bytes;
    p->model_memory.bytes = add(p->model_memory.bytes, out->model_bytes);
    out->session_offset = p->session_memory_stride;
    p->session_memory_stride = add(p->session_memory_stride, out->session_bytes);
    p->thread_stride = std::max(p->thread_stride, out->thread_bytes);
    p->step_memory.bytes = std::max(p->step_memory.bytes, out->step_bytes);
    in_place_ = request.in_place != 0;
    return LINNET_OK;
  }
  bool in_place_ = false;

  // A body's own values lie one after the other in the step scratch, its ops' scratch behind them.
  linnet_code plan_body(const Instruction& call, StepPlan* out) {
    const linnet_function& f = m->functions[call.function];
    uint64_t at = 0;
    for (uint32_t i = 0; i < f.values; ++i) {
      const uint32_t id = f.first_value + i;
      const uint64_t bytes = value_bytes(id);
      p->value_offset[id] = at;
      if (i >= f.inputs + f.outputs) at = add(at, bytes);
    }
    out->body_bytes = at;
    for (uint32_t i = 0; i < call.steps; ++i) {
      StepPlan step{};
      if (const auto code = plan_op(m->body_steps[call.first_step + i], &step)) return code;
      p->step_memory.bytes = std::max(p->step_memory.bytes, add(at, step.step_bytes));
      p->body_steps[call.first_step + i] = step;
    }
    return LINNET_OK;
  }

  // Arena: values get the lowest gap among those alive, in the order they are made.
  linnet_code plan_arena() {
    const linnet_function& f = m->functions[0];
    struct Life {
      uint32_t last;
      uint32_t root;
    };
    Vec<Life> life(m->allocator);
    if (!life.resize(f.values)) return no_memory(error, 0, "the plan");
    const auto steps = static_cast<uint32_t>(m->steps.size());
    for (uint32_t i = 0; i < f.values; ++i) life[i] = {0, i};
    for (uint32_t i = 0; i < steps; ++i)
      for (uint32_t j = 0; j < m->steps[i].node.input_count; ++j)
        if (m->steps[i].values[j] != kAbsent) life[m->steps[i].values[j]].last = i;
    life[1].last = steps;  // the logits outlive the step
    struct Block {
      uint64_t begin, end;
      uint32_t value;
    };
    Vec<Block> live(m->allocator);  // sorted by begin
    const auto place = [&](uint32_t value) -> linnet_code {
      const uint64_t bytes = value_bytes(value);
      uint64_t at = 0;
      size_t i = 0;
      for (; i < live.size() && live[i].begin - at < bytes; ++i) at = live[i].end;
      if (live.size() >= kMaxLive)
        return fail(error, LINNET_UNSUPPORTED, "arena", {kMaxLive, live.size()}, "more than %zu values are alive at once", kMaxLive);
      if (!live.push({})) return no_memory(error, 0, "the plan");
      for (size_t j = live.size() - 1; j > i; --j) live[j] = live[j - 1];
      live[i] = {at, add(at, bytes), value};
      p->value_offset[value] = at;
      p->arena.bytes = std::max(p->arena.bytes, live[i].end);
      return LINNET_OK;
    };
    if (const auto code = place(0)) return code;
    for (uint32_t i = 0; i < steps; ++i) {
      const Instruction& step = m->steps[i];
      const uint32_t* values = step.values;
      StepPlan plan{};
      in_place_ = false;
      if (const auto code = step.steps ? plan_body(step, &plan) : plan_op(step, &plan)) return code;
      p->steps[i] = plan;
      for (uint32_t j = 0; j < step.node.output_count; ++j) {
        const uint32_t out = values[step.node.input_count + j];
        const uint32_t in = step.node.input_count ? values[0] : kAbsent;
        if (j == 0 && in_place_ && in != kAbsent && life[in].last == i && in != 0 && same_shape(in, out)) {  // takes over its input's block
          value_bytes(out);
          p->value_offset[out] = p->value_offset[in];
          for (Block& b : live)
            if (b.value == in) b.value = out;
          continue;
        }
        if (const auto code = place(out)) return code;
      }
      size_t kept = 0;
      for (size_t j = 0; j < live.size(); ++j)
        if (life[live[j].value].last > i) live[kept++] = live[j];
      while (live.size() > kept) live.pop();
      if (overflow) break;
    }
    return LINNET_OK;
  }

  bool same_shape(uint32_t a, uint32_t b) const {
    const linnet_value &x = m->values[a], &y = m->values[b];
    return x.dtype == y.dtype && x.leading == y.leading && x.width == y.width;
  }

  void lay(Region* region, uint64_t bytes) {
    region->offset = p->totals.total;
    region->bytes = align(bytes);
    p->totals.total = add(p->totals.total, region->bytes);
  }

  linnet_code lay_out() {
    linnet_plan& t = p->totals;
    uint64_t args = 0, states_of_steps = 0, states = 0;
    const auto count = [&](const Instruction& s) {
      args += s.node.input_count + s.node.output_count;
      states_of_steps += s.node.state_count;
    };
    for (const auto& s : m->steps) count(s);
    for (const auto& s : m->body_steps) count(s);
    for (uint32_t i = 0; i < m->states.size(); ++i) {
      p->state_offset[i] = states;
      states = add(states, mul(t.pages, m->states[i].page_bytes));
    }
    lay(&p->runner, sizeof(linnet_runner));
    lay(&p->step_runs, (m->steps.size() + m->body_steps.size()) * sizeof(StepRun));
    lay(&p->args, args * sizeof(linnet_rows));
    lay(&p->states_of_steps, states_of_steps * sizeof(linnet_state_memory));
    lay(&p->state_memory, m->states.size() * sizeof(linnet_state_memory));
    lay(&p->workers, t.threads * sizeof(ThreadPool::Worker));
    lay(&p->segments, t.session_count * sizeof(linnet_segment));
    lay(&p->entries, t.session_count * sizeof(StepEntry));
    t.runner = t.total;
    lay(&p->sessions, t.session_count * sizeof(linnet_session));
    lay(&p->page_tables, mul(mul(t.session_count, p->table_entries), sizeof(uint32_t)));
    lay(&p->tokens, mul(mul(t.session_count, t.context), sizeof(int32_t)));
    lay(&p->page_counts, mul(t.pages, sizeof(uint32_t)));
    lay(&p->free_pages, mul(t.pages, sizeof(uint32_t)));
    lay(&p->sampler, add(align(mul(m->info.vocabulary, sizeof(float))), linnet_sampler_scratch_bytes(m->info.vocabulary)));
    t.sessions = t.total - t.runner;
    lay(&p->arena, p->arena.bytes);
    t.arena = p->arena.bytes;
    lay(&p->model_memory, p->model_memory.bytes);
    lay(&p->session_memory, mul(p->session_memory_stride, t.session_count));
    lay(&p->step_memory, p->step_memory.bytes);
    lay(&p->thread_memory, mul(p->thread_stride, t.threads));
    t.scratch = p->model_memory.bytes + p->session_memory.bytes + p->step_memory.bytes + p->thread_memory.bytes;
    lay(&p->states, states);
    t.states = p->states.bytes;
    if (overflow || t.total > SIZE_MAX / 2)
      return fail(error, LINNET_INVALID_ARGUMENT, "plan", {},
                  "the options ask for more memory than a size can say; lower context, sessions or max_rows");
    return succeed(error);
  }
};

}  // namespace

linnet_code make_plan(const linnet_model* model, const linnet_runner_options* options, Plan* plan, linnet_error* error) {
  plan->totals.size = sizeof plan->totals;
  Planner planner{model, plan, error};
  linnet_runner_options o;
  if (const auto code = read_runner_options(options, &o, error)) return code;
  if (const auto code = planner.read_options(o)) return code;
  if (!plan->steps.resize(model->steps.size()) || !plan->body_steps.resize(model->body_steps.size()) ||
      !plan->value_offset.resize(model->values.size()) || !plan->value_stride.resize(model->values.size()) ||
      !plan->state_offset.resize(model->states.size()))
    return no_memory(error, 0, "the plan");
  if (const auto code = planner.plan_arena()) return code;
  return planner.lay_out();
}

}  // namespace linnet::detail
