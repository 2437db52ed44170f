// A step: checked, run, then committed. Until the commit nothing of a session has changed but pages it cannot see yet.
#include <cinttypes>
#include <cmath>

#include "runtime/runner.h"
#include "runtime/state_page.h"
#include "runtime/status.h"

namespace linnet::detail {
namespace {

linnet_code check_entry(linnet_runner* r, const linnet_step_entry* entries, uint32_t index, linnet_error* error) {
  const linnet_step_entry& e = entries[index];
  const linnet_session* s = e.session;
  if (!s || s->runner != r || !s->in_use)
    return fail(error, LINNET_INVALID_ARGUMENT, "session", {}, "step entry %u: the session is NULL, released, or another runner's", index);
  for (uint32_t i = 0; i < index; ++i)
    if (entries[i].session == s) return fail(error, LINNET_INVALID_ARGUMENT, "session", {}, "step entries %u and %u are the same session", i, index);
  if (e.count == 0 || !e.tokens) return fail(error, LINNET_INVALID_ARGUMENT, "tokens", {}, "step entry %u has no tokens", index);
  if (e.want > LINNET_WANT_ALL)
    return fail(error, LINNET_INVALID_ARGUMENT, "want", {LINNET_WANT_ALL, e.want}, "step entry %u: want is %u", index, e.want);
  if (s->position + e.count > r->plan.context)
    return fail(error, LINNET_CONTEXT_FULL, "context", {r->plan.context, s->position + e.count},
                "context full: %" PRIu64 " positions are used, %u more do not fit into %" PRIu64
                "; reset or truncate the session, or plan a larger context",
                s->position, e.count, r->plan.context);
  const uint32_t vocabulary = r->model->info.vocabulary;
  for (uint32_t i = 0; i < e.count; ++i)
    if (e.tokens[i] < 0 || static_cast<uint32_t>(e.tokens[i]) >= vocabulary)
      return fail(error, LINNET_INVALID_ARGUMENT, "tokens", {vocabulary, static_cast<uint64_t>(int64_t{e.tokens[i]})},
                  "token id %d (entry %u, token %u) lies outside the vocabulary of %u", e.tokens[i], index, i, vocabulary);
  return LINNET_OK;
}

// Pages the entry's rows need beyond those held, and one more if its last page is shared and would be written.
uint32_t pages_needed(const linnet_session* s, uint32_t count) {
  const uint64_t last = (s->position + count + kPage - 1) / kPage;
  const bool shared = s->position % kPage && s->runner->page_counts[s->pages[s->position / kPage]] > 1;
  return (last > s->pages_held ? static_cast<uint32_t>(last - s->pages_held) : 0) + (shared ? 1 : 0);
}

void take_pages(linnet_session* s, uint32_t count) {
  linnet_runner* r = s->runner;
  if (s->position % kPage) {
    uint32_t& page = s->pages[s->position / kPage];
    if (r->page_counts[page] > 1) {  // copy on write
      const uint32_t copy = take_page(r);
      copy_page(r, page, copy);
      --r->page_counts[page];
      page = copy;
    }
  }
  const uint64_t last = (s->position + count + kPage - 1) / kPage;
  while (s->pages_held < last) s->pages[s->pages_held++] = take_page(r);
}

struct Call {
  linnet_runner* r;
  const Instruction* step;
  StepRun* run;
  const linnet_segment* segments;
  uint32_t segment_count, rows, wanted_rows;
};

linnet_code call_op(const Call& c) {
  linnet_op_eval eval{};
  eval.size = sizeof eval;
  eval.host = &c.r->host;
  eval.node = &c.step->node;
  eval.inputs = c.run->args;
  eval.outputs = c.run->args + c.step->node.input_count;
  eval.states = c.run->states;
  eval.segments = c.segments;
  eval.segment_count = c.segment_count;
  eval.rows = c.rows;
  eval.wanted_rows = c.wanted_rows;
  eval.model_memory = c.run->model_memory;
  eval.session_memory = c.run->session_memory;
  eval.session_stride = c.r->session_memory_stride;
  eval.step_memory = c.r->step_memory;
  eval.op_context = c.step->def.context;
  eval.host_private = c.r;
  return c.step->def.eval(&eval);
}

void set_rows(const Instruction& step, StepRun* run, uint32_t rows, uint32_t wanted) {
  for (uint32_t i = 0; i < step.node.input_count + step.node.output_count; ++i) {
    const linnet_value* v = i < step.node.input_count ? step.node.inputs[i] : step.node.outputs[i - step.node.input_count];
    if (v) run->args[i].rows = v->leading == LINNET_STEP_ROWS ? rows : v->leading == LINNET_WANTED_ROWS ? wanted : 1;
  }
}

bool raised(const volatile int* flag) { return flag && __atomic_load_n(flag, __ATOMIC_RELAXED); }

// A body, row by row: its arguments are that row of the node's, its S is what the row can see.
linnet_code call_body(const Call& c) {
  linnet_runner* r = c.r;
  const Instruction& call = *c.step;
  const linnet_model* m = r->model;
  const linnet_function& f = m->functions[call.function];
  const uint32_t arguments = f.inputs + f.outputs;
  uint8_t* const step_memory = r->step_memory;
  linnet_code code = LINNET_OK;
  for (uint32_t g = 0; g < c.segment_count && !code; ++g) {
    for (uint32_t i = 0; i < c.segments[g].rows && !code; ++i) {
      linnet_segment segment = c.segments[g];
      const uint32_t row = segment.first_row + i;
      segment = {segment.session, 0, 1, 0, 0, segment.position + i, segment.pages};
      const uint64_t visible = segment.position + 1;
      for (uint32_t k = 0; k < call.steps && !code; ++k) {
        const Instruction& step = m->body_steps[call.first_step + k];
        StepRun* run = &r->body_steps[call.first_step + k];
        for (uint32_t a = 0; a < step.node.input_count + step.node.output_count; ++a) {
          const uint32_t local = step.values[a];
          if (local == kAbsent) continue;
          linnet_rows& view = run->args[a];
          if (local < arguments) {
            const linnet_rows& outer = c.run->args[local];
            view = {static_cast<uint8_t*>(outer.data) + row * outer.stride * 4, 1, outer.width, outer.stride};
          } else {
            const linnet_value& v = m->values[f.first_value + local];
            view.rows = 1;
            view.stride = round_up(v.width + v.width_s * visible, LINNET_ROW_ALIGN);
          }
        }
        r->step_memory = step_memory + c.run->body_bytes;
        code = call_op({r, &step, run, &segment, 1, 1, 0});
        r->step_memory = step_memory;
      }
    }
  }
  return code;
}

linnet_code run_node(linnet_runner* r, uint32_t index, linnet_error* error) {
  const Instruction& step = r->model->steps[index];
  StepRun* run = &r->steps[index];
  set_rows(step, run, r->rows, r->wanted_rows);
  r->op_error = {};
  const Call call{r, &step, run, r->segments, r->entry_count, r->rows, r->wanted_rows};
  const linnet_code code = step.steps ? call_body(call) : call_op(call);
  if (!code) return LINNET_OK;
  const bool known = code > LINNET_OK && code <= LINNET_INTERNAL;
  fail(error, known ? code : LINNET_OP_FAILED, step.node.op, {}, "node %u (%s) failed: %.420s", step.node.index, step.node.op,
       r->op_error.message[0] ? r->op_error.message : "it said no more");
  if (error) {
    error->node = static_cast<int32_t>(step.node.index);
    copy_text(error->op, sizeof error->op, step.node.op);
  }
  return known ? code : LINNET_OP_FAILED;
}

// The bits, so that no compiler flag of any host can argue the check away.
linnet_code check_logits(const linnet_runner* r, linnet_error* error) {
  const uint32_t vocabulary = r->model->info.vocabulary;
  for (uint32_t row = 0; row < r->wanted_rows; ++row) {
    const auto* bits = static_cast<const uint32_t*>(r->logits.data) + row * r->logits.stride;
    uint32_t bad = 0;
    for (uint32_t i = 0; i < vocabulary; ++i) bad |= (bits[i] & 0x7F800000u) == 0x7F800000u;
    if (!bad) continue;
    uint32_t i = 0;
    while ((bits[i] & 0x7F800000u) != 0x7F800000u) ++i;
    return fail(error, LINNET_NOT_FINITE, "logits", {0, i},
                "the logit of token %u (row %u) is NaN or infinite: the weights are damaged, or overflow in this format (try bf16 or f32)", i, row);
  }
  return LINNET_OK;
}

}  // namespace

linnet_code step_begin(linnet_runner* r, const linnet_step_entry* entries, uint32_t count, linnet_error* error) {
  if (r->phase != StepPhase::idle) return fail(error, LINNET_BUSY, "step", {}, "a step was begun and neither committed nor aborted");
  if (count == 0 || count > r->plan.session_count || !entries)
    return fail(error, LINNET_INVALID_ARGUMENT, "entries", {r->plan.session_count, count}, "a step has %u entries; it can have 1 to %u", count,
                r->plan.session_count);
  uint64_t rows = 0, wanted = 0, pages = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (const auto code = check_entry(r, entries, i, error)) return code;
    rows += entries[i].count;
    wanted += entries[i].want == LINNET_WANT_ALL ? entries[i].count : entries[i].want == LINNET_WANT_LAST ? 1 : 0;
    pages += pages_needed(entries[i].session, entries[i].count);
  }
  if (rows > r->plan.max_rows)
    return fail(error, LINNET_INVALID_ARGUMENT, "max_rows", {r->plan.max_rows, rows}, "the step has %" PRIu64 " rows, the runner is planned for %u",
                rows, r->plan.max_rows);
  if (wanted > r->plan.wanted_rows)
    return fail(error, LINNET_INVALID_ARGUMENT, "wanted_rows", {r->plan.wanted_rows, wanted},
                "the step wants logits of %" PRIu64 " rows, the runner is planned for %u", wanted, r->plan.wanted_rows);
  if (pages > r->free_page_count)
    return fail(error, LINNET_POOL_EMPTY, "pages", {pages, r->free_page_count},
                "the step needs %" PRIu64 " more pages of %u positions, %u are free: release, reset or truncate sessions, or plan more pages", pages,
                kPage, r->free_page_count);
  r->entry_count = count;
  r->rows = r->wanted_rows = 0;
  auto* tokens = static_cast<int32_t*>(r->tokens.data);
  for (uint32_t i = 0; i < count; ++i) {
    const linnet_step_entry& e = entries[i];
    linnet_session* s = e.session;
    const uint32_t want = e.want == LINNET_WANT_ALL ? e.count : e.want == LINNET_WANT_LAST ? 1 : 0;
    r->entries[i] = {s, e.count, s->pages_held};
    take_pages(s, e.count);
    r->segments[i] = {s->slot, r->rows, e.count, r->wanted_rows, want, s->position, s->pages};
    for (uint32_t j = 0; j < e.count; ++j) {
      tokens[(r->rows + j) * r->tokens.stride] = e.tokens[j];
      s->tokens[s->position + j] = e.tokens[j];  // beyond the position: not history until the commit
    }
    r->rows += e.count;
    r->wanted_rows += want;
  }
  r->cursor = 0;
  r->phase = StepPhase::begun;
  return LINNET_OK;
}

linnet_code step_advance(linnet_runner* r, uint64_t budget_ns, int* done, linnet_error* error) {
  *done = r->phase == StepPhase::done;
  if (*done) return LINNET_OK;
  if (r->phase != StepPhase::begun) return fail(error, LINNET_INVALID_ARGUMENT, "step", {}, "no step was begun");
  const FloatMode mode;
  const uint64_t start = budget_ns == UINT64_MAX ? 0 : now_ns();
  const auto nodes = static_cast<uint32_t>(r->model->steps.size());
  linnet_code code = LINNET_OK;
  while (r->cursor < nodes) {
    if (raised(r->cancel) || raised(r->reply_cancel)) {
      code = fail(error, LINNET_CANCELLED, "step", {}, "cancelled before node %u of %u; the session is as it was before the step", r->cursor, nodes);
      break;
    }
    code = run_node(r, r->cursor, error);
    if (code) break;
    ++r->cursor;
    if (budget_ns != UINT64_MAX && r->cursor < nodes && now_ns() - start >= budget_ns) return LINNET_OK;
  }
  if (!code) code = check_logits(r, error);
  if (code) {
    step_abort(r);
    return code;
  }
  r->phase = StepPhase::done;
  *done = 1;
  return LINNET_OK;
}

void step_commit(linnet_runner* r, const uint32_t* keep) {
  ++r->step_serial;
  for (uint32_t i = 0; i < r->entry_count; ++i) {
    const StepEntry& e = r->entries[i];
    linnet_session* s = e.session;
    const uint32_t kept = keep ? keep[i] : e.count;
    s->position += kept;
    drop_pages(s, static_cast<uint32_t>((s->position + kPage - 1) / kPage));
    const linnet_segment& g = r->segments[i];
    const uint32_t unwanted = g.rows - g.wanted_rows;  // rows before the first one with logits
    const bool has_logits = kept > unwanted;
    if (kept) s->logits_step = has_logits ? r->step_serial : 0;
    if (has_logits) s->logits_row = g.wanted_first + kept - 1 - unwanted;
  }
  r->phase = StepPhase::idle;
}

void step_abort(linnet_runner* r) {
  if (r->phase == StepPhase::idle) return;
  for (uint32_t i = 0; i < r->entry_count; ++i) drop_pages(r->entries[i].session, r->entries[i].held_before);
  ++r->step_serial;  // the arena no longer holds the logits of the step before
  r->wanted_rows = 0;
  r->phase = StepPhase::idle;
}

linnet_code step_run(linnet_runner* r, const linnet_step_entry* entries, uint32_t count, linnet_error* error) {
  if (const auto code = step_begin(r, entries, count, error)) return code;
  int done = 0;
  if (const auto code = step_advance(r, UINT64_MAX, &done, error)) return code;
  step_commit(r, nullptr);
  return LINNET_OK;
}

}  // namespace linnet::detail

using namespace linnet::detail;

extern "C" {

linnet_code linnet_step_begin(linnet_runner* runner, const linnet_step_entry* entries, uint32_t count, linnet_error* error) {
  const Busy busy(runner);
  if (!busy.held()) return Busy::refuse(error);
  const linnet_code code = step_begin(runner, entries, count, error);
  return code ? code : succeed(error);
}

linnet_code linnet_step_advance(linnet_runner* runner, uint64_t budget_ns, int* done, linnet_error* error) {
  *done = 0;
  const Busy busy(runner);
  if (!busy.held()) return Busy::refuse(error);
  const linnet_code code = step_advance(runner, budget_ns, done, error);
  return code ? code : succeed(error);
}

linnet_code linnet_step_commit(linnet_runner* runner, const uint32_t* keep, linnet_error* error) {
  const Busy busy(runner);
  if (!busy.held()) return Busy::refuse(error);
  if (runner->phase != StepPhase::done)
    return fail(error, LINNET_INVALID_ARGUMENT, "step", {}, "commit without a step that is done: call linnet_step_advance until done");
  for (uint32_t i = 0; keep && i < runner->entry_count; ++i)
    if (keep[i] > runner->entries[i].count)
      return fail(error, LINNET_INVALID_ARGUMENT, "keep", {runner->entries[i].count, keep[i]}, "entry %u has %u rows; %u cannot be kept", i,
                  runner->entries[i].count, keep[i]);
  step_commit(runner, keep);
  return succeed(error);
}

void linnet_step_abort(linnet_runner* runner) {
  const Busy busy(runner);
  if (busy.held()) step_abort(runner);
}

linnet_code linnet_step(linnet_runner* runner, const linnet_step_entry* entries, uint32_t count, linnet_error* error) {
  const Busy busy(runner);
  if (!busy.held()) return Busy::refuse(error);
  const linnet_code code = step_run(runner, entries, count, error);
  return code ? code : succeed(error);
}

linnet_code linnet_step_logits(const linnet_runner* runner, const float** logits, uint32_t* rows, uint64_t* stride, linnet_error* error) {
  if (runner->phase == StepPhase::begun) return fail(error, LINNET_BUSY, "step", {}, "the step is not done");
  *logits = static_cast<const float*>(runner->logits.data);
  *rows = runner->wanted_rows;
  *stride = runner->logits.stride;
  return succeed(error);
}

}  // extern "C"
