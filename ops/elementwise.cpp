// activation, add, mul: any f32 values of equal width, also those that grow with S.
#include "ops/builtin.h"
#include "ops/body.h"

namespace linnet::ops {
namespace {

// The width a plan reports for a value that is as wide as input 0.
uint32_t reported_width(const linnet_value& v) { return v.width_s ? UINT32_MAX : v.width; }

// Two values of one shape; not empty.
void like(Check& check, const linnet_value& a, const linnet_value& v, const char* label) {
  check.width(v, label, a.width, a.width_s);
  check.same_leading(a, "input 0", v, label);
  if (a.width == 0 && a.width_s == 0) check.fail(a.name, 1, 0, "input 0 is empty");
}

// Elements of a row of input 0 and of the values like it; 0, with the error told, if some row has no room for its S.
uint64_t row_elements(const linnet_op_eval* e) {
  const linnet_value& v = *e->node->inputs[0];
  if (v.width_s == 0) return v.width;
  const uint64_t positions = body_positions(e), n = v.width + v.width_s * positions;
  if (!positions || !has_room(e, e->outputs[0], n)) return 0;
  for (uint32_t i = 0; i < e->node->input_count; ++i) {
    if (!has_room(e, e->inputs[i], n)) return 0;
  }
  return n;
}

struct Params { uint32_t kind; };

Params read_activation(Check& check) {
  check.counts(1, 1, 0, 0);
  check.attributes("kind");
  like(check, check.input_of(0, "x", LINNET_F32), check.output_of(0, "y", LINNET_F32), "y");
  return {static_cast<uint32_t>(check.integer("kind", kNone, kActivations - 1))};
}

linnet_code plan_activation(void*, linnet_op_plan* plan) {
  Check check(plan->node, plan->error);
  read_activation(check);
  plan->output_widths[0] = reported_width(check.input_of(0, "x", LINNET_F32));
  plan->model_bytes = sizeof(Params);
  plan->in_place = 1;
  return check.code();
}

linnet_code eval_activation(const linnet_op_eval* e) {
  const linnet_rows &x = e->inputs[0], &y = e->outputs[0];
  const uint32_t kind = params<Params>(e).kind;
  const uint64_t n = row_elements(e);
  if (!n) return LINNET_OP_FAILED;
  for_rows(e, x.rows, n, [&](uint64_t t) { kernels(e).activate(kind, row(x, t), row(y, t), n); });
  return LINNET_OK;
}

linnet_code plan_pair(void*, linnet_op_plan* plan) {
  Check check(plan->node, plan->error);
  check.counts(2, 1, 0, 0);
  check.attributes("");
  const linnet_value& a = check.input_of(0, "a", LINNET_F32);
  like(check, a, check.input_of(1, "b", LINNET_F32), "b");
  like(check, a, check.output_of(0, "y", LINNET_F32), "y");
  plan->output_widths[0] = reported_width(a);
  plan->in_place = 1;
  return check.code();
}

template <void (*Kernels::*kernel)(const float*, const float*, float*, uint64_t)> linnet_code eval_pair(const linnet_op_eval* e) {
  const linnet_rows &a = e->inputs[0], &b = e->inputs[1], &y = e->outputs[0];
  const uint64_t n = row_elements(e);
  if (!n) return LINNET_OP_FAILED;
  for_rows(e, a.rows, n, [&](uint64_t t) { (kernels(e).*kernel)(row(a, t), row(b, t), row(y, t), n); });
  return LINNET_OK;
}

}  // namespace

constinit const linnet_op_def kActivation = op("activation", plan_activation, init_params<Params, read_activation>, checked<eval_activation>);
constinit const linnet_op_def kAdd = op("add", plan_pair, nullptr, checked<eval_pair<&Kernels::add>>);
constinit const linnet_op_def kMul = op("mul", plan_pair, nullptr, checked<eval_pair<&Kernels::mul>>);

}  // namespace linnet::ops
