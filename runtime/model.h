// A model in memory: the mapped file and its graph, decoded into plain structs. Immutable after open.
#pragma once
#include <atomic>

#include "linnet/c.h"
#include "runtime/container.h"
#include "runtime/memory.h"
#include "runtime/registry.h"

namespace linnet::detail {

inline constexpr uint32_t kAbsent = 0xFFFFFFFFu;

struct NodeRecord {  // as in the file
  const char* op;
  uint32_t version;
  uint32_t inputs, outputs, weights, states, attrs;
  uint32_t first_arg, first_attr;
  int64_t body;  // function id, -1: none
};

// One thing to run: an op on its arguments, or the body that stands in for an op nobody registered.
struct Instruction {
  linnet_op_def def;  // def.name: the node's
  linnet_node node;
  const uint32_t* values;      // input ids then output ids, of the function's values; kAbsent
  const uint32_t* state_ids;   // global
  uint32_t first_step, steps;  // a body: its instructions are Model.body_steps[first_step ..]; steps 0: an op
  uint32_t function;           // the body's
};

// The file's bytes and how they came to be.
struct FileBytes {
  const uint8_t* data = nullptr;
  uint64_t bytes = 0;
  enum class Kind { none, mapped, copied, borrowed } kind = Kind::none;
  linnet_allocator allocator{};
  void release();
};
linnet_code read_file(const char* path, bool copy, const linnet_allocator& allocator, FileBytes* out, linnet_error* error);

}  // namespace linnet::detail

struct linnet_model {
  explicit linnet_model(const linnet_allocator& a)
      : allocator(a),
        text(a),
        functions(a),
        values(a),
        tensors(a),
        levels(a),
        states(a),
        state_tensors(a),
        state_offsets(a),
        nodes(a),
        args(a),
        attrs(a),
        integers(a),
        reals(a),
        eos(a),
        tokenizer(a),
        steps(a),
        body_steps(a),
        value_pointers(a),
        tensor_pointers(a),
        state_pointers(a),
        step_values(a),
        step_states(a),
        step_attrs(a) {}

  linnet_allocator allocator;
  std::atomic<uint32_t> references{1};
  linnet_registry* registry = nullptr;
  linnet::detail::FileBytes file;
  const uint8_t* weights = nullptr;
  uint64_t weight_bytes = 0;
  uint64_t weight_hash[2] = {0, 0};
  linnet_model_info info{};

  template <typename T>
  using Vec = linnet::detail::Vec<T>;
  Vec<char> text;  // every name, NUL-terminated
  Vec<linnet_function> functions;
  Vec<linnet_value> values;
  Vec<linnet_tensor> tensors;
  Vec<float> levels;
  Vec<linnet_state> states;
  Vec<linnet_state_tensor> state_tensors;
  Vec<uint64_t> state_offsets;
  Vec<linnet::detail::NodeRecord> nodes;
  Vec<uint32_t> args;
  Vec<linnet_attr> attrs;
  Vec<int64_t> integers;
  Vec<double> reals;
  Vec<uint32_t> eos;
  Vec<uint8_t> tokenizer;

  // The program: function 0's nodes, resolved against the registry.
  Vec<linnet::detail::Instruction> steps;
  Vec<linnet::detail::Instruction> body_steps;
  Vec<const linnet_value*> value_pointers;
  Vec<const linnet_tensor*> tensor_pointers;
  Vec<const linnet_state*> state_pointers;
  Vec<uint32_t> step_values, step_states;
  Vec<linnet_attr> step_attrs;
};

namespace linnet::detail {
// Decodes and checks the graph section into the model (everything but the program). `graph` is a private copy.
linnet_code decode_graph(const uint8_t* graph, size_t bytes, int32_t kv_dtype, linnet_model* model, linnet_error* error);
// Resolves every node of function 0 to an op or a body.
linnet_code resolve_program(linnet_model* model, linnet_error* error);
inline const linnet_allocator& model_allocator(const linnet_model* model) { return model->allocator; }
}  // namespace linnet::detail
