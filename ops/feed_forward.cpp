// feed_forward: down(act(up(norm(x)))), or down(act(gate(norm(x))) * up(norm(x))), + residual. Two barriers, one without a norm.
#include "ops/builtin.h"
#include "ops/packing.h"
#include "ops/prologue.h"

namespace linnet::ops {
namespace {

enum Weight : uint32_t { kUp = 2, kUpBias, kGate, kGateBias, kDown, kDownBias, kWeights };

struct Params {
  Prologue prologue;
  uint32_t activation;
  uint64_t hidden;         // f
};

Params read(Check& check) {
  Params p = {};
  check.counts(2, 1, kWeights, 0);
  check.attributes("norm epsilon activation");
  const linnet_value &x = check.input(0, "x"), &y = check.output(0, "y");
  check.same_leading(x, "x", y, "y");
  p.prologue = read_prologue(check, x.width);
  p.activation = static_cast<uint32_t>(check.integer("activation", kNone, kNone, kActivations - 1));
  p.hidden = check.matrix(kUp, "up", Check::rows_any, x.width).shape[1];
  check.optional_vector(kUpBias, "up bias", p.hidden);
  if (check.optional_weight(kGate)) {
    check.matrix(kGate, "gate", p.hidden, x.width);
    check.optional_vector(kGateBias, "gate bias", p.hidden);
  } else {
    check.absent_weight(kGateBias, "gate bias", "there is no gate");
  }
  check.matrix(kDown, "down", y.width, p.hidden);
  check.optional_vector(kDownBias, "down bias", y.width);
  if (check.optional_input(1)) {
    const linnet_value& residual = check.input(1, "residual");
    check.width(residual, "residual", y.width);
    check.same_leading(x, "x", residual, "residual");
  }
  return p;
}

linnet_code plan(void*, linnet_op_plan* plan) {
  Check check(plan->node, plan->error);
  const Params p = read(check);
  if (!check.ok()) return check.code();
  const linnet_value& x = *plan->node->inputs[0];
  const uint64_t rows = max_rows(plan, x.leading);
  plan->output_widths[0] = plan->node->outputs[0]->width;
  plan->model_bytes = sizeof(Params);
  plan->step_bytes = check.sum(p.prologue.norm ? check.row_bytes(rows, x.width) : 0, check.row_bytes(rows, p.hidden));
  return check.code();
}

// A matrix's panels [begin, end) over all rows; bias, activation and the rest are the caller's.
Linear panels_of(const linnet_op_eval* e, uint32_t index, Range panels, InputRows in, uint64_t k, uint32_t rows, float* y, uint64_t y_stride) {
  const linnet_tensor& w = *weight(e, index);
  const uint64_t output = panels.begin * packing::kPanelRows;
  const float* bias = floats(weight(e, index + 1));
  Linear a = {};
  a.weights = static_cast<const uint8_t*>(w.data) + panels.begin * packing::r16_panel_elements(k) * packing::float_bytes(w.dtype);
  a.dtype = w.dtype, a.k = k, a.panels = panels.end - panels.begin;
  a.x = in.data, a.x_stride = in.stride, a.rows = rows;
  a.y = y + output, a.y_stride = y_stride;
  a.bias = bias ? bias + output : nullptr;
  return a;
}

linnet_code eval(const linnet_op_eval* e) {
  const Params& p = params<Params>(e);
  const linnet_rows &x = e->inputs[0], &y = e->outputs[0];
  float* normed = static_cast<float*>(e->step_memory);
  float* hidden = normed + (p.prologue.norm ? x.rows * pad16(x.width) : 0);
  const uint64_t stride = pad16(p.hidden);
  const auto region = [&](const linnet_thread& thread) {
    const InputRows in = normed_rows(e, thread, p.prologue, x, normed);
    const Range mine = split(packing::panels(p.hidden), thread);
    if (mine.begin < mine.end) {
      Linear up = panels_of(e, kUp, mine, in, x.width, x.rows, hidden, stride);
      if (!weight(e, kGate)) up.activation = p.activation;
      kernels(e).linear(up);
      if (weight(e, kGate)) {
        Linear gate = panels_of(e, kGate, mine, in, x.width, x.rows, hidden, stride);
        gate.activation = p.activation;
        gate.factor = up.y, gate.factor_stride = stride;  // in place: a lane's factor is read before it is written
        kernels(e).linear(gate);
      }
    }
    e->host->barrier(&thread);
    const Range outputs = split(packing::panels(y.width), thread);
    if (outputs.begin == outputs.end) return;
    Linear down = panels_of(e, kDown, outputs, {hidden, stride}, p.hidden, x.rows, row(y, 0), y.stride);
    if (has_input(e, 1)) down.residual = row(e->inputs[1], 0) + outputs.begin * packing::kPanelRows, down.residual_stride = e->inputs[1].stride;
    kernels(e).linear(down);
  };
  parallel(e, region);
  return LINNET_OK;
}

}  // namespace

constinit const linnet_op_def kFeedForward = op("feed_forward", plan, init_params<Params, read>, checked<eval, 1u << 1>);

}  // namespace linnet::ops
