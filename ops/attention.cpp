// attention: appends the step's keys (rotated) and values to the state, then every query head looks at what its row can see: grouped heads,
// causal, and within the window if the state has one. Keys and values are read from the state only, after rounding, a row's own included.
#include <cstring>

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
  check.state_tensor(kv, 0, "K", kv_width, p.kv_heads);
  check.state_tensor(kv, 1, "V", kv_width, p.kv_heads);
  if (!check.ok()) return p;
  if ((kv.tensors[0].dtype == LINNET_I8) != (kv.tensors[1].dtype == LINNET_I8))
    check.fail(kv.name, kv.tensors[0].dtype, kv.tensors[1].dtype, "K and V must both be i8, or neither");
  if (kv.tensors[0].layout != LINNET_STATE_PANELS) check.fail(kv.name, LINNET_STATE_PANELS, kv.tensors[0].layout, "K must be kept in panels");
  if (kv.tensors[1].layout != LINNET_STATE_ROWS) check.fail(kv.name, LINNET_STATE_ROWS, kv.tensors[1].layout, "V must be kept in rows");
  return p;
}

// Rows whose queries of one kv head are computed together, at most kAttendQueries of them; of a larger group, some heads after the others.
struct Blocks {
  uint32_t group, heads, rows;
  explicit Blocks(const Params& p)
      : group(p.heads / p.kv_heads), heads(group < kAttendQueries ? group : kAttendQueries), rows(kAttendQueries / heads) {}
};

// Where one token has few kv heads for many threads, they share its segments: this many at a time, then the parts are folded in order.
constexpr uint64_t kWave = 8;
bool shares_segments(uint64_t items, uint32_t threads) { return items % threads && items < 4 * uint64_t{threads}; }

linnet_code plan(void*, linnet_op_plan* plan) {
  Check check(plan->node, plan->error);
  const Params p = read(check);
  plan->output_widths[0] = check.output(0, "y").width;
  plan->model_bytes = sizeof(Params);
  if (!check.ok()) return check.code();
  const uint64_t record = attend_record(p.head_dim);
  const uint64_t coded = check.state(0, "kv").tensors[0].dtype == LINNET_I8 ? QuantizedRow(p.head_dim).bytes : 0;
  // Rotated queries, a segment, the running result; a tile; the queries' codes.
  plan->thread_bytes = kAttendQueries * ((pad16(p.head_dim) + 2 * record) * sizeof(float) + coded) + 64 * pad16(p.head_dim) * sizeof(float);
  if (plan->capacity > kAttendSegment && plan->threads > 1) {
    const uint64_t segments = (plan->capacity + kAttendSegment - 1) / kAttendSegment, wave = segments < kWave ? segments : kWave;
    uint64_t most = 0;  // items that are shared
    for (uint64_t rows = 1; rows <= plan->sessions && rows * p.kv_heads < 4 * uint64_t{plan->threads}; ++rows)
      if (shares_segments(rows * p.kv_heads, plan->threads)) most = rows * p.kv_heads;
    plan->step_bytes = check.product(most * (p.heads / p.kv_heads) * (wave + 1), record * sizeof(float));
  }
  return check.code();
}

// One thread's view of a step.
class Attention {
 public:
  Attention(const linnet_op_eval* e, const linnet_thread& thread)
      : e_(e),
        thread_(thread),
        p_(params<Params>(e)),
        kernels_(kernels(e)),
        state_(*e->states[0].state),
        keys_(state_, 0),
        values_(state_, 1),
        blocks_(p_),
        record_(attend_record(p_.head_dim)),
        queries_(static_cast<float*>(thread.scratch)),
        partial_(queries_ + kAttendQueries * pad16(p_.head_dim)),
        total_(partial_ + kAttendQueries * record_),
        widened_(total_ + kAttendQueries * record_),
        codes_(reinterpret_cast<uint8_t*>(widened_ + 64 * pad16(p_.head_dim))) {}

  // Each (row, kv head) by one thread from beginning to end, so that no thread waits for another.
  void single_rows() {
    const uint64_t items = uint64_t{e_->segment_count} * p_.kv_heads;
    for (uint64_t i = thread_.index; i < items; i += thread_.count) {
      const linnet_segment& s = e_->segments[i / p_.kv_heads];
      const auto kv_head = static_cast<uint32_t>(i % p_.kv_heads);
      append(s, 0, kv_head);
      attend(s, 0, 1, kv_head);
    }
  }

  // Several rows of a session see each other: first all keys and values, then blocks of rows, dealt out one by one since later ones see more.
  void several_rows() {
    uint64_t i = 0;
    for (uint32_t k = 0; k < e_->segment_count; ++k) {
      const linnet_segment& s = e_->segments[k];
      const Range mine = split(uint64_t{s.rows} * p_.kv_heads, thread_);
      for (uint64_t j = mine.begin; j < mine.end; ++j) append(s, static_cast<uint32_t>(j % s.rows), static_cast<uint32_t>(j / s.rows));
    }
    e_->host->barrier(&thread_);
    for (uint32_t k = 0; k < e_->segment_count; ++k) {
      const linnet_segment& s = e_->segments[k];
      for (uint32_t h = 0; h < p_.kv_heads; ++h) {
        for (uint32_t first = 0; first < s.rows; first += blocks_.rows, ++i)
          if (i % thread_.count == thread_.index) attend(s, first, s.rows - first < blocks_.rows ? s.rows - first : blocks_.rows, h);
      }
    }
  }

  void shared_segments() {
    const uint64_t items = uint64_t{e_->segment_count} * p_.kv_heads, heads = items * blocks_.group;
    float *totals = static_cast<float*>(e_->step_memory), *partials = totals + heads * record_;
    uint64_t begin = UINT64_MAX, end = 0;
    for (uint32_t k = 0; k < e_->segment_count; ++k) {
      const linnet_segment& s = e_->segments[k];
      const uint64_t first = first_visible(state_, s.position) / kAttendSegment, last = s.position / kAttendSegment + 1;
      begin = first < begin ? first : begin, end = last > end ? last : end;
    }
    for (uint64_t wave = begin; wave < end; wave += kWave) {
      const uint64_t count = end - wave < kWave ? end - wave : kWave;
      for (uint64_t i = thread_.index; i < items * count; i += thread_.count) {
        const linnet_segment& s = e_->segments[i % items / p_.kv_heads];
        const auto kv_head = static_cast<uint32_t>(i % p_.kv_heads);
        const uint64_t segment = wave + i / items;
        if (segment == s.position / kAttendSegment) append(s, 0, kv_head);
        for (uint32_t h = 0; h < blocks_.group; h += blocks_.heads) {
          Batch batch(*this, s, 0, 1, kv_head, h);
          kernels_.attend(batch.a, segment, partials + (i * blocks_.group + h) * record_);
        }
      }
      e_->host->barrier(&thread_);
      for (uint64_t i = thread_.index; i < heads; i += thread_.count) {
        float* total = totals + i * record_;
        if (wave == begin) attend_nothing(total, p_.head_dim);
        for (uint64_t k = 0; k < count; ++k) kernels_.fold(partials + (k * heads + i) * record_, p_.head_dim, total);
        const linnet_segment& s = e_->segments[i / p_.heads];
        if (wave + count == end) kernels_.finish_attention(total, p_.head_dim, row(e_->outputs[0], s.first_row) + i % p_.heads * p_.head_dim);
      }
      if (wave + count < end) e_->host->barrier(&thread_);
    }
  }

 private:
  // Some query heads of a kv head, of rows [first, first + rows) of a session: their queries, rotated, and what each sees.
  struct Batch {
    uint64_t low[kAttendQueries] = {}, high[kAttendQueries];
    float* y[kAttendQueries];
    Attend a = {};
    Batch(Attention& owner, const linnet_segment& s, uint32_t first, uint32_t rows, uint32_t kv_head, uint32_t head) {
      const Params& p = owner.p_;
      const uint32_t group = owner.blocks_.group, count = group - head < owner.blocks_.heads ? group - head : owner.blocks_.heads;
      a.q = owner.queries_, a.q_stride = pad16(p.head_dim);
      a.queries = rows * count, a.head_dim = p.head_dim;
      a.scale = p.scale, a.softcap = p.softcap;
      a.first = low, a.end = high;
      const linnet_state_memory& memory = owner.e_->states[0];
      a.keys = memory.base + owner.keys_.block(kv_head), a.key_dtype = owner.keys_.dtype;
      a.values = memory.base + owner.values_.block(kv_head), a.value_dtype = owner.values_.dtype;
      a.page_bytes = memory.page_bytes, a.pages = s.pages;
      a.widened = owner.widened_;
      const bool coded = a.key_dtype == LINNET_I8;
      a.codes = owner.codes_, a.code_stride = QuantizedRow(p.head_dim).bytes;
      for (uint32_t r = 0, i = 0; r < rows; ++r) {
        const uint32_t t = s.first_row + first + r;
        for (uint32_t h = 0; h < count; ++h, ++i) {
          const uint64_t column = (uint64_t{kv_head} * group + head + h) * p.head_dim, position = s.position + first + r;
          owner.rotate(row(owner.e_->inputs[kQ], t) + column, t, owner.queries_ + i * a.q_stride);
          if (coded) owner.kernels_.quantize(owner.queries_ + i * a.q_stride, p.head_dim, 0, packing::groups(p.head_dim), owner.codes_ + i * a.code_stride);
          low[i] = first_visible(owner.state_, position), high[i] = position + 1;
          y[i] = row(owner.e_->outputs[0], t) + column;
        }
      }
    }
  };

  void append(const linnet_segment& s, uint32_t r, uint32_t kv_head) {
    const uint64_t position = s.position + r, column = uint64_t{kv_head} * p_.head_dim;
    const uint32_t t = s.first_row + r;
    uint8_t* page = detail::state_page(e_->states[0], s, position);
    rotate(row(e_->inputs[kK], t) + column, t, queries_);
    keys_.write(kernels_, queries_, page, kv_head, position, codes_);
    values_.write(kernels_, row(e_->inputs[kV], t) + column, page, kv_head, position, codes_);
  }

  void attend(const linnet_segment& s, uint32_t first, uint32_t rows, uint32_t kv_head) {
    for (uint32_t h = 0; h < blocks_.group; h += blocks_.heads) {
      Batch batch(*this, s, first, rows, kv_head, h);
      for (uint32_t i = 0; i < batch.a.queries; ++i) attend_nothing(total_ + i * record_, p_.head_dim);
      const uint64_t end = batch.high[batch.a.queries - 1];
      for (uint64_t segment = batch.low[0] / kAttendSegment; segment * kAttendSegment < end; ++segment) {
        kernels_.attend(batch.a, segment, partial_);
        for (uint32_t i = 0; i < batch.a.queries; ++i) kernels_.fold(partial_ + i * record_, p_.head_dim, total_ + i * record_);
      }
      for (uint32_t i = 0; i < batch.a.queries; ++i) kernels_.finish_attention(total_ + i * record_, p_.head_dim, batch.y[i]);
    }
  }

  void rotate(const float* x, uint32_t t, float* to) {
    if (p_.rotary.dim) kernels_.rope(x, row(e_->inputs[kTable], t), to, 1, p_.head_dim, p_.rotary.dim, p_.rotary.style);
    else std::memcpy(to, x, p_.head_dim * sizeof(float));
  }

  const linnet_op_eval* e_;
  const linnet_thread& thread_;
  const Params& p_;
  const Kernels& kernels_;
  const linnet_state& state_;
  const StateHeads keys_, values_;
  const Blocks blocks_;
  const uint64_t record_;
  float *queries_, *partial_, *total_, *widened_;
  uint8_t* codes_;
};

linnet_code eval(const linnet_op_eval* e) {
  const Params& p = params<Params>(e);
  if (p.rotary.dim && !has_input(e, kTable)) return e->host->fail(e, LINNET_BAD_FILE, "the rope table is absent");
  uint64_t longest = 0;
  for (uint32_t i = 0; i < e->segment_count; ++i) {
    const uint64_t seen = e->segments[i].position + 1 - first_visible(*e->states[0].state, e->segments[i].position);
    longest = seen > longest ? seen : longest;
  }
  const auto region = [&](const linnet_thread& thread) {
    Attention attention(e, thread);
    if (e->rows != e->segment_count) attention.several_rows();
    else if (longest > kAttendSegment && shares_segments(uint64_t{e->segment_count} * p.kv_heads, thread.count)) attention.shared_segments();
    else attention.single_rows();
  };
  parallel(e, region);
  return LINNET_OK;
}

}  // namespace

constinit const linnet_op_def kAttention = op("attention", plan, init_params<Params, read>, checked<eval, 1u << kTable>);

}  // namespace linnet::ops
