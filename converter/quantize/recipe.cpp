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

bool is_integer(const TensorSpec& t) { return t.layout == LINNET_R16K4; }

}  // namespace

// The graph says what a matrix is for: an op and its argument (ops/README.md), so that a new family needs nothing here.
void choose_formats(Graph& graph, linnet_dtype wanted, bool pure) {
  const std::string asked = cat(wanted == LINNET_I8 ? "i8" : "i4", pure ? ", as every matrix (--pure)" : ", as asked for");
  const bool recipe = wanted == LINNET_I4 && !pure;
  const auto matrix = [&](Id id, const char* better) {
    if (id == kAbsent || graph.tensors[id].rank < 2 || is_integer(graph.tensors[id])) return;
    if (recipe && better) set_format(graph.tensors[id], LINNET_I8, better);
    else set_format(graph.tensors[id], wanted, asked);
  };
  for (const NodeSpec& n : graph.model.nodes) {
    if (n.op == "embedding") matrix(n.weights[0], "i8: the embedding is read by everything after it");
  }
  if (!graph.model.nodes.empty()) {
    const NodeSpec& last = graph.model.nodes.back();  // the output head
    if (last.op == "linear") matrix(last.weights[2], "i8: the output head decides between tokens");
  }
  for (const NodeSpec& n : graph.model.nodes) {
    if (n.op != "linear" && n.op != "feed_forward") continue;
    for (size_t i = 2; i < n.weights.size(); i += 2) matrix(n.weights[i], nullptr);  // norm, its bias, then matrix and bias in turn
  }
}

}  // namespace linnet::converter
