// rope_table: cosines and sines of every row's position. rope: rotates each head of x by a row of the table.
#include "ops/builtin.h"
#include "ops/rotary.h"

namespace linnet::ops {
namespace {

struct TableParams { float factor; };

TableParams read_table(Check& check) {
  check.counts(0, 1, 1, 0);
  check.attributes("factor");
  const linnet_value& table = check.output(0, "table");
  check.leading(table, "table", LINNET_STEP_ROWS);
  if (table.width % 2) check.fail(table.name, table.width + 1, table.width, "table is %u wide, and must be even", table.width);
  check.vector(0, "inverse frequencies", table.width / 2);
  return {check.real("factor", 1.0f, -1e30, 1e30)};
}

linnet_code plan_table(void*, linnet_op_plan* plan) {
  Check check(plan->node, plan->error);
  read_table(check);
  plan->output_widths[0] = check.output(0, "table").width;
  plan->model_bytes = sizeof(TableParams);
  return check.code();
}

linnet_code eval_table(const linnet_op_eval* e) {
  const linnet_rows& y = e->outputs[0];
  const Kernels& k = kernels(e);
  const float* frequencies = floats(weight(e, 0));
  const uint64_t n = y.width / 2;
  const float factor = params<TableParams>(e).factor;
  for_rows(e, y.rows, y.width, [&](uint64_t t) {
    float* out = row(y, t);
    Segments segments(e);
    k.scale(frequencies, static_cast<float>(segments.position(static_cast<uint32_t>(t))), out + n, n);  // angles, where the sines go
    k.math->cos(out + n, out, n);
    k.math->sin(out + n, out + n, n);
    if (factor != 1.0f) k.scale(out, factor, out, y.width);
  });
  return LINNET_OK;
}

struct Params {
  uint32_t heads, head_dim;
  Rotary rotary;
};

Params read(Check& check) {
  check.counts(2, 1, 0, 0);
  check.attributes("heads head_dim rotary_dim style");
  const linnet_value &x = check.input(0, "x"), &table = check.input(1, "table"), &y = check.output(0, "y");
  Params p = {};
  p.heads = static_cast<uint32_t>(check.integer("heads", 1, kMaxHeads));
  p.head_dim = static_cast<uint32_t>(check.integer("head_dim", 2, kMaxHeadDim));
  p.rotary = read_rotary(check, p.head_dim, table);
  check.width(x, "x", uint64_t{p.heads} * p.head_dim);
  check.width(y, "y", x.width);
  check.same_leading(x, "x", table, "table");
  check.same_leading(x, "x", y, "y");
  return p;
}

linnet_code plan(void*, linnet_op_plan* plan) {
  Check check(plan->node, plan->error);
  read(check);
  plan->output_widths[0] = check.output(0, "y").width;
  plan->model_bytes = sizeof(Params);
  plan->in_place = 1;
  return check.code();
}

linnet_code eval(const linnet_op_eval* e) {
  const Params& p = params<Params>(e);
  const linnet_rows &x = e->inputs[0], &table = e->inputs[1], &y = e->outputs[0];
  for_rows(e, x.rows, x.width,
           [&](uint64_t t) { kernels(e).rope(row(x, t), row(table, t), row(y, t), p.heads, p.head_dim, p.rotary.dim, p.rotary.style); });
  return LINNET_OK;
}

}  // namespace

constinit const linnet_op_def kRopeTable = op("rope_table", plan_table, init_params<TableParams, read_table>, checked<eval_table>);
constinit const linnet_op_def kRope = op("rope", plan, init_params<Params, read>, checked<eval>);

}  // namespace linnet::ops
