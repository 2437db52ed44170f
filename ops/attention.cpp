// attention: appends the step's keys (rotated) and values to the state, then every query head looks at what its row can see: grouped heads,
// causal, and within the window if the state has one. Keys and values are read from the state only, after rounding, a row's own included.
#include "ops/builtin.h"
#include "ops/cache.h"
#include "ops/rotary.h"

namespace linnet::ops {
namespace {

struct Params {
  uint32_t heads, kv_heads, head_dim;
  float scale, softcap;
  Rotary rotary;  // dim 0: none
};

enum Input : uint32_t { kQ, kK, kV, kTable, kInputs };

Params read(Check& check) {
  check.counts(kInputs, 1, 0, 1);
  check.attributes("heads kv_heads head_dim scale softcap rotary_dim style");
  const linnet_value &q = check.input(kQ, "q"), &k = check.input(kK, "k"), &v = check.input(kV, "v"), &y = check.output(0, "y");
  Params p = {};
  p.heads = static_cast<uint32_t>(check.integer("heads", 1, kMaxHeads));
  p.kv_heads = static_cast<uint32_t>(check.integer("kv_heads", 1, kMaxHeads));
  p.head_dim = static_cast<uint32_t>(check.integer("head_dim", 1, kMaxHeadDim));
  p.scale = check.real("scale", -1e30, 1e30);
  p.softcap = check.real("softcap", 0.0f, 0.0, 1e30);
  if (p.heads % p.kv_heads) check.fail("kv_heads", p.heads, p.kv_heads, "%u heads cannot share %u kv heads evenly", p.heads, p.kv_heads);
  const uint64_t width = uint64_t{p.heads} * p.head_dim, kv_width = uint64_t{p.kv_heads} * p.head_dim;
  check.width(q, "q", width);
  check.width(k, "k", kv_width);
  check.width(v, "v", kv_width);
  check.width(y, "y", width);
  check.leading(q, "q", LINNET_STEP_ROWS);
  check.same_leading(q, "q", k, "k");
  check.same_leading(q, "q", v, "v");
  check.same_leading(q, "q", y, "y");
  if (check.optional_input(kTable)) {
    const linnet_value& table = check.input(kTable, "rope table");
    p.rotary = read_rotary(check, p.head_dim, table);
    check.same_leading(q, "q", table, "rope table");
  } else {
    check.integer("rotary_dim", 0, 0, 0);
    check.integer("style", kHalves, kHalves, kPairs);
  }
  const linnet_state& kv = check.state(0, "kv");
  check.state_tensor(kv, 0, "K", kv_width);
  check.state_tensor(kv, 1, "V", kv_width);
  if (!check.ok()) return p;
  if (kv.tensors[0].layout != LINNET_STATE_PANELS) check.fail(kv.name, LINNET_STATE_PANELS, kv.tensors[0].layout, "K must be kept in panels");
  if (kv.tensors[1].layout != LINNET_STATE_ROWS) check.fail(kv.name, LINNET_STATE_ROWS, kv.tensors[1].layout, "V must be kept in rows");
  return p;
}

linnet_code plan(void*, linnet_op_plan* plan) {
  Check check(plan->node, plan->error);
  const Params p = read(check);
  plan->output_widths[0] = check.output(0, "y").width;
  plan->model_bytes = sizeof(Params);
  plan->thread_bytes = check.row_bytes(3, p.head_dim);  // a rotated head, and the kernel's two rows
  return check.code();
}

// One thread's view of a step.
class Attention {
 public:
  Attention(const linnet_op_eval* e, void* scratch)
      : e_(e),
        p_(params<Params>(e)),
        kernels_(kernels(e)),
        state_(*e->states[0].state),
        keys_(state_, 0, p_.kv_heads),
        values_(state_, 1, p_.kv_heads),
        segments_(e),
        rotated_(static_cast<float*>(scratch)) {}

  void append(uint32_t t, uint32_t kv_head) {
    const linnet_segment& s = segments_.of(t);
    const uint64_t position = segments_.position(t);
    uint8_t* page = detail::state_page(e_->states[0], s, position);
    const float* k = rotated(row(e_->inputs[kK], t) + uint64_t{kv_head} * p_.head_dim, t);
    kernels_.narrow(k, p_.head_dim, keys_.dtype, page + keys_.vector(kv_head, position), keys_.stride());
    kernels_.narrow(row(e_->inputs[kV], t) + uint64_t{kv_head} * p_.head_dim, p_.head_dim, values_.dtype, page + values_.vector(kv_head, position),
                    values_.stride());
  }

  // All query heads of one kv head.
  void attend(uint32_t t, uint32_t kv_head) {
    const uint64_t position = segments_.position(t);
    Attend a = {};
    a.head_dim = p_.head_dim;
    a.scale = p_.scale, a.softcap = p_.softcap;
    a.first = first_visible(state_, position), a.end = position + 1;
    a.keys = e_->states[0].base + keys_.block(kv_head), a.key_dtype = keys_.dtype;
    a.values = e_->states[0].base + values_.block(kv_head), a.value_dtype = values_.dtype;
    a.page_bytes = e_->states[0].page_bytes, a.pages = segments_.of(t).pages;
    a.scratch = rotated_ + pad16(p_.head_dim);
    const uint32_t group = p_.heads / p_.kv_heads;
    for (uint32_t h = kv_head * group; h < (kv_head + 1) * group; ++h) {
      a.q = rotated(row(e_->inputs[kQ], t) + uint64_t{h} * p_.head_dim, t);
      a.y = row(e_->outputs[0], t) + uint64_t{h} * p_.head_dim;
      kernels_.attend(a);
    }
  }

 private:
  const float* rotated(const float* x, uint32_t t) {
    if (!p_.rotary.dim) return x;
    kernels_.rope(x, row(e_->inputs[kTable], t), rotated_, 1, p_.head_dim, p_.rotary.dim, p_.rotary.style);
    return rotated_;
  }

  const linnet_op_eval* e_;
  const Params& p_;
  const Kernels& kernels_;
  const linnet_state& state_;
  const StateHeads keys_, values_;
  Segments segments_;
  float* rotated_;
};

linnet_code eval(const linnet_op_eval* e) {
  const Params& p = params<Params>(e);
  if (p.rotary.dim && !has_input(e, kTable)) return e->host->fail(e, LINNET_BAD_FILE, "the rope table is absent");
  const uint64_t rows = e->inputs[kQ].rows, items = rows * p.kv_heads;  // head-major, so that a thread stays with one head's pages
  const auto region = [&](const linnet_thread& thread) {
    Attention attention(e, thread.scratch);
    const Range mine = split(items, thread);
    for (uint64_t i = mine.begin; i < mine.end; ++i) attention.append(static_cast<uint32_t>(i % rows), static_cast<uint32_t>(i / rows));
    e->host->barrier(&thread);
    // Dealt out one by one: later rows see more, so contiguous parts would not be equal work.
    for (uint64_t i = thread.index; i < items; i += thread.count) attention.attend(static_cast<uint32_t>(i % rows), static_cast<uint32_t>(i / rows));
  };
  parallel(e, region);
  return LINNET_OK;
}

}  // namespace

constinit const linnet_op_def kAttention = op("attention", plan, init_params<Params, read>, checked<eval, 1u << kTable>);

}  // namespace linnet::ops
