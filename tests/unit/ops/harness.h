// What the tests of ops share: packed weights, nodes, and a host that runs one op the way the runtime does, on any number of threads.
#pragma once
#include <algorithm>
#include <barrier>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "linnet/op.h"
#include "ops/builtin.h"
#include "ops/kernels/kernels.h"
#include "ops/packing.h"
#include "runtime/state_page.h"

namespace linnet::test {

// 64-byte aligned and no longer than asked for, so that AddressSanitizer sees the first byte too far.
template <class T>
class Aligned {
 public:
  explicit Aligned(size_t n = 0) : n_(n) {
    void* p = nullptr;
    if (posix_memalign(&p, 64, n == 0 ? 1 : n * sizeof(T))) std::abort();
    data_.reset(static_cast<T*>(p));
    std::memset(p, 0, n * sizeof(T));
  }
  T* data() const { return data_.get(); }
  size_t size() const { return n_; }
  T& operator[](size_t i) const { return data_.get()[i]; }

 private:
  struct Free { void operator()(T* p) const { std::free(p); } };
  size_t n_;
  std::unique_ptr<T, Free> data_;
};

inline uint64_t round16(uint64_t n) { return (n + 15) / 16 * 16; }
inline uint32_t bits_of(float x) { uint32_t b; std::memcpy(&b, &x, 4); return b; }
inline float float_of(uint32_t b) { float x; std::memcpy(&x, &b, 4); return x; }
// NaN equals NaN: which NaN an operation gives is not part of the contract, since a step with one fails.
inline bool same_bits(float a, float b) { return bits_of(a) == bits_of(b) || (a != a && b != b); }
// The first index where they differ, or n.
inline size_t first_difference(const float* a, const float* b, size_t n) {
  for (size_t i = 0; i < n; ++i) if (!same_bits(a[i], b[i])) return i;
  return n;
}

inline std::vector<float> random_floats(size_t n, uint32_t seed, float size = 1.0f) {
  std::mt19937 generator(seed);
  std::vector<float> v(n);
  for (float& x : v) x = (static_cast<float>(generator() >> 8) * 0x1p-23f - 1.0f) * size;
  return v;
}
// The same with the numbers that break kernels: NaN, infinities, zeros, denormals, huge ones.
inline std::vector<float> nasty_floats(size_t n, uint32_t seed) {
  static const float specials[] = {NAN, -NAN, INFINITY, -INFINITY, 0.0f, -0.0f, 1e-45f, -1e-40f, 3e38f, -3e38f, 1e20f, 65504.0f, 65520.0f, 1e-8f};
  std::vector<float> v = random_floats(n, seed, 4.0f);
  std::mt19937 generator(seed + 1);
  for (float& x : v) if (generator() % 5 == 0) x = specials[generator() % std::size(specials)];
  return v;
}

// The instruction sets this machine runs; scalar first, the best last.
inline const std::vector<const char*>& isas() {
  static const std::vector<const char*> all = [] {
    std::vector<const char*> runs;
    for (const char* isa : {"scalar", "avx2", "avxvnni", "avx512", "neon", "neon_dot"}) if (ops::select(isa)) runs.push_back(isa);
    return runs;
  }();
  return all;
}
// Remembered: CPUID takes tens of microseconds in a virtual machine.
inline const ops::Kernels& kernels(const char* isa) {
  static const std::map<std::string, const ops::Kernels*> all = [] {
    std::map<std::string, const ops::Kernels*> sets;
    for (const char* name : isas()) sets[name] = ops::select(name);
    return sets;
  }();
  return *all.at(isa);
}

// A weight, and its elements as they are after rounding to its type.
struct Weight {
  std::string name;
  Aligned<uint8_t> bytes;
  std::vector<float> values;  // row-major
  linnet_tensor tensor = {};

  Weight(std::string tensor_name, uint8_t dtype, uint8_t layout, uint32_t rank, uint64_t rows, uint64_t columns, const std::vector<float>& elements)
      : name(std::move(tensor_name)), values(rows * columns) {
    const uint64_t size = packing::float_bytes(dtype), padded = layout == LINNET_R16 ? packing::padded_rows(rows) : rows;
    bytes = Aligned<uint8_t>((padded * columns * size + 63) / 64 * 64);
    for (uint64_t r = 0; r < rows; ++r) {
      for (uint64_t c = 0; c < columns; ++c) {
        const uint64_t i = layout == LINNET_R16 ? packing::r16_index(r, c, columns) : r * columns + c;
        values[r * columns + c] = put(dtype, elements[r * columns + c], bytes.data() + i * size);
      }
    }
    tensor = {name.c_str(), dtype, layout,      0, static_cast<uint8_t>(rank), {1, rank == 1 ? 1 : rows, columns}, padded * columns * size, 0,
              nullptr,      "",    bytes.data()};
  }
  static float put(uint8_t dtype, float x, uint8_t* to) {
    if (dtype == LINNET_BF16) {  // truncated: any bf16 will do
      const uint16_t high = static_cast<uint16_t>(bits_of(x) >> 16);
      std::memcpy(to, &high, 2);
    } else {
      kernels("scalar").narrow(&x, 1, dtype, to, 1);
    }
    float back;
    kernels("scalar").widen(dtype, to, 1, 1, &back);
    return back;
  }
};
inline std::shared_ptr<Weight> matrix(uint8_t dtype, uint64_t rows, uint64_t columns, uint32_t seed, uint8_t layout = LINNET_R16) {
  return std::make_shared<Weight>("matrix", dtype, layout, 2, rows, columns, random_floats(rows * columns, seed));
}
inline std::shared_ptr<Weight> vector(uint64_t n, uint32_t seed) {
  return std::make_shared<Weight>("vector", LINNET_F32, LINNET_PLAIN, 1, 1, n, random_floats(n, seed));
}

// An integer weight with random codes and scales, zero groups and denormal scales among them.
struct IntegerWeight {
  static constexpr float kLevels[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
  Aligned<uint8_t> bytes;
  std::vector<int> levels;     // row-major: what a code stands for
  std::vector<float> scales;   // [rows][groups]
  linnet_tensor tensor = {};

  IntegerWeight(uint8_t dtype, uint64_t rows, uint64_t k, uint32_t seed) : levels(rows * k), scales(rows * packing::groups(k)) {
    bytes = Aligned<uint8_t>(packing::matrix_bytes(dtype, 1, rows, k));
    std::memset(bytes.data(), 0, bytes.size());
    std::mt19937 random(seed);
    for (uint64_t r = 0; r < rows; ++r) {
      uint8_t* panel = bytes.data() + r / 16 * packing::panel_bytes(dtype, k);
      for (uint64_t g = 0; g < packing::groups(k); ++g) {
        float scale = random() % 7 == 0 ? 0.0f : random() % 7 == 0 ? 0x1p-22f : static_cast<float>(random() % 2000) * (random() % 5 ? 1e-5f : -1e-3f);
        uint16_t half;
        kernels("scalar").narrow(&scale, 1, LINNET_F16, &half, 1);
        kernels("scalar").widen(LINNET_F16, &half, 1, 1, &scales[r * packing::groups(k) + g]);
        std::memcpy(panel + packing::scales_at(dtype, g) + r % 16 * 2, &half, 2);
        const bool extreme = random() % 6 == 0;
        for (uint64_t j = 0; j < 32 && g * 32 + j < k; ++j) {
          const int code = dtype == LINNET_I4 ? static_cast<int>(extreme ? 0 : random() % 16) : extreme ? (random() % 2 ? 127 : -127) : static_cast<int>(random() % 255) - 127;
          levels[r * k + g * 32 + j] = dtype == LINNET_I4 ? static_cast<int>(kLevels[code]) : code;
          panel[packing::codes_at(dtype, g) + packing::code_byte(dtype, r % 16, j)] |= static_cast<uint8_t>(code << packing::code_shift(dtype, j));
        }
      }
    }
    tensor = {"integers", dtype, LINNET_R16K4, 0, 2, {1, rows, k}, bytes.size(), 0, dtype == LINNET_I4 ? kLevels : nullptr, "", bytes.data()};
  }
};

// Rows of activations, quantized.
struct Quantized {
  ops::QuantizedRow at;
  Aligned<uint8_t> bytes;
  Quantized(const ops::Kernels& k, const std::vector<float>& x, uint64_t columns) : at(columns), bytes(x.size() / columns * ops::QuantizedRow(columns).bytes) {
    for (uint64_t t = 0; t < x.size() / columns; ++t) k.quantize(x.data() + t * columns, columns, 0, packing::groups(columns), bytes.data() + t * at.bytes);
  }
};

// Rows of a value, padded with NaN so that a kernel that uses its padding is found out.
struct Rows {
  Aligned<float> data;
  linnet_rows rows;
  Rows(uint32_t count, uint32_t width, const std::vector<float>& elements = {}) : data(count * round16(width)) {
    rows = {data.data(), count, width, round16(width)};
    for (size_t i = 0; i < data.size(); ++i) data[i] = NAN;
    for (size_t t = 0; t < count && !elements.empty(); ++t) std::memcpy(at(t), elements.data() + t * width, width * sizeof(float));
  }
  float* at(size_t t) const { return data.data() + t * rows.stride; }
  std::vector<float> values() const {
    std::vector<float> v;
    for (size_t t = 0; t < rows.rows; ++t) v.insert(v.end(), at(t), at(t) + rows.width);
    return v;
  }
};

// A state and its pages, which start as NaN.
struct State {
  linnet_state_tensor tensors[2];
  uint64_t offsets[2];
  linnet_state state;
  Aligned<uint8_t> pages;
  linnet_state_memory memory;
  State(uint32_t width, uint8_t dtype, uint32_t page_count, uint32_t window = 0, uint16_t heads = 1)
      : tensors{{width, dtype, LINNET_STATE_PANELS, heads}, {width, dtype, LINNET_STATE_ROWS, heads}}, offsets{0, detail::state_tensor_bytes(tensors[0])} {
    const uint64_t page_bytes = offsets[1] + detail::state_tensor_bytes(tensors[1]);
    state = {"kv", static_cast<uint8_t>(window ? LINNET_WINDOW : LINNET_APPEND), window, 2, tensors, offsets, page_bytes};
    pages = Aligned<uint8_t>(page_count * page_bytes);
    std::memset(pages.data(), 0xff, pages.size());
    memory = {pages.data(), page_bytes, &state};
  }
  State(const State&) = delete;
};

// Queries [count][n] over the state's pages, query i seeing ranges[i]; all in one call of each segment.
using Ranges = std::vector<std::pair<uint64_t, uint64_t>>;
inline std::vector<float> attend(const ops::Kernels& k, const State& state, const std::vector<uint32_t>& pages, const std::vector<float>& q, uint32_t n,
                                 const Ranges& ranges, float scale, float softcap) {
  const uint64_t record = ops::attend_record(n), count = ranges.size();
  std::vector<uint64_t> first, last;
  uint64_t end = 0;
  for (const auto& [a, b] : ranges) first.push_back(a), last.push_back(b), end = std::max(end, b);
  Aligned<float> partial(count * record), total(count * record), widened(64 * n);
  const uint64_t code_stride = ops::QuantizedRow(n).bytes;
  Aligned<uint8_t> codes(count * code_stride);
  for (size_t i = 0; i < count; ++i) k.quantize(q.data() + i * n, n, 0, packing::groups(n), codes.data() + i * code_stride);
  for (size_t i = 0; i < count; ++i) ops::attend_nothing(total.data() + i * record, n);
  const ops::Attend a = {q.data(), n, static_cast<uint32_t>(count), n, scale, softcap, first.data(), last.data(), state.pages.data(),
                         state.pages.data() + state.offsets[1], state.tensors[0].dtype, state.tensors[1].dtype, state.memory.page_bytes, pages.data(), widened.data(),
                         codes.data(), code_stride};
  for (uint64_t segment = 0; segment * ops::kAttendSegment < end; ++segment) {
    k.attend(a, segment, partial.data());
    for (size_t i = 0; i < count; ++i) k.fold(partial.data() + i * record, n, total.data() + i * record);
  }
  std::vector<float> y(count * n);
  for (size_t i = 0; i < count; ++i) k.finish_attention(total.data() + i * record, n, y.data() + i * n);
  return y;
}

// A node to be planned and run.
struct Node {
  std::string op;
  std::shared_ptr<std::deque<linnet_value>> values = std::make_shared<std::deque<linnet_value>>();  // shared by copies, which point at them
  std::vector<const linnet_value*> inputs, outputs;
  std::vector<const linnet_tensor*> weights;
  std::vector<const linnet_state*> states;
  std::vector<linnet_attr> attrs;
  std::vector<std::shared_ptr<Weight>> kept;

  explicit Node(std::string name) : op(std::move(name)) {}
  const linnet_value* value(uint32_t width, uint32_t width_s, uint8_t leading, uint8_t dtype) {
    values->push_back({"value", dtype, leading, width, width_s});
    return &values->back();
  }
  Node& in(uint32_t width, uint32_t width_s = 0, uint8_t leading = LINNET_STEP_ROWS, uint8_t dtype = LINNET_F32) {
    inputs.push_back(value(width, width_s, leading, dtype));
    return *this;
  }
  Node& out(uint32_t width, uint32_t width_s = 0, uint8_t leading = LINNET_STEP_ROWS, uint8_t dtype = LINNET_F32) {
    outputs.push_back(value(width, width_s, leading, dtype));
    return *this;
  }
  Node& no_in() { inputs.push_back(nullptr); return *this; }
  Node& weight(std::shared_ptr<Weight> w) {
    weights.push_back(w ? &w->tensor : nullptr);
    kept.push_back(std::move(w));
    return *this;
  }
  Node& state(const State& s) { states.push_back(&s.state); return *this; }
  Node& integer(const char* name, int64_t x) { attrs.push_back({name, LINNET_INT, 0, x, 0, nullptr, nullptr, nullptr}); return *this; }
  Node& real(const char* name, double x) { attrs.push_back({name, LINNET_REAL, 0, 0, x, nullptr, nullptr, nullptr}); return *this; }
  linnet_node build() const {
    const auto count = [](const auto& v) { return static_cast<uint32_t>(v.size()); };
    return {sizeof(linnet_node), 0, op.c_str(), 1, count(inputs), count(outputs), count(weights), count(states), count(attrs),
            inputs.data(), outputs.data(), weights.data(), states.data(), attrs.data()};
  }
};

inline const linnet_op_def& builtin(const std::string& name) {
  using namespace ops;
  static const linnet_op_def* const all[] = {&kEmbedding,   &kRmsNorm,    &kLayerNorm,  &kLinear, &kFeedForward, &kRopeTable, &kRope,
                                             &kAttention,   &kSelectRows, &kActivation, &kAdd,    &kMul,         &kMatmul,    &kScaledMaskedSoftmax,
                                             &kStateAppend, &kStateView};
  for (const linnet_op_def* op : all) if (name == op->name) return *op;
  std::abort();
}

struct Planned {
  linnet_code code;
  linnet_op_plan plan;
  linnet_error error;
};
inline Planned plan(const Node& node, uint32_t max_rows = 64, uint32_t threads = 1) {
  const linnet_node built = node.build();
  Planned p = {};
  p.plan.size = sizeof p.plan;
  p.plan.max_rows = max_rows, p.plan.max_wanted_rows = max_rows, p.plan.sessions = 4, p.plan.threads = threads, p.plan.capacity = 4096;
  p.plan.node = &built;
  p.plan.error = &p.error;
  p.code = builtin(node.op).plan(nullptr, &p.plan);
  p.plan.node = nullptr, p.plan.error = nullptr;
  return p;
}

// Plans, inits and evals one node. The caller fills inputs, outputs, segments and states; returns eval's code and keeps its message.
struct Run {
  uint32_t threads = 1;
  const char* isa = "scalar";
  std::vector<linnet_rows> inputs, outputs;
  std::vector<linnet_segment> segments;
  std::vector<linnet_state_memory> states;
  std::string message;

  linnet_code operator()(const Node& node);
};

namespace host {
struct Private { Run* run; uint32_t threads; std::vector<Aligned<uint8_t>>* scratch; std::barrier<>* gate; };
inline void parallel(const linnet_op_eval* e, linnet_region region, void* argument) {
  Private& p = *static_cast<Private*>(e->host_private);
  std::barrier<> gate(p.threads);
  p.gate = &gate;
  const auto work = [&](uint32_t i) {
    const linnet_thread thread = {i, p.threads, (*p.scratch)[i].data(), &p};
    region(argument, &thread);
  };
  std::vector<std::thread> others;
  for (uint32_t i = 1; i < p.threads; ++i) others.emplace_back(work, i);
  work(0);
  for (std::thread& t : others) t.join();
}
inline void barrier(const linnet_thread* thread) { static_cast<Private*>(thread->host_private)->gate->arrive_and_wait(); }
inline linnet_code fail(const linnet_op_eval* e, linnet_code code, const char* message) {
  static_cast<Private*>(e->host_private)->run->message = message;
  return code;
}
}  // namespace host

inline linnet_code Run::operator()(const Node& node) {
  const ops::Kernels& set = kernels(isa);
  const linnet_node built = node.build();
  linnet_op_def op = builtin(node.op);
  op.context = const_cast<ops::Kernels*>(&set);
  uint32_t rows = 0, wanted = 0;
  for (const linnet_segment& s : segments) rows += s.rows, wanted += s.wanted_rows;
  const Planned planned = plan(node, std::max({rows, wanted, 1u}), threads);
  if (planned.code) { message = planned.error.message; return planned.code; }
  Aligned<uint8_t> model(planned.plan.model_bytes), step(planned.plan.step_bytes);
  std::memset(step.data(), 0xff, step.size());
  std::vector<Aligned<uint8_t>> scratch;
  for (uint32_t i = 0; i < threads; ++i) {
    scratch.emplace_back(planned.plan.thread_bytes);
    std::memset(scratch[i].data(), 0xff, scratch[i].size());
  }
  host::Private context = {this, threads, &scratch, nullptr};
  const linnet_host table = {sizeof(linnet_host), LINNET_OP_ABI, set.math, host::parallel, host::barrier, host::fail};
  linnet_op_eval e = {};
  e.size = sizeof e, e.host = &table, e.node = &built;
  e.op_context = op.context, e.model_memory = model.data(), e.step_memory = step.data(), e.host_private = &context;
  if (op.init) if (const linnet_code code = op.init(op.context, &e)) return code;
  e.inputs = inputs.data(), e.outputs = outputs.data(), e.states = states.data();
  e.segments = segments.data(), e.segment_count = static_cast<uint32_t>(segments.size());
  e.rows = rows, e.wanted_rows = wanted;
  return op.eval(&e);
}

// One session's rows from a position on.
inline linnet_segment segment(uint32_t rows, uint64_t position = 0, const uint32_t* pages = nullptr, uint32_t first_row = 0) {
  return {0, first_row, rows, first_row, rows, position, pages};
}

}  // namespace linnet::test
