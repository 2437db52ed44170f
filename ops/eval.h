// What evals share: the kernel set, parameters read once in init, regions, and which session a row belongs to.
#pragma once
#include <new>

#include "linnet/op.h"
#include "ops/check.h"
#include "ops/kernels/kernels.h"

namespace linnet::ops {

inline const Kernels& kernels(const linnet_op_eval* e) { return *static_cast<const Kernels*>(e->op_context); }

inline uint64_t pad16(uint64_t n) { return (n + 15) / 16 * 16; }
inline float* row(const linnet_rows& rows, uint64_t i) { return static_cast<float*>(rows.data) + i * rows.stride; }
inline const float* floats(const linnet_tensor* w) { return w ? static_cast<const float*>(w->data) : nullptr; }
inline const linnet_tensor* weight(const linnet_op_eval* e, uint32_t i) { return i < e->node->weight_count ? e->node->weights[i] : nullptr; }
// In a body, an argument that the node was not given is a value without data.
inline bool has_input(const linnet_op_eval* e, uint32_t i) { return i < e->node->input_count && e->inputs[i].data; }

// An op's eval, after making sure that what plan found present has data: a body's argument may not (bit i of `optional`: input i may be absent).
template <linnet_code (*eval)(const linnet_op_eval*), uint32_t optional = 0> linnet_code checked(const linnet_op_eval* e) {
  for (uint32_t i = 0; i < e->node->input_count; ++i) {
    if (!(optional >> i & 1u) && !e->inputs[i].data) return e->host->fail(e, LINNET_BAD_FILE, "an input is absent that the op cannot do without");
  }
  for (uint32_t i = 0; i < e->node->output_count; ++i) {
    if (!e->outputs[i].data) return e->host->fail(e, LINNET_BAD_FILE, "an output is absent");
  }
  return eval(e);
}

// An op's attributes are read from the node by a function `Params read(Check&)`: in plan to check them, in init to keep them, so that eval
// compares no strings. kInit is the init of such an op; its plan asks for sizeof(Params) of model memory.
template <class Params, Params (*read)(Check&)>
linnet_code init_params(void*, const linnet_op_eval* e) {
  Check check(e->node, nullptr);
  new (e->model_memory) Params(read(check));
  return check.code();
}
template <class Params> const Params& params(const linnet_op_eval* e) { return *static_cast<const Params*>(e->model_memory); }

inline uint32_t max_rows(const linnet_op_plan* plan, uint8_t leading) {
  return leading == LINNET_STEP_ROWS ? plan->max_rows : leading == LINNET_WANTED_ROWS ? plan->max_wanted_rows : 1;
}

// The part of n outputs that belongs to a thread: static, contiguous.
struct Range { uint64_t begin, end; };
inline Range split(uint64_t n, const linnet_thread& thread) {
  const uint64_t each = n / thread.count, rest = n % thread.count, i = thread.index;
  const uint64_t begin = i * each + (i < rest ? i : rest);
  return {begin, begin + each + (i < rest)};
}

// fn(const linnet_thread&) on every thread.
template <class Fn> void parallel(const linnet_op_eval* e, const Fn& fn) {
  e->host->parallel(e, [](void* f, const linnet_thread* thread) { (*static_cast<const Fn*>(f))(*thread); }, const_cast<Fn*>(&fn));
}

// fn(row) for rows that do not depend on one another. Little work is done at once: waking threads costs microseconds.
template <class Fn> void for_rows(const linnet_op_eval* e, uint64_t rows, uint64_t width, Fn fn) {
  if (rows < 2 || rows * width < 16384) {
    for (uint64_t i = 0; i < rows; ++i) fn(i);
    return;
  }
  parallel(e, [&](const linnet_thread& thread) {
    const Range mine = split(rows, thread);
    for (uint64_t i = mine.begin; i < mine.end; ++i) fn(i);
  });
}

// Finds the segment of a row; remembers the last one, since rows are mostly asked for in order.
class Segments {
 public:
  explicit Segments(const linnet_op_eval* e) : e_(e) {}
  const linnet_segment& of(uint32_t row) {
    if (!holds(at_, row)) for (at_ = 0; at_ + 1 < e_->segment_count && !holds(at_, row); ++at_) {}
    return e_->segments[at_];
  }
  uint64_t position(uint32_t row) {
    const linnet_segment& s = of(row);
    return s.position + (row - s.first_row);
  }

 private:
  bool holds(uint32_t i, uint32_t row) const { return row - e_->segments[i].first_row < e_->segments[i].rows; }
  const linnet_op_eval* e_;
  uint32_t at_ = 0;
};

}  // namespace linnet::ops
