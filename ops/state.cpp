// state_append: a row's vector into one tensor of a paged state, rounded to its type. state_view: the tensor's positions [0, S) as f32 rows.
#include <cstring>

#include "ops/body.h"
#include "ops/builtin.h"
#include "ops/cache.h"

namespace linnet::ops {
namespace {

struct Params {
  uint32_t tensor;
  uint64_t width;
};

Params read_state(Check& check, uint64_t width) {
  Params p = {};
  p.width = width;
  p.tensor = static_cast<uint32_t>(check.integer("tensor", 0, 255));
  check.state_tensor(check.state(0, "s"), p.tensor, "of the attribute", width);
  return p;
}

Params read_append(Check& check) {
  check.counts(1, 0, 0, 1);
  check.attributes("tensor");
  const linnet_value& x = check.input(0, "x");
  if (x.leading == LINNET_WANTED_ROWS) check.fail(x.name, LINNET_STEP_ROWS, x.leading, "x has wanted rows, and must have the step's");
  return read_state(check, x.width);
}

linnet_code plan_append(void*, linnet_op_plan* plan) {
  Check check(plan->node, plan->error);
  const Params p = read_append(check);
  plan->model_bytes = sizeof(Params);
  if (check.ok()) plan->step_bytes = StateHeads::scratch_bytes(StateHeads(check.state(0, "s"), p.tensor).head_dim);
  return check.code();
}

linnet_code eval_append(const linnet_op_eval* e) {
  const Params& p = params<Params>(e);
  const linnet_rows& x = e->inputs[0];
  if (x.rows != e->rows) return e->host->fail(e, LINNET_OP_FAILED, "x must have a row for each of the step's");
  const linnet_state& state = *e->states[0].state;
  const StateHeads heads(state, p.tensor);
  Segments segments(e);
  for (uint32_t t = 0; t < x.rows; ++t) {
    const uint64_t position = segments.position(t);
    uint8_t* page = detail::state_page(e->states[0], segments.of(t), position);
    for (uint64_t h = 0; h < state.tensors[p.tensor].heads; ++h)
      heads.write(kernels(e), row(x, t) + h * heads.head_dim, page, h, position, e->step_memory);
  }
  return LINNET_OK;
}

Params read_view(Check& check) {
  check.counts(0, 1, 0, 1);
  check.attributes("tensor");
  const linnet_value& y = check.output_of(0, "view", LINNET_F32);
  if (y.width != 0 || y.width_s == 0)
    check.fail(y.name, 0, y.width, "view is %u + %u * S wide, and must be a number of elements times S", y.width, y.width_s);
  return read_state(check, y.width_s);
}

linnet_code plan_view(void*, linnet_op_plan* plan) {
  Check check(plan->node, plan->error);
  read_view(check);
  plan->output_widths[0] = UINT32_MAX;
  plan->model_bytes = sizeof(Params);
  return check.code();
}

linnet_code eval_view(const linnet_op_eval* e) {
  const Params& p = params<Params>(e);
  const linnet_rows& y = e->outputs[0];
  const uint64_t positions = body_positions(e);
  if (!positions || !has_room(e, y, positions * p.width)) return LINNET_OP_FAILED;
  const linnet_state_memory& memory = e->states[0];
  const StateHeads heads(*memory.state, p.tensor);
  const uint64_t first = first_visible(*memory.state, positions - 1);
  float* out = row(y, 0);
  std::memset(out, 0, first * p.width * sizeof(float));  // a window's older pages may be gone; nothing sees these positions
  for (uint64_t i = first; i < positions; ++i) {
    const uint8_t* page = detail::state_page(memory, e->segments[0], i);
    for (uint64_t h = 0; h < memory.state->tensors[p.tensor].heads; ++h)
      heads.read(kernels(e), page, h, i, out + i * p.width + h * heads.head_dim);
  }
  return LINNET_OK;
}

}  // namespace

constinit const linnet_op_def kStateAppend = op("state_append", plan_append, init_params<Params, read_append>, checked<eval_append>);
constinit const linnet_op_def kStateView = op("state_view", plan_view, init_params<Params, read_view>, checked<eval_view>);

}  // namespace linnet::ops
