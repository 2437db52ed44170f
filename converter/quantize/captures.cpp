#include "converter/quantize/captures.h"

#include "converter/message.h"

namespace linnet::converter {

namespace {

class Expansion {
 public:
  Expansion(const Graph& graph, const std::vector<bool>& wanted) : wanted_(wanted), model_(graph.model) {
    out.graph = graph;
    out.of_tensor.assign(graph.tensors.size(), kAbsent);
    model_.nodes.clear();
    for (const NodeSpec& node : graph.model.nodes) {
      if (node.op == "feed_forward") inline_body(node);
      else add(node);
    }
    out.graph.model = std::move(model_);
  }
  Captures out;

 private:
  void inline_body(const NodeSpec& node) {
    if (!node.body) fail(LINNET_INTERNAL, "a feed_forward has no body");
    const Function& body = out.graph.bodies[*node.body - 1];
    std::vector<Id> values;
    for (size_t i = 0; i < body.values.size(); ++i) {
      const ValueSpec& v = body.values[i];
      const size_t output = i - body.inputs;
      if (i < body.inputs) values.push_back(i < node.inputs.size() ? node.inputs[i] : kAbsent);
      else if (output < body.outputs) values.push_back(node.outputs[output]);
      else values.push_back(value(cat(name_of(node.outputs[0]), ".", v.name), v.width, node.outputs[0]));
    }
    const auto renamed = [](std::vector<Id> ids, const std::vector<Id>& to) {
      for (Id& id : ids) id = id == kAbsent ? kAbsent : to[id];
      return ids;
    };
    for (const NodeSpec& n : body.nodes)
      add({n.op, renamed(n.inputs, values), renamed(n.outputs, values), renamed(n.weights, node.weights), renamed(n.states, node.states),
           n.attributes, n.body});
  }

  void add(NodeSpec node) {
    if (node.op == "select_rows") selected_.emplace_back(node.outputs[0], node.inputs[0]);
    if (node.op != "linear" || !reads_wanted(node)) return model_.nodes.push_back(std::move(node));
    Id x = node.inputs[0];
    bool selected = false;
    for (const auto& [rows, all] : selected_)
      if (rows == x) x = all, selected = true;
    const Id normed = norm(node, x);
    capture(node, normed);
    if (normed != x) {
      node.inputs[0] = normed;
      if (selected) {
        const Id some = value(cat(name_of(normed), ".selected"), model_.values[x].width, node.outputs[0]);
        model_.nodes.push_back({"select_rows", {normed}, {some}, {}, {}, {}, {}});
        node.inputs[0] = some;
      }
    }
    model_.nodes.push_back(std::move(node));
  }

  // Takes the norm before a linear out of it; gives the value it reads then.
  Id norm(NodeSpec& linear, Id x) {
    std::vector<Attribute> left;
    int64_t kind = 0;
    Attribute epsilon = real("epsilon", 0);
    for (const Attribute& a : linear.attributes) {
      if (a.name == "norm") kind = std::get<int64_t>(a.value);
      else if (a.name == "epsilon") epsilon = a;
      else left.push_back(a);
    }
    if (kind == 0) return x;
    const Id normed = value(cat(name_of(linear.outputs[0]), ".normed"), model_.values[x].width, x);
    std::vector<Id> weights(linear.weights.begin(), linear.weights.begin() + (kind == 1 ? 1 : 2));
    model_.nodes.push_back({kind == 1 ? "rms_norm" : "layer_norm", {x}, {normed}, std::move(weights), {}, {epsilon}, {}});
    linear.attributes = std::move(left);
    linear.weights[0] = linear.weights[1] = kAbsent;
    return normed;
  }

  bool reads_wanted(const NodeSpec& linear) const {
    for (size_t i = 2; i < linear.weights.size(); i += 2)
      if (linear.weights[i] != kAbsent && wanted_[linear.weights[i]]) return true;
    return false;
  }

  void capture(const NodeSpec& linear, Id x) {
    const Id index = static_cast<Id>(out.widths.size());
    bool first = false;
    for (size_t i = 2; i < linear.weights.size(); i += 2) {
      const Id w = linear.weights[i];
      if (w != kAbsent && wanted_[w] && out.of_tensor[w] == kAbsent) out.of_tensor[w] = index, first = true;
    }
    if (!first) return;  // a matrix that is read twice is measured where it is read first
    out.widths.push_back(model_.values[x].width);
    model_.nodes.push_back({"capture", {x}, {}, {}, {}, {integer("index", index)}, {}});
  }

  // A value that counts what `like` counts.
  Id value(std::string name, uint64_t width, Id like) { return model_.value(std::move(name), width, 0, model_.values[like].leading); }
  const std::string& name_of(Id id) const { return model_.values[id].name; }

  const std::vector<bool>& wanted_;
  Function model_;
  std::vector<std::pair<Id, Id>> selected_;
};

}  // namespace

Captures with_captures(const Graph& graph, const std::vector<bool>& wanted) { return std::move(Expansion(graph, wanted).out); }

}  // namespace linnet::converter
