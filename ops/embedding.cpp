// embedding: a row of the table for each token, times a scale, plus the row of the position where positions are learned.
#include <cinttypes>
#include <cstdio>

#include "ops/builtin.h"
#include "ops/eval.h"

namespace linnet::ops {
namespace {

struct Params { float scale; };

Params read(Check& check) {
  check.counts(1, 1, 2, 0);
  check.attributes("scale");
  const linnet_value &tokens = check.input_of(0, "tokens", LINNET_I32), &y = check.output(0, "y");
  check.width(tokens, "tokens", 1);
  check.leading(tokens, "tokens", LINNET_STEP_ROWS);
  check.same_leading(tokens, "tokens", y, "y");
  check.matrix(0, "table", Check::rows_any, y.width, true);
  if (check.optional_weight(1)) check.plain_matrix(1, "positions", Check::rows_any, y.width);
  return {check.real("scale", 1.0f, -1e30, 1e30)};
}

linnet_code plan(void*, linnet_op_plan* plan) {
  Check check(plan->node, plan->error);
  read(check);
  if (!check.ok()) return check.code();
  plan->output_widths[0] = plan->node->outputs[0]->width;
  plan->model_bytes = sizeof(Params);
  if (check.optional_weight(1)) plan->thread_bytes = check.row_bytes(1, plan->output_widths[0]);  // a position's row, widened
  return check.code();
}

// The session has checked both; a caller of its own may not have.
linnet_code check_rows(const linnet_op_eval* e, const int32_t* tokens, uint64_t token_stride) {
  const linnet_tensor &table = *weight(e, 0), *positions = weight(e, 1);
  char text[160];
  for (uint32_t t = 0; t < e->inputs[0].rows; ++t) {
    const int32_t id = tokens[t * token_stride];
    if (id >= 0 && static_cast<uint64_t>(id) < table.shape[1]) continue;
    std::snprintf(text, sizeof text, "token id %" PRId32 " is not in the table of %" PRIu64 " rows", id, table.shape[1]);
    return e->host->fail(e, LINNET_INVALID_ARGUMENT, text);
  }
  for (uint32_t i = 0; positions && i < e->segment_count; ++i) {
    const uint64_t end = e->segments[i].position + e->segments[i].rows;
    if (end <= positions->shape[1]) continue;
    std::snprintf(text, sizeof text, "position %" PRIu64 " is asked for, and the model has %" PRIu64 " learned positions", end - 1,
                  positions->shape[1]);
    return e->host->fail(e, LINNET_CONTEXT_FULL, text);
  }
  return LINNET_OK;
}

linnet_code eval(const linnet_op_eval* e) {
  const linnet_rows &in = e->inputs[0], &y = e->outputs[0];
  const int32_t* tokens = static_cast<const int32_t*>(in.data);
  const linnet_tensor &table = *weight(e, 0), *positions = weight(e, 1);
  if (const linnet_code code = check_rows(e, tokens, in.stride)) return code;
  const Kernels& k = kernels(e);
  const float scale = params<Params>(e).scale;
  const auto region = [&](const linnet_thread& thread) {
    Segments segments(e);
    float* position_row = static_cast<float*>(thread.scratch);
    const Range mine = split(in.rows, thread);
    for (uint64_t t = mine.begin; t < mine.end; ++t) {
      float* out = row(y, t);
      k.math->dequantize(&table, static_cast<uint64_t>(tokens[t * in.stride]), out);
      if (scale != 1.0f) k.scale(out, scale, out, y.width);
      if (positions) {
        k.math->dequantize(positions, segments.position(static_cast<uint32_t>(t)), position_row);
        k.add(out, position_row, out, y.width);
      }
    }
  };
  parallel(e, region);
  return LINNET_OK;
}

}  // namespace

constinit const linnet_op_def kEmbedding = op("embedding", plan, init_params<Params, read>, checked<eval>);

}  // namespace linnet::ops
