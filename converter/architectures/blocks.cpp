#include "converter/architectures/blocks.h"

#include "converter/architectures/bodies.h"
#include "converter/message.h"

namespace linnet::converter {

namespace {

std::vector<Attribute> linear_attributes(const Norm& norm) {
  return {integer("norm", uint64_t(norm.kind)), real("epsilon", norm.epsilon), integer("activation", uint64_t(Activation::none))};
}

}  // namespace

Id attention_block(ModelBuilder& b, const std::string& layer, Id x, uint64_t width, const AttentionBlock& a) {
  Function& f = b.graph.model;
  const uint64_t q_width = a.shape.heads * a.shape.head_dim, kv_width = a.shape.kv_heads * a.shape.head_dim;
  const Id q = f.value(layer + ".q", q_width), k = f.value(layer + ".k", kv_width), v = f.value(layer + ".v", kv_width);
  const std::vector<Id> projections{a.norm.weight, a.norm.bias, a.q.weight, a.q.bias, a.k.weight, a.k.bias, a.v.weight, a.v.bias};
  f.node({"linear", {x, kAbsent}, {q, k, v}, projections, {}, linear_attributes(a.norm), {}});

  const Id kv = b.key_value_state(layer + ".kv", a.shape.kv_heads, kv_width), body = b.graph.body(attention_body(a.shape));
  const Id mixed = f.value(layer + ".attention", q_width);
  const AttentionShape& s = a.shape;
  const std::vector<Attribute> attributes{integer("heads", s.heads),       integer("kv_heads", s.kv_heads), integer("head_dim", s.head_dim),
                                          real("scale", s.scale),          real("softcap", s.softcap),      integer("rotary_dim", s.rotary_dim),
                                          integer("style", s.rotary_pairs)};
  f.node({"attention", {q, k, v, a.rope}, {mixed}, {}, {kv}, attributes, body});

  const Id out = f.value(layer + ".x1", width);
  f.node({"linear", {mixed, x}, {out}, {kAbsent, kAbsent, a.o.weight, a.o.bias}, {}, linear_attributes({}), {}});
  return out;
}

Id feed_forward_block(ModelBuilder& b, const std::string& layer, Id x, uint64_t width, const FeedForwardBlock& m) {
  Function& f = b.graph.model;
  const Id body = b.graph.body(feed_forward_body(m, width)), out = f.value(layer + ".x2", width);
  f.node({"feed_forward", {x, x}, {out},
          {m.norm.weight, m.norm.bias, m.up.weight, m.up.bias, m.gate.weight, m.gate.bias, m.down.weight, m.down.bias}, {},
          {integer("norm", uint64_t(m.norm.kind)), real("epsilon", m.norm.epsilon), integer("activation", uint64_t(m.activation))}, body});
  return out;
}

Id begin_model(ModelBuilder& b, uint64_t vocabulary, uint64_t width, Id table, Id positions) {
  Function& f = b.graph.model;
  b.graph.vocabulary = static_cast<uint32_t>(vocabulary);
  const Id tokens = f.input("tokens", 1, LINNET_I32);
  f.output("logits", vocabulary, LINNET_WANTED_ROWS);
  const Id x = f.value("x", width);
  f.node({"embedding", {tokens}, {x}, {table, positions}, {}, {real("scale", 1)}, {}});
  return x;
}

Id rope_table(ModelBuilder& b, std::vector<float> inverse_frequencies, double factor) {
  Function& f = b.graph.model;
  const Id table = f.value("rope", 2 * inverse_frequencies.size());
  f.node({"rope_table", {}, {table}, {b.numbers("rope.inverse_frequencies", std::move(inverse_frequencies))}, {}, {real("factor", factor)}, {}});
  return table;
}

void finish_model(ModelBuilder& b, Id x, uint64_t width, const Norm& norm, Id head) {
  Function& f = b.graph.model;
  const Id wanted = f.value("wanted", width, 0, LINNET_WANTED_ROWS), logits = 1;  // the model's only output
  f.node({"select_rows", {x}, {wanted}, {}, {}, {}, {}});
  f.node({"linear", {wanted, kAbsent}, {logits}, {norm.weight, norm.bias, head, kAbsent}, {}, linear_attributes(norm), {}});
}

Activation read_activation(const Config& config, std::string_view key, const char* fallback) {
  const std::string name = config.text_or(key, fallback);
  if (name == "relu") return Activation::relu;
  if (name == "gelu" || name == "gelu_python") return Activation::gelu;
  if (name == "gelu_new" || name == "gelu_pytorch_tanh" || name == "gelu_python_tanh" || name == "gelu_fast" || name == "gelu_accurate")
    return Activation::gelu_tanh;
  if (name == "silu" || name == "swish") return Activation::silu;
  fail(LINNET_UNSUPPORTED, config.file(), ": ", key, " \"", shown(name, 40),
       "\" is not supported; relu, gelu, gelu_new, gelu_pytorch_tanh, gelu_fast and silu are");
}

}  // namespace linnet::converter
