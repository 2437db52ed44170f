// rms_norm and layer_norm: x -> y, row by row.
#include "ops/builtin.h"
#include "ops/eval.h"

namespace linnet::ops {
namespace {

struct Params { float epsilon; };

Params read_rms(Check& check) {
  check.counts(1, 1, 1, 0);
  check.attributes("epsilon");
  const linnet_value &x = check.input(0, "x"), &y = check.output(0, "y");
  check.width(y, "y", x.width);
  check.same_leading(x, "x", y, "y");
  check.optional_vector(0, "weight", x.width);
  return {check.real("epsilon", 0.0, 1e30)};
}

Params read_layer(Check& check) {
  check.counts(1, 1, 2, 0);
  check.attributes("epsilon");
  const linnet_value &x = check.input(0, "x"), &y = check.output(0, "y");
  check.width(y, "y", x.width);
  check.same_leading(x, "x", y, "y");
  check.optional_vector(0, "weight", x.width);
  check.optional_vector(1, "bias", x.width);
  return {check.real("epsilon", 0.0, 1e30)};
}

template <Params (*read)(Check&)> linnet_code plan(void*, linnet_op_plan* plan) {
  Check check(plan->node, plan->error);
  read(check);
  plan->output_widths[0] = check.output(0, "y").width;
  plan->model_bytes = sizeof(Params);
  plan->in_place = 1;
  return check.code();
}

linnet_code eval_rms(const linnet_op_eval* e) {
  const linnet_rows &x = e->inputs[0], &y = e->outputs[0];
  const float* weights = floats(weight(e, 0));
  const float epsilon = params<Params>(e).epsilon;
  for_rows(e, x.rows, x.width, [&](uint64_t t) { kernels(e).rms_norm(row(x, t), weights, row(y, t), x.width, epsilon); });
  return LINNET_OK;
}

linnet_code eval_layer(const linnet_op_eval* e) {
  const linnet_rows &x = e->inputs[0], &y = e->outputs[0];
  const float *weights = floats(weight(e, 0)), *bias = floats(weight(e, 1));
  const float epsilon = params<Params>(e).epsilon;
  for_rows(e, x.rows, x.width, [&](uint64_t t) { kernels(e).layer_norm(row(x, t), weights, bias, row(y, t), x.width, epsilon); });
  return LINNET_OK;
}

}  // namespace

constinit const linnet_op_def kRmsNorm = op("rms_norm", plan<read_rms>, init_params<Params, read_rms>, checked<eval_rms>);
constinit const linnet_op_def kLayerNorm = op("layer_norm", plan<read_layer>, init_params<Params, read_layer>, checked<eval_layer>);

}  // namespace linnet::ops
