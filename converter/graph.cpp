#include "converter/graph.h"

#include <algorithm>

#include "converter/message.h"
#include "ops/packing.h"

namespace linnet::converter {

uint64_t TensorSpec::bytes() const {
  if (layout != LINNET_PLAIN) return packing::matrix_bytes(dtype, shape[0], shape[1], shape[2]);
  return shape[0] * shape[1] * shape[2] * packing::float_bytes(dtype);
}

Id Function::add(std::string value, uint64_t width, uint64_t width_s, linnet_dtype dtype, linnet_leading counts) {
  // Families check their settings; this is the last line, where a product of them became too large for the format.
  if (width > UINT32_MAX || width_s > UINT32_MAX)
    fail(LINNET_UNSUPPORTED, "value ", value, " of ", name, " would be ", width, " + ", width_s, " S elements wide");
  values.push_back({std::move(value), dtype, counts, static_cast<uint32_t>(width), static_cast<uint32_t>(width_s)});
  return static_cast<Id>(values.size() - 1);
}

Id Function::input(std::string value, uint64_t width, linnet_dtype dtype) {
  if (values.size() != inputs) fail(LINNET_INTERNAL, "function ", name, ": inputs come first");
  ++inputs;
  return add(std::move(value), width, 0, dtype, leading);
}

Id Function::output(std::string value, uint64_t width, std::optional<linnet_leading> counts) {
  if (values.size() != size_t{inputs} + outputs) fail(LINNET_INTERNAL, "function ", name, ": outputs come right after inputs");
  ++outputs;
  return add(std::move(value), width, 0, LINNET_F32, counts.value_or(leading));
}

Id Function::value(std::string value, uint64_t width, uint64_t width_s, std::optional<linnet_leading> counts) {
  return add(std::move(value), width, width_s, LINNET_F32, counts.value_or(leading));
}

Id Graph::tensor(TensorSpec spec) {
  const auto [at, fresh] = tensor_ids_.emplace(spec.name, static_cast<Id>(tensors.size()));
  if (fresh) tensors.push_back(std::move(spec));
  else if (tensors[at->second] != spec) fail(LINNET_INTERNAL, "tensor ", spec.name, " is made in two ways");
  return at->second;
}

Id Graph::state(StateSpec spec) {
  states.push_back(std::move(spec));
  return static_cast<Id>(states.size() - 1);
}

Id Graph::body(Function function) {
  const std::string kind = function.name;
  size_t of_kind = 0;
  for (size_t i = 0; i < bodies.size(); ++i) {
    const Function& f = bodies[i];
    if (f.inputs == function.inputs && f.outputs == function.outputs && f.weights == function.weights && f.states == function.states &&
        f.values == function.values && f.nodes == function.nodes)
      return static_cast<Id>(i + 1);
    of_kind += f.name == kind || f.name.starts_with(kind + ".");
  }
  if (of_kind) function.name = cat(kind, ".", of_kind);
  bodies.push_back(std::move(function));
  return static_cast<Id>(bodies.size());
}

}  // namespace linnet::converter
