// matmul: batched over heads, the two products of attention when it runs as a body. Head h reads the columns of kv head h / (heads / kv_heads).
#include "ops/body.h"
#include "ops/builtin.h"
#include "ops/rotary.h"

namespace linnet::ops {
namespace {

struct Params {
  uint32_t heads, kv_heads, head_dim;
  bool transpose_b;
};

Params read(Check& check) {
  check.counts(2, 1, 0, 0);
  check.attributes("heads kv_heads transpose_b");
  const linnet_value &a = check.input_of(0, "a", LINNET_F32), &b = check.input_of(1, "b", LINNET_F32), &y = check.output_of(0, "y", LINNET_F32);
  Params p = {};
  p.heads = static_cast<uint32_t>(check.integer("heads", 1, kMaxHeads));
  p.kv_heads = static_cast<uint32_t>(check.integer("kv_heads", 1, kMaxHeads));
  p.transpose_b = check.integer("transpose_b", 0, 1) != 0;
  if (p.heads % p.kv_heads) check.fail("kv_heads", p.heads, p.kv_heads, "%u heads cannot share %u kv heads evenly", p.heads, p.kv_heads);
  if (b.width_s == 0 || b.width_s % p.kv_heads || b.width_s / p.kv_heads > kMaxHeadDim) {
    check.fail(b.name, p.kv_heads, b.width_s, "b has %u elements a position, and must have some, the same for each of %u kv heads", b.width_s,
               p.kv_heads);
    return p;
  }
  p.head_dim = b.width_s / p.kv_heads;
  const uint64_t flat = uint64_t{p.heads} * p.head_dim;
  check.width(b, "b", 0, b.width_s);
  check.width(a, "a", p.transpose_b ? flat : 0, p.transpose_b ? 0 : p.heads);
  check.width(y, "y", p.transpose_b ? 0 : flat, p.transpose_b ? p.heads : 0);
  check.same_leading(a, "a", b, "b");
  check.same_leading(a, "a", y, "y");
  return p;
}

linnet_code plan(void*, linnet_op_plan* plan) {
  Check check(plan->node, plan->error);
  const Params p = read(check);
  plan->output_widths[0] = p.transpose_b ? UINT32_MAX : check.output_of(0, "y", LINNET_F32).width;
  plan->model_bytes = sizeof(Params);
  return check.code();
}

linnet_code eval(const linnet_op_eval* e) {
  const Params& p = params<Params>(e);
  const linnet_rows &a = e->inputs[0], &b = e->inputs[1], &y = e->outputs[0];
  const uint64_t columns = uint64_t{p.kv_heads} * p.head_dim;
  const uint64_t positions = body_positions(e);
  if (!positions || !has_room(e, b, positions * columns) || !has_room(e, p.transpose_b ? y : a, positions * p.heads)) return LINNET_OP_FAILED;
  const uint64_t a_head = p.transpose_b ? p.head_dim : positions, y_head = p.transpose_b ? positions : p.head_dim;
  for (uint64_t h = 0; h < p.heads; ++h) {
    const uint64_t kv_head = h / (p.heads / p.kv_heads);
    const Matmul m = {row(a, 0) + h * a_head, row(b, 0) + kv_head * p.head_dim, columns, positions, p.head_dim, row(y, 0) + h * y_head};
    p.transpose_b ? kernels(e).dot_rows(m) : kernels(e).sum_rows(m);
  }
  return LINNET_OK;
}

}  // namespace

constinit const linnet_op_def kMatmul = op("matmul", plan, init_params<Params, read>, checked<eval>);

}  // namespace linnet::ops
