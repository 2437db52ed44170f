// A model's graph while it is being built: what the graph section will say (schema/model.fbs), and for every tensor a recipe of where
// its bytes come from. Knows no architecture and no file.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "linnet/op.h"

namespace linnet::converter {

using Id = uint32_t;                      // of a value, tensor, state or function
inline constexpr Id kAbsent = 0xFFFFFFFFu;

// How to make a tensor from the checkpoint: take a tensor, transpose it if it is stored [in, out], keep rows (of a vector: elements)
// from first_row on.
struct Recipe {
  std::string source;         // the checkpoint's tensor; empty: `values` are the numbers
  bool transpose = false;
  uint64_t first_row = 0;
  std::vector<float> values;
  bool operator==(const Recipe&) const = default;
};

using Levels = std::array<int8_t, 16>;    // of i4: ascending, -127..127

struct TensorSpec {
  std::string name;
  linnet_dtype dtype = LINNET_F32;
  linnet_layout layout = LINNET_PLAIN;
  uint8_t rank = 1;
  std::array<uint64_t, 3> shape{1, 1, 1};  // experts, rows, columns
  Recipe recipe;
  std::optional<Levels> levels{};  // i4
  std::string note{};              // why it has this format; empty: nothing to say
  bool operator==(const TensorSpec&) const = default;
  uint64_t rows() const { return shape[0] * shape[1]; }
  uint64_t columns() const { return shape[2]; }
  uint64_t bytes() const;
};

struct Attribute {
  std::string name;
  std::variant<int64_t, double> value;
  bool operator==(const Attribute&) const = default;
};
inline Attribute integer(std::string name, uint64_t value) { return {std::move(name), static_cast<int64_t>(value)}; }
inline Attribute real(std::string name, double value) { return {std::move(name), value}; }

struct ValueSpec {
  std::string name;
  linnet_dtype dtype = LINNET_F32;
  linnet_leading leading = LINNET_ONE;
  uint32_t width = 0, width_s = 0;
  bool operator==(const ValueSpec&) const = default;
};

struct NodeSpec {
  std::string op;
  std::vector<Id> inputs, outputs, weights, states;
  std::vector<Attribute> attributes;
  std::optional<Id> body;
  bool operator==(const NodeSpec&) const = default;
};

// A function under construction. Inputs are declared first, then outputs, then other values, as their numbering demands.
class Function {
 public:
  // leading: what values made here count. LINNET_ONE in bodies, which run a row at a time.
  Function(std::string title, linnet_leading counts) : name(std::move(title)), leading(counts) {}
  Id input(std::string value, uint64_t width, linnet_dtype dtype = LINNET_F32);
  Id output(std::string value, uint64_t width, std::optional<linnet_leading> counts = {});
  Id value(std::string value, uint64_t width, uint64_t width_s = 0, std::optional<linnet_leading> counts = {});
  void node(NodeSpec spec) { nodes.push_back(std::move(spec)); }

  std::string name;
  linnet_leading leading;
  uint8_t inputs = 0, outputs = 0, weights = 0, states = 0;
  std::vector<ValueSpec> values;
  std::vector<NodeSpec> nodes;

 private:
  Id add(std::string value, uint64_t width, uint64_t width_s, linnet_dtype dtype, linnet_leading counts);
};

struct StateSpec {
  std::string name;
  std::vector<linnet_state_tensor> tensors;
};

struct Graph {
  // The same name twice must mean the same tensor, and gives the same id.
  Id tensor(TensorSpec spec);
  Id state(StateSpec spec);
  // A body is stored once: one that says the same as an earlier one gives that one's id. Its name is made unique.
  Id body(Function function);

  Function model{"model", LINNET_STEP_ROWS};   // function 0
  std::vector<Function> bodies;                // function 1, 2, ...
  std::vector<TensorSpec> tensors;
  std::vector<StateSpec> states;

  // What the file says of the model, beside the graph.
  std::string name, architecture;
  uint32_t vocabulary = 0;
  std::optional<uint32_t> context_trained, context_limit, bos, pad, top_k;
  std::vector<uint32_t> eos;
  std::optional<float> temperature, top_p, repetition_penalty;

 private:
  std::unordered_map<std::string, Id> tensor_ids_;
};

// Where a tensor's bytes lie in the weights section, and their hash.
struct Placement {
  uint64_t offset = 0, bytes = 0, xxh3 = 0;
};

// The graph section. Its size depends on the graph alone, not on what the placements say.
std::vector<uint8_t> graph_section(const Graph& graph, const std::vector<Placement>& placements);

}  // namespace linnet::converter
