#include "converter/architectures/bodies.h"

namespace linnet::converter {

Function attention_body(const AttentionShape& s) {
  const uint64_t q_width = s.heads * s.head_dim, kv_width = s.kv_heads * s.head_dim;
  Function f("attention", LINNET_ONE);
  f.states = 1;
  const Id kv = 0;
  Id q = f.input("q", q_width), k = f.input("k", kv_width);
  const Id v = f.input("v", kv_width), table = f.input("rope", s.rotary_dim ? s.rotary_dim : 1), y = f.output("y", q_width);
  if (s.rotary_dim) {
    const auto rotated = [&](const char* name, Id x, uint64_t heads) {
      const Id out = f.value(name, heads * s.head_dim);
      f.node({"rope", {x, table}, {out}, {}, {},
              {integer("heads", heads), integer("head_dim", s.head_dim), integer("rotary_dim", s.rotary_dim), integer("style", s.rotary_pairs)}, {}});
      return out;
    };
    q = rotated("q_rotated", q, s.heads);
    k = rotated("k_rotated", k, s.kv_heads);
  }
  const auto of_state = [&](uint64_t tensor) { return std::vector<Attribute>{integer("tensor", tensor)}; };
  f.node({"state_append", {k}, {}, {}, {kv}, of_state(0), {}});
  f.node({"state_append", {v}, {}, {}, {kv}, of_state(1), {}});
  const Id keys = f.value("keys", 0, kv_width), values = f.value("values", 0, kv_width);
  f.node({"state_view", {}, {keys}, {}, {kv}, of_state(0), {}});
  f.node({"state_view", {}, {values}, {}, {kv}, of_state(1), {}});
  const auto heads = [&](uint64_t transposed) {
    return std::vector<Attribute>{integer("heads", s.heads), integer("kv_heads", s.kv_heads), integer("transpose_b", transposed)};
  };
  const Id scores = f.value("scores", 0, s.heads), weights = f.value("weights", 0, s.heads);
  f.node({"matmul", {q, keys}, {scores}, {}, {}, heads(1), {}});
  const std::vector<Attribute> softmax{integer("heads", s.heads), real("scale", s.scale), real("softcap", s.softcap), integer("window", 0)};
  f.node({"scaled_masked_softmax", {scores}, {weights}, {}, {}, softmax, {}});
  f.node({"matmul", {weights, values}, {y}, {}, {}, heads(0), {}});
  return f;
}

Function feed_forward_body(const FeedForwardBlock& m, uint64_t width) {
  enum : Id { norm_weight, norm_bias, up, up_bias, gate, gate_bias, down, down_bias, all };  // indices into the node's weights
  Function f("feed_forward", LINNET_ONE);
  f.weights = all;
  const auto where = [](Id argument, Id given) { return given == kAbsent ? kAbsent : argument; };
  const Id x = f.input("x", width), residual = f.input("residual", width), y = f.output("y", width);
  Id h = x;
  if (m.norm.kind != NormKind::none) {
    h = f.value("normed", width);
    const bool layer = m.norm.kind == NormKind::layer;
    std::vector<Id> weights{where(norm_weight, m.norm.weight)};
    if (layer) weights.push_back(where(norm_bias, m.norm.bias));
    f.node({layer ? "layer_norm" : "rms_norm", {x}, {h}, std::move(weights), {}, {real("epsilon", m.norm.epsilon)}, {}});
  }
  const std::vector<Attribute> plain{integer("norm", 0), real("epsilon", 0), integer("activation", 0)};
  const bool gated = m.gate.weight != kAbsent;
  const Id raised = f.value("up", m.inner), active = f.value("active", m.inner);
  std::vector<Id> outputs{raised}, weights{kAbsent, kAbsent, up, where(up_bias, m.up.bias)};
  Id inner = active;
  if (gated) {
    const Id gates = f.value("gate", m.inner);
    outputs.push_back(gates);
    weights.insert(weights.end(), {gate, where(gate_bias, m.gate.bias)});
    f.node({"linear", {h, kAbsent}, std::move(outputs), std::move(weights), {}, plain, {}});
    f.node({"activation", {gates}, {active}, {}, {}, {integer("kind", uint64_t(m.activation))}, {}});
    inner = f.value("gated", m.inner);
    f.node({"mul", {active, raised}, {inner}, {}, {}, {}, {}});
  } else {
    f.node({"linear", {h, kAbsent}, std::move(outputs), std::move(weights), {}, plain, {}});
    f.node({"activation", {raised}, {active}, {}, {}, {integer("kind", uint64_t(m.activation))}, {}});
  }
  f.node({"linear", {inner, residual}, {y}, {kAbsent, kAbsent, down, where(down_bias, m.down.bias)}, {}, plain, {}});
  return f;
}

}  // namespace linnet::converter
