// Writes a Graph as the FlatBuffer of schema/model.fbs.
#include <map>

#include "converter/graph.h"
#include "converter/message.h"
#include "flatbuffers/flatbuffers.h"
#include "runtime/container.h"
#include "schema/model_generated.h"

namespace linnet::converter {

namespace {

namespace fb = linnet::format;
using flatbuffers::Offset;

template <typename T>
flatbuffers::Optional<T> optional(const std::optional<T>& v) {
  return v ? flatbuffers::Optional<T>(*v) : flatbuffers::nullopt;
}

// Numbers that the schema keeps in a byte.
uint8_t count8(size_t n) {
  if (n > UINT8_MAX) fail(LINNET_INTERNAL, "a node has ", n, " arguments of one kind");
  return static_cast<uint8_t>(n);
}

class SectionWriter {
 public:
  // ForceDefaults: every field is stored, so a hash that happens to be 0 does not change the size.
  SectionWriter() { fbb_.ForceDefaults(true); }

  std::vector<uint8_t> write(const Graph& graph, const std::vector<Placement>& placements) {
    add_function(graph.model);
    for (const Function& f : graph.bodies) add_function(f);
    for (size_t i = 0; i < graph.tensors.size(); ++i) add_tensor(graph.tensors[i], placements.at(i));
    for (const StateSpec& s : graph.states) add_state(s);
    const auto names = fb::CreateNames(fbb_, fbb_.CreateVector(blob_), fbb_.CreateVector(ends_));
    const auto functions = fbb_.CreateVector(functions_);
    const auto values = fbb_.CreateVector(values_);
    const auto nodes = fbb_.CreateVector(nodes_);
    const auto args = fbb_.CreateVector(args_);
    const auto attributes = fbb_.CreateVector(attributes_);
    const auto tensors = fbb_.CreateVector(tensors_);
    const auto levels = levels_.empty() ? Offset<flatbuffers::Vector<float>>() : fbb_.CreateVector(levels_);
    const auto states = fbb_.CreateVector(states_);
    const auto state_tensors = fbb_.CreateVectorOfStructs(state_tensors_);
    const auto name = fbb_.CreateString(graph.name), architecture = fbb_.CreateString(graph.architecture);
    const auto eos = fbb_.CreateVector(graph.eos);
    fb::ModelBuilder model(fbb_);
    model.add_names(names);
    model.add_functions(functions);
    model.add_values(values);
    model.add_nodes(nodes);
    model.add_args(args);
    model.add_attributes(attributes);
    model.add_tensors(tensors);
    if (!levels_.empty()) model.add_levels(levels);
    model.add_states(states);
    model.add_state_tensors(state_tensors);
    model.add_numerics(detail::kNumerics);
    model.add_name(name);
    model.add_architecture(architecture);
    model.add_vocabulary(graph.vocabulary);
    if (graph.context_trained) model.add_context_trained(*graph.context_trained);
    if (graph.context_limit) model.add_context_limit(*graph.context_limit);
    if (graph.bos) model.add_bos(*graph.bos);
    if (graph.pad) model.add_pad(*graph.pad);
    model.add_eos(eos);
    if (graph.temperature) model.add_temperature(*graph.temperature);
    if (graph.top_k) model.add_top_k(*graph.top_k);
    if (graph.top_p) model.add_top_p(*graph.top_p);
    if (graph.repetition_penalty) model.add_repetition_penalty(*graph.repetition_penalty);
    fbb_.Finish(model.Finish());
    return {fbb_.GetBufferPointer(), fbb_.GetBufferPointer() + fbb_.GetSize()};
  }

 private:
  uint32_t name(const std::string& text) {
    const auto [at, fresh] = ids_.emplace(text, static_cast<uint32_t>(ends_.size()));
    if (fresh) {
      blob_.insert(blob_.end(), text.begin(), text.end());
      ends_.push_back(static_cast<uint32_t>(blob_.size()));
    }
    return at->second;
  }

  void add_function(const Function& f) {
    functions_.push_back(fb::CreateFunction(fbb_, name(f.name), f.inputs, f.outputs, f.weights, f.states, static_cast<uint32_t>(f.values.size()),
                                            static_cast<uint32_t>(f.nodes.size())));
    for (const ValueSpec& v : f.values)
      values_.push_back(
          fb::CreateValue(fbb_, name(v.name), static_cast<fb::DType>(v.dtype), static_cast<fb::Leading>(v.leading), v.width, v.width_s));
    for (const NodeSpec& n : f.nodes) {
      nodes_.push_back(fb::CreateNode(fbb_, name(n.op), 1, count8(n.inputs.size()), count8(n.outputs.size()), count8(n.weights.size()),
                                      count8(n.states.size()), count8(n.attributes.size()), optional(n.body)));
      for (const auto* list : {&n.inputs, &n.outputs, &n.weights, &n.states}) args_.insert(args_.end(), list->begin(), list->end());
      for (const Attribute& a : n.attributes) {
        const auto* number = std::get_if<int64_t>(&a.value);
        attributes_.push_back(fb::CreateAttribute(fbb_, name(a.name), number ? fb::AttributeKind::integer : fb::AttributeKind::real,
                                                  number ? *number : 0, number ? 0.0 : std::get<double>(a.value)));
      }
    }
  }

  // Each table is stored once.
  uint32_t levels(const Levels& table) {
    const auto [at, fresh] = level_ids_.emplace(table, static_cast<uint32_t>(levels_.size() / table.size()));
    if (fresh) levels_.insert(levels_.end(), table.begin(), table.end());
    return at->second;
  }

  void add_tensor(const TensorSpec& t, const Placement& p) {
    const fb::Shape shape(t.shape[0], t.shape[1], t.shape[2]);
    const auto table = t.levels ? flatbuffers::Optional<uint32_t>(levels(*t.levels)) : flatbuffers::nullopt;
    const auto note = t.note.empty() ? flatbuffers::nullopt : flatbuffers::Optional<uint32_t>(name(t.note));
    tensors_.push_back(fb::CreateTensor(fbb_, name(t.name), static_cast<fb::DType>(t.dtype), static_cast<fb::Layout>(t.layout), 0, t.rank, &shape,
                                        p.offset, p.bytes, p.xxh3, table, note));
  }

  void add_state(const StateSpec& s) {
    states_.push_back(fb::CreateState(fbb_, name(s.name), fb::StateKind::append, 0, count8(s.tensors.size())));
    for (const linnet_state_tensor& t : s.tensors)
      state_tensors_.emplace_back(t.width, static_cast<fb::DType>(t.dtype), static_cast<fb::StateLayout>(t.layout), t.heads);
  }

  flatbuffers::FlatBufferBuilder fbb_;
  std::map<std::string, uint32_t> ids_;
  std::map<Levels, uint32_t> level_ids_;
  std::vector<float> levels_;
  std::vector<uint8_t> blob_;
  std::vector<uint32_t> ends_, args_;
  std::vector<Offset<fb::Function>> functions_;
  std::vector<Offset<fb::Value>> values_;
  std::vector<Offset<fb::Node>> nodes_;
  std::vector<Offset<fb::Attribute>> attributes_;
  std::vector<Offset<fb::Tensor>> tensors_;
  std::vector<Offset<fb::State>> states_;
  std::vector<fb::StateTensor> state_tensors_;
};

// The headers and the schema number these alike; a cast is all it takes.
static_assert(int(fb::DType::i32) == LINNET_I32 && int(fb::Layout::r16k4) == LINNET_R16K4 && int(fb::Leading::wanted) == LINNET_WANTED_ROWS);
static_assert(int(fb::StateLayout::panels) == LINNET_STATE_PANELS && int(fb::AttributeKind::real) == LINNET_REAL);

}  // namespace

std::vector<uint8_t> graph_section(const Graph& graph, const std::vector<Placement>& placements) { return SectionWriter().write(graph, placements); }

}  // namespace linnet::converter
