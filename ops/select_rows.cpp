// select_rows: of every session's rows, the last ones, whose logits are wanted.
#include <cstring>

#include "ops/builtin.h"
#include "ops/eval.h"

namespace linnet::ops {
namespace {

linnet_code plan(void*, linnet_op_plan* plan) {
  Check check(plan->node, plan->error);
  check.counts(1, 1, 0, 0);
  check.attributes("");
  const linnet_value &x = check.input(0, "x"), &y = check.output(0, "y");
  check.leading(x, "x", LINNET_STEP_ROWS);
  check.leading(y, "y", LINNET_WANTED_ROWS);
  check.width(y, "y", x.width);
  plan->output_widths[0] = x.width;
  return check.code();
}

linnet_code eval(const linnet_op_eval* e) {
  const linnet_rows &x = e->inputs[0], &y = e->outputs[0];
  for (uint32_t i = 0; i < e->segment_count; ++i) {
    const linnet_segment& s = e->segments[i];
    const uint32_t first = s.first_row + s.rows - s.wanted_rows;
    for (uint32_t t = 0; t < s.wanted_rows; ++t) std::memcpy(row(y, s.wanted_first + t), row(x, first + t), x.width * sizeof(float));
  }
  return LINNET_OK;
}

}  // namespace

constinit const linnet_op_def kSelectRows = op("select_rows", plan, nullptr, checked<eval>);

}  // namespace linnet::ops
