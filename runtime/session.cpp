// Sessions: page lists, positions, history. Pages are counted, so that forks share them.
#include <cinttypes>

#include "runtime/runner.h"
#include "runtime/state_page.h"
#include "runtime/status.h"

namespace linnet::detail {

uint32_t take_page(linnet_runner* r) {
  const uint32_t page = r->free_pages[--r->free_page_count];
  r->page_counts[page] = 1;
  return page;
}

void drop_pages(linnet_session* s, uint32_t keep) {
  linnet_runner* r = s->runner;
  while (s->pages_held > keep) {
    const uint32_t page = s->pages[--s->pages_held];
    if (--r->page_counts[page] == 0) r->free_pages[r->free_page_count++] = page;
  }
}

void copy_page(linnet_runner* r, uint32_t from, uint32_t to) {
  for (uint32_t i = 0; i < r->model->states.size(); ++i) {
    const linnet_state_memory& m = r->state_memory[i];
    std::memcpy(m.base + to * m.page_bytes, m.base + from * m.page_bytes, m.page_bytes);
  }
}

namespace {

uint8_t* op_memory(linnet_session* s) { return s->runner->session_memory + s->slot * s->runner->session_memory_stride; }

void rewind(linnet_session* s, uint64_t position) {
  s->position = position;
  drop_pages(s, static_cast<uint32_t>((position + kPage - 1) / kPage));
  s->logits_step = 0;
}

// A session that is cut or released in the middle of a step ends that step.
void abort_step_of(linnet_session* s) {
  linnet_runner* r = s->runner;
  if (r->phase == StepPhase::idle) return;
  for (uint32_t i = 0; i < r->entry_count; ++i)
    if (r->entries[i].session == s) return step_abort(r);
}

linnet_code new_session(linnet_runner* r, linnet_session** out, linnet_error* error) {
  for (uint32_t i = 0; i < r->plan.session_count; ++i) {
    linnet_session* s = &r->sessions[i];
    if (s->in_use) continue;
    s->in_use = 1;
    rewind(s, 0);
    std::memset(op_memory(s), 0, r->session_memory_stride);
    *out = s;
    return LINNET_OK;
  }
  return fail(error, LINNET_POOL_EMPTY, "sessions", {r->plan.session_count, r->plan.session_count},
              "all %u session slots are in use: release one, or create the runner with more sessions", r->plan.session_count);
}

// The last position's logits, made again if another step has taken their place: the same bits, at the cost of a step.
linnet_code fresh_logits(linnet_session* s, const float** out, linnet_error* error) {
  linnet_runner* r = s->runner;
  if (r->phase != StepPhase::idle) return fail(error, LINNET_BUSY, "step", {}, "a step was begun and neither committed nor aborted");
  if (s->position == 0)
    return fail(error, LINNET_INVALID_ARGUMENT, "session", {}, "the session is empty: there are no logits before its first token");
  if (s->logits_step == 0 || s->logits_step != r->step_serial) {
    --s->position;
    const int32_t token = s->tokens[s->position];
    const linnet_step_entry entry{s, &token, 1, LINNET_WANT_LAST};
    if (const auto code = step_run(r, &entry, 1, error)) {
      ++s->position;
      return code;
    }
  }
  *out = static_cast<const float*>(r->logits.data) + s->logits_row * r->logits.stride;
  return LINNET_OK;
}

linnet_code sample(linnet_session* s, const linnet_sampling* sampling, linnet_sampled* out, linnet_error* error) {
  linnet_runner* r = s->runner;
  const float* logits = nullptr;
  if (const auto code = fresh_logits(s, &logits, error)) return code;
  const uint32_t vocabulary = r->model->info.vocabulary;
  auto* copy = reinterpret_cast<float*>(r->sampler);
  std::memcpy(copy, logits, vocabulary * sizeof(float));
  const FloatMode mode;
  return linnet_sample(copy, vocabulary, s->tokens, s->position, s->position, sampling, r->sampler + round_up(vocabulary * sizeof(float), 64), out,
                       error);
}

}  // namespace
}  // namespace linnet::detail

using namespace linnet::detail;

extern "C" {

linnet_code linnet_session_create(linnet_runner* runner, linnet_session** out, linnet_error* error) {
  *out = nullptr;
  const Busy busy(runner);
  if (!busy.held()) return Busy::refuse(error);
  const linnet_code code = new_session(runner, out, error);
  return code ? code : succeed(error);
}

void linnet_session_release(linnet_session* session) {
  if (!session || !session->in_use) return;
  abort_step_of(session);
  rewind(session, 0);
  session->in_use = 0;
}

void linnet_session_reset(linnet_session* session) {
  abort_step_of(session);
  rewind(session, 0);
  std::memset(op_memory(session), 0, session->runner->session_memory_stride);
}

linnet_code linnet_session_truncate(linnet_session* session, uint64_t n, linnet_error* error) {
  if (n > session->position)
    return fail(error, LINNET_INVALID_ARGUMENT, "truncate", {session->position, n},
                "the session has %" PRIu64 " positions; it cannot be cut to %" PRIu64, session->position, n);
  abort_step_of(session);
  if (n < session->position) rewind(session, n);
  return succeed(error);
}

linnet_code linnet_session_fork(linnet_session* session, linnet_session** out, linnet_error* error) {
  *out = nullptr;
  linnet_runner* r = session->runner;
  const Busy busy(r);
  if (!busy.held()) return Busy::refuse(error);
  if (r->phase != StepPhase::idle) return fail(error, LINNET_BUSY, "step", {}, "a step was begun and neither committed nor aborted");
  const bool partial = session->position % kPage != 0;
  if (partial && r->free_page_count == 0)
    return fail(error, LINNET_POOL_EMPTY, "pages", {1, 0},
                "a fork copies the last page, and none is free: release, reset or truncate sessions, or plan more pages");
  linnet_session* fork = nullptr;
  if (const auto code = new_session(r, &fork, error)) return code;
  fork->position = session->position;
  fork->pages_held = session->pages_held;
  std::memcpy(fork->tokens, session->tokens, session->position * sizeof(int32_t));
  std::memcpy(fork->pages, session->pages, session->pages_held * sizeof(uint32_t));
  std::memcpy(op_memory(fork), op_memory(session), r->session_memory_stride);
  for (uint32_t i = 0; i < fork->pages_held; ++i) {
    if (partial && i + 1 == fork->pages_held) {
      fork->pages[i] = take_page(r);
      copy_page(r, session->pages[i], fork->pages[i]);
    } else {
      ++r->page_counts[fork->pages[i]];
    }
  }
  fork->logits_step = session->logits_step;
  fork->logits_row = session->logits_row;
  *out = fork;
  return succeed(error);
}

linnet_runner* linnet_session_runner(const linnet_session* session) { return session->runner; }
uint64_t linnet_session_position(const linnet_session* session) { return session->position; }
const int32_t* linnet_session_tokens(const linnet_session* session) { return session->tokens; }

linnet_code linnet_session_prefill(linnet_session* session, const int32_t* tokens, size_t count, linnet_error* error) {
  linnet_runner* r = session->runner;
  const Busy busy(r);
  if (!busy.held()) return Busy::refuse(error);
  if (count > r->plan.context - session->position)
    return fail(error, LINNET_CONTEXT_FULL, "context", {r->plan.context, session->position + count},
                "context full: %" PRIu64 " positions are used, %zu more do not fit into %" PRIu64 "; nothing was read", session->position, count,
                r->plan.context);
  for (size_t at = 0; at < count;) {
    const size_t left = count - at, rows = left < r->plan.max_rows ? left : r->plan.max_rows;
    const linnet_step_entry entry{session, tokens + at, static_cast<uint32_t>(rows),
                                  static_cast<uint32_t>(left == rows ? LINNET_WANT_LAST : LINNET_WANT_NONE)};
    if (const auto code = step_run(r, &entry, 1, error)) return code;
    at += rows;
  }
  return succeed(error);
}

linnet_code linnet_session_logits(linnet_session* session, const float** out, linnet_error* error) {
  *out = nullptr;
  const Busy busy(session->runner);
  if (!busy.held()) return Busy::refuse(error);
  const linnet_code code = fresh_logits(session, out, error);
  return code ? code : succeed(error);
}

linnet_code linnet_session_sample(linnet_session* session, const linnet_sampling* sampling, linnet_sampled* out, linnet_error* error) {
  const Busy busy(session->runner);
  if (!busy.held()) return Busy::refuse(error);
  const linnet_code code = sample(session, sampling, out, error);
  return code ? code : succeed(error);
}

linnet_code linnet_session_next(linnet_session* session, const linnet_sampling* sampling, linnet_sampled* out, linnet_error* error) {
  const Busy busy(session->runner);
  if (!busy.held()) return Busy::refuse(error);
  if (const auto code = sample(session, sampling, out, error)) return code;
  const int32_t token = out->token;
  const linnet_step_entry entry{session, &token, 1, LINNET_WANT_LAST};
  const linnet_code code = step_run(session->runner, &entry, 1, error);
  return code ? code : succeed(error);
}

}  // extern "C"
