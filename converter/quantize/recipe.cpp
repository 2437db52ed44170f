#include "converter/quantize/recipe.h"

#include "converter/message.h"
#include "converter/quantize/levels.h"

namespace linnet::converter {

namespace {

void set_format(TensorSpec& t, linnet_dtype dtype, std::string note) {
  t.dtype = dtype;
  t.layout = LINNET_R16K4;
  t.levels = dtype == LINNET_I4 ? std::optional<Levels>(kLevels) : std::nullopt;
  t.note = std::move(note);
}

// The matrix whose product is `value`: output i of a linear is its weight 2 + 2 i (ops/README.md).
Id made_by(const Function& model, Id value) {
  for (const NodeSpec& n : model.nodes)
    for (size_t i = 0; n.op == "linear" && i < n.outputs.size(); ++i)
      if (n.outputs[i] == value) return n.weights[2 + 2 * i];
  return kAbsent;
}

}  // namespace

// The graph says what a matrix is for: an op and its argument, so that a new family needs nothing here.
void choose_formats(Graph& graph, linnet_dtype wanted, bool pure) {
  const auto choose = [&](Id id, linnet_dtype dtype, const std::string& note) {
    if (id == kAbsent || graph.tensors[id].rank < 2 || graph.tensors[id].layout == LINNET_R16K4) return;  // the first word counts
    set_format(graph.tensors[id], dtype, note);
  };
  const std::vector<NodeSpec>& nodes = graph.model.nodes;
  if (wanted == LINNET_I4 && !pure) {
    const NodeSpec *first = nullptr, *last = nullptr;
    for (const NodeSpec& n : nodes) {
      if (n.op == "embedding") choose(n.weights[0], LINNET_I8, "i8: the embedding's error goes through every layer");
      if (n.op == "feed_forward") last = &n, first = first ? first : &n;
      if (n.op != "attention") continue;
      const Id q = made_by(graph.model, n.inputs[0]), k = made_by(graph.model, n.inputs[1]), v = made_by(graph.model, n.inputs[2]);
      choose(v, LINNET_I8, "i8: values go to the output as they are");
      if (q != kAbsent && k != kAbsent && 2 * graph.tensors[k].rows() <= graph.tensors[q].rows())
        choose(k, LINNET_I8, "i8: several query heads share these keys");
    }
    if (!nodes.empty() && nodes.back().op == "linear") choose(nodes.back().weights[2], LINNET_I8, "i8: the output head decides between tokens");
    for (const NodeSpec* n : {first, last})
      if (n) choose(n->weights[6], LINNET_I8, "i8: down of the first and the last layer, where outliers are");
  }
  const std::string asked = cat(wanted == LINNET_I8 ? "i8" : "i4", pure ? ": as every matrix (--pure)" : ": as asked for");
  for (const NodeSpec& n : nodes) {
    if (n.op == "embedding") choose(n.weights[0], wanted, asked);
    if (n.op != "linear" && n.op != "feed_forward") continue;
    for (size_t i = 2; i < n.weights.size(); i += 2) choose(n.weights[i], wanted, asked);  // norm, its bias, then matrix and bias in turn
  }
}

}  // namespace linnet::converter
