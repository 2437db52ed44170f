// scaled_masked_softmax: scores [heads][S] to weights [heads][S]; positions before the window weigh +0.
#include "ops/body.h"
#include "ops/builtin.h"
#include "ops/rotary.h"

namespace linnet::ops {
namespace {

struct Params {
  uint32_t heads;
  float scale, softcap;
  uint64_t window;  // 0: none
};

Params read(Check& check) {
  check.counts(1, 1, 0, 0);
  check.attributes("heads scale softcap window");
  const linnet_value &x = check.input_of(0, "scores", LINNET_F32), &y = check.output_of(0, "weights", LINNET_F32);
  Params p = {};
  p.heads = static_cast<uint32_t>(check.integer("heads", 1, kMaxHeads));
  p.scale = check.real("scale", -1e30, 1e30);
  p.softcap = check.real("softcap", 0.0f, 0.0, 1e30);
  p.window = static_cast<uint64_t>(check.integer("window", 0, 0, UINT32_MAX));
  check.width(x, "scores", 0, p.heads);
  check.width(y, "weights", 0, p.heads);
  check.same_leading(x, "scores", y, "weights");
  return p;
}

linnet_code plan(void*, linnet_op_plan* plan) {
  Check check(plan->node, plan->error);
  read(check);
  plan->output_widths[0] = UINT32_MAX;
  plan->model_bytes = sizeof(Params);
  plan->in_place = 1;
  return check.code();
}

linnet_code eval(const linnet_op_eval* e) {
  const Params& p = params<Params>(e);
  const linnet_rows &x = e->inputs[0], &y = e->outputs[0];
  const uint64_t positions = body_positions(e);
  if (!positions || !has_room(e, x, positions * p.heads) || !has_room(e, y, positions * p.heads)) return LINNET_OP_FAILED;
  const uint64_t first = p.window && positions > p.window ? positions - p.window : 0;
  for (uint64_t h = 0; h < p.heads; ++h) {
    kernels(e).softmax({row(x, 0) + h * positions, row(y, 0) + h * positions, first, positions, p.scale, p.softcap});
  }
  return LINNET_OK;
}

}  // namespace

constinit const linnet_op_def kScaledMaskedSoftmax = op("scaled_masked_softmax", plan, init_params<Params, read>, checked<eval>);

}  // namespace linnet::ops
