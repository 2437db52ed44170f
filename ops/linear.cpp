// linear: norm(x) times several matrices, one region for all; with one matrix also bias, activation and residual.
#include "ops/builtin.h"
#include "ops/packing.h"
#include "ops/prologue.h"

namespace linnet::ops {
namespace {

struct Params {
  Prologue prologue;
  Reads reads;
  uint32_t activation;
};

constexpr uint32_t matrix_weight(uint32_t output) { return 2 + 2 * output; }
constexpr uint32_t bias_weight(uint32_t output) { return 3 + 2 * output; }

Params read(Check& check) {
  Params p = {};
  const uint32_t outputs = check.node()->output_count;
  check.counts(2, LINNET_MAX_OUTPUTS, matrix_weight(outputs < LINNET_MAX_OUTPUTS ? outputs : LINNET_MAX_OUTPUTS), 0);
  check.attributes("norm epsilon activation");
  const linnet_value& x = check.input(0, "x");
  p.prologue = read_prologue(check, x.width);
  p.activation = static_cast<uint32_t>(check.integer("activation", kNone, kNone, kActivations - 1));
  if (!outputs) check.output(0, "y0");
  for (uint32_t i = 0; i < outputs && check.ok(); ++i) {
    const linnet_value& y = check.output(i, "y");
    check.same_leading(x, "x", y, "y");
    p.reads.matrix(check.matrix(matrix_weight(i), "W", y.width, x.width));
    check.optional_vector(bias_weight(i), "b", y.width);
  }
  if (check.optional_input(1)) {
    const linnet_value& residual = check.input(1, "residual");
    check.width(residual, "residual", check.output(0, "y0").width);
    check.same_leading(x, "x", residual, "residual");
    if (outputs > 1) check.fail("residual", 0, outputs, "has %u outputs, and a residual works with one only", outputs);
  }
  if (outputs > 1 && p.activation) check.fail("activation", 0, p.activation, "has %u outputs, and an activation works with one only", outputs);
  return p;
}

linnet_code plan(void*, linnet_op_plan* plan) {
  Check check(plan->node, plan->error);
  const Params p = read(check);
  if (!check.ok()) return check.code();
  const linnet_value& x = *plan->node->inputs[0];
  for (uint32_t i = 0; i < plan->node->output_count; ++i) plan->output_widths[i] = plan->node->outputs[i]->width;
  plan->model_bytes = sizeof(Params);
  plan->step_bytes = prepared_bytes(check, p.prologue, p.reads, max_rows(plan, x.leading), x.width);
  plan->thread_bytes = prepared_bytes(check, p.prologue, p.reads, 1, x.width);
  return check.code();
}

linnet_code eval(const linnet_op_eval* e) {
  const Params& p = params<Params>(e);
  const linnet_rows& x = e->inputs[0];
  uint64_t panels = 0;
  for (uint32_t i = 0; i < e->node->output_count; ++i) panels += packing::panels(e->outputs[i].width);
  const auto region = [&](const linnet_thread& thread) {
    const InputRows in = prepared_rows(e, thread, p.prologue, p.reads, x, e->step_memory);
    const Range mine = split(panels, thread);  // of all matrices' panels, one after the other
    uint64_t before = 0;
    for (uint32_t i = 0; i < e->node->output_count; ++i) {
      const linnet_rows& y = e->outputs[i];
      const uint64_t count = packing::panels(y.width);
      const uint64_t begin = mine.begin > before ? mine.begin - before : 0, end = mine.end - before < count ? mine.end - before : count;
      if (mine.end > before && begin < end) {
        const uint64_t output = begin * packing::kPanelRows;
        Linear a = {};
        read_matrix(a, *weight(e, matrix_weight(i)), floats(weight(e, bias_weight(i))), begin, in, x.rows, row(y, 0), y.stride);
        a.panels = end - begin;
        a.activation = p.activation;
        if (has_input(e, 1)) a.residual = row(e->inputs[1], 0) + output, a.residual_stride = e->inputs[1].stride;
        kernels(e).linear(a);
      }
      before += count;
    }
  };
  parallel(e, region);
  return LINNET_OK;
}

}  // namespace

constinit const linnet_op_def kLinear = op("linear", plan, init_params<Params, read>, checked<eval, 1u << 1>);

}  // namespace linnet::ops
