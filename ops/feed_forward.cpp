// feed_forward: down(act(up(norm(x)))), or down(act(gate(norm(x))) * up(norm(x))), + residual. One barrier; one more for the norm of several rows.
#include "ops/builtin.h"
#include "ops/packing.h"
#include "ops/prologue.h"

namespace linnet::ops {
namespace {

enum Weight : uint32_t { kUp = 2, kUpBias, kGate, kGateBias, kDown, kDownBias, kWeights };

constexpr uint64_t kSomePanels = 24;  // of 512 rows: 768 KiB. A multiple of what the kernels take side by side

struct Params {
  Prologue prologue;
  Reads reads;             // of the norm's rows
  bool quantize;           // the hidden rows
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
  const linnet_tensor& up = check.matrix(kUp, "up", Check::rows_any, x.width);
  p.hidden = up.shape[1];
  p.reads.matrix(up);
  check.optional_vector(kUpBias, "up bias", p.hidden);
  if (check.optional_weight(kGate)) {
    p.reads.matrix(check.matrix(kGate, "gate", p.hidden, x.width));
    check.optional_vector(kGateBias, "gate bias", p.hidden);
  } else {
    check.absent_weight(kGateBias, "gate bias", "there is no gate");
  }
  p.quantize = packing::is_integer(check.matrix(kDown, "down", y.width, p.hidden).dtype);
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
  plan->step_bytes = check.sum(prepared_bytes(check, p.prologue, p.reads, rows, x.width), check.row_bytes(rows, p.hidden));
  if (p.quantize) plan->step_bytes = check.sum(plan->step_bytes, check.product(rows, QuantizedRow(p.hidden).bytes));
  plan->thread_bytes = prepared_bytes(check, p.prologue, p.reads, 1, x.width);
  return check.code();
}

linnet_code eval(const linnet_op_eval* e) {
  const Params& p = params<Params>(e);
  const linnet_rows &x = e->inputs[0], &y = e->outputs[0];
  const uint64_t stride = pad16(p.hidden);
  uint8_t* after = static_cast<uint8_t*>(e->step_memory);
  float* hidden = reinterpret_cast<float*>(after);
  uint8_t* codes = after += x.rows * stride * sizeof(float);
  const uint64_t code_stride = p.quantize ? QuantizedRow(p.hidden).bytes : 0;
  void* prepared = after + x.rows * code_stride;
  // Panels go to threads in pairs, so that a thread's outputs are whole groups, which it can quantize itself.
  const uint64_t panels = packing::panels(p.hidden), pairs = (panels + 1) / 2;
  const auto region = [&](const linnet_thread& thread) {
    const InputRows in = prepared_rows(e, thread, p.prologue, p.reads, x, prepared);
    const Range mine = split(pairs, thread);
    const uint64_t begin = 2 * mine.begin, end = 2 * mine.end < panels ? 2 * mine.end : panels;
    // Of several rows only some outputs at a time, so that the gate finds them in the second cache.
    const uint64_t some = x.rows == 1 ? panels : kSomePanels;
    for (uint64_t first = begin; first < end; first += some) {
      const uint64_t count = end - first < some ? end - first : some;
      Linear up = {};
      read_matrix(up, *weight(e, kUp), floats(weight(e, kUpBias)), first, in, x.rows, hidden, stride);
      up.panels = count;
      if (!weight(e, kGate)) up.activation = p.activation;
      kernels(e).linear(up);
      if (weight(e, kGate)) {
        Linear gate = {};
        read_matrix(gate, *weight(e, kGate), floats(weight(e, kGateBias)), first, in, x.rows, hidden, stride);
        gate.panels = count;
        gate.activation = p.activation;
        gate.factor = up.y, gate.factor_stride = stride;  // in place: a lane's factor is read before it is written
        kernels(e).linear(gate);
      }
    }
    const uint64_t groups = packing::groups(p.hidden), last = mine.end < groups ? mine.end : groups;
    for (uint64_t t = 0; p.quantize && t < x.rows && mine.begin < last; ++t)
      kernels(e).quantize(hidden + t * stride, p.hidden, mine.begin, last, codes + t * code_stride);
    e->host->barrier(&thread);
    const Range outputs = split(packing::panels(y.width), thread);
    if (outputs.begin == outputs.end) return;
    Linear down = {};
    read_matrix(down, *weight(e, kDown), floats(weight(e, kDownBias)), outputs.begin, {hidden, stride, codes, code_stride}, x.rows, row(y, 0), y.stride);
    down.panels = outputs.end - outputs.begin;
    if (has_input(e, 1)) down.residual = row(e->inputs[1], 0) + outputs.begin * packing::kPanelRows, down.residual_stride = e->inputs[1].stride;
    kernels(e).linear(down);
  };
  parallel(e, region);
  return LINNET_OK;
}

}  // namespace

constinit const linnet_op_def kFeedForward = op("feed_forward", plan, init_params<Params, read>, checked<eval, 1u << 1>);

}  // namespace linnet::ops
