// Resolves the graph's nodes against a registry, once, at open: to an op, or to the body that stands in for an op nobody registered.
#include "runtime/model.h"
#include "runtime/status.h"

namespace linnet::detail {
namespace {

struct Resolver {
  linnet_model* m;
  linnet_error* error;

  const linnet_op_def* find(const NodeRecord& n) const {
    const OpEntry* entry = m->registry->find(n.op);
    return entry && n.version >= entry->def.min_version && n.version <= entry->def.max_version ? &entry->def : nullptr;
  }

  linnet_code unknown(const NodeRecord& n, uint32_t index, const char* where) {
    const OpEntry* entry = m->registry->find(n.op);
    linnet_code code;
    if (entry)
      code = fail(error, LINNET_VERSION, n.op, {entry->def.max_version, n.version},
                  "node %u%s: op %s version %u; the registered one runs versions %u to %u, and the node has no body to run instead", index, where,
                  n.op, n.version, entry->def.min_version, entry->def.max_version);
    else
      code = fail(error, LINNET_UNSUPPORTED, n.op, {0, n.version},
                  "node %u%s: op %s version %u is not registered and has no body to run instead: register it (a plugin, or a newer Linnet)", index,
                  where, n.op, n.version);
    if (error) {
      error->node = static_cast<int32_t>(index);
      copy_text(error->op, sizeof error->op, n.op);
    }
    return code;
  }

  // Argument lists of one node, taken through `weights` and `states` (null: ids are global).
  linnet_code bind(const NodeRecord& n, const linnet_function& f, uint32_t index, const linnet_node* caller, const uint32_t* caller_states,
                   Instruction* out) {
    if (n.outputs > LINNET_MAX_OUTPUTS)
      return fail(error, LINNET_UNSUPPORTED, n.op, {LINNET_MAX_OUTPUTS, n.outputs}, "node %u: op %s has %u outputs, at most %u are supported", index,
                  n.op, n.outputs, LINNET_MAX_OUTPUTS);
    const uint32_t* args = m->args.data() + n.first_arg;
    linnet_node& node = out->node;
    node = {sizeof node, index, n.op, n.version, n.inputs, n.outputs, n.weights, n.states, n.attrs, nullptr, nullptr, nullptr, nullptr, nullptr};
    out->values = m->step_values.end();
    auto* values = m->value_pointers.end();
    bool ok = true;
    for (uint32_t i = 0; i < n.inputs + n.outputs; ++i) {
      // What the caller leaves out is absent in its body too.
      const bool argument = caller && args[i] < f.inputs + f.outputs;
      const uint32_t id = argument && !caller->inputs[args[i]] ? kAbsent : args[i];
      ok = ok && m->step_values.push(id);
      ok = ok && m->value_pointers.push(id == kAbsent ? nullptr : &m->values[f.first_value + id]);
    }
    node.inputs = values;
    node.outputs = values + n.inputs;
    args += n.inputs + n.outputs;
    node.weights = m->tensor_pointers.end();
    for (uint32_t i = 0; i < n.weights; ++i) {
      const linnet_tensor* t = args[i] == kAbsent ? nullptr : caller ? caller->weights[args[i]] : &m->tensors[args[i]];
      ok = ok && m->tensor_pointers.push(t);
    }
    args += n.weights;
    out->state_ids = m->step_states.end();
    node.states = m->state_pointers.end();
    for (uint32_t i = 0; i < n.states; ++i) {
      const uint32_t id = caller ? caller_states[args[i]] : args[i];
      ok = ok && m->step_states.push(id) && m->state_pointers.push(&m->states[id]);
    }
    return ok ? bind_attributes(n, index, caller, out) : no_memory(error, 0, "the program");
  }

  linnet_code bind_attributes(const NodeRecord& n, uint32_t index, const linnet_node* caller, Instruction* out) {
    const linnet_attr* attrs = m->attrs.data() + n.first_attr;
    out->node.attrs = attrs;
    bool parameters = false;
    for (uint32_t i = 0; i < n.attrs; ++i) parameters = parameters || attrs[i].kind == LINNET_PARAMETER;
    if (!parameters) return LINNET_OK;
    out->node.attrs = m->step_attrs.end();
    for (uint32_t i = 0; i < n.attrs; ++i) {
      linnet_attr a = attrs[i];
      if (a.kind == LINNET_PARAMETER) {
        const linnet_attr* from = nullptr;
        for (uint32_t j = 0; j < caller->attr_count; ++j)
          if (std::strcmp(caller->attrs[j].name, a.text) == 0) from = &caller->attrs[j];
        if (!from)
          return fail(error, LINNET_BAD_FILE, n.op, {}, "node %u: its body reads attribute %s, which %s does not have", index, a.text, caller->op);
        const char* name = a.name;
        a = *from;
        a.name = name;
      }
      if (!m->step_attrs.push(a)) return no_memory(error, 0, "the program");
    }
    return LINNET_OK;
  }

  linnet_code bind_body(const NodeRecord& n, uint32_t index, Instruction* out) {
    const linnet_function& body = m->functions[static_cast<uint32_t>(n.body)];
    out->function = static_cast<uint32_t>(n.body);
    out->first_step = static_cast<uint32_t>(m->body_steps.size());
    out->steps = body.nodes;
    for (uint32_t i = 0; i < body.nodes; ++i) {
      const NodeRecord& inner = m->nodes[body.first_node + i];
      Instruction step{};
      const linnet_op_def* def = find(inner);
      if (!def) return unknown(inner, index, ", in its body");
      step.def = *def;
      step.def.name = inner.op;
      if (const auto code = bind(inner, body, index, &out->node, out->state_ids, &step)) return code;
      if (!m->body_steps.push(step)) return no_memory(error, 0, "the program");
    }
    return LINNET_OK;
  }

  // Pointers into the pools must stay put while more is pushed: count first.
  bool reserve() {
    size_t values = 0, weights = 0, states = 0, attrs = 0, bodies = 0;
    const auto count = [&](const NodeRecord& n) {
      values += n.inputs + n.outputs;
      weights += n.weights;
      states += n.states;
      attrs += n.attrs;
    };
    for (uint32_t i = 0; i < m->functions[0].nodes; ++i) {
      const NodeRecord& n = m->nodes[i];
      count(n);
      if (find(n) || n.body < 0) continue;
      const linnet_function& body = m->functions[static_cast<uint32_t>(n.body)];
      bodies += body.nodes;
      for (uint32_t j = 0; j < body.nodes; ++j) count(m->nodes[body.first_node + j]);
    }
    constexpr size_t kMost = size_t{1} << 24;  // a body named by every node of a huge file must not become a bomb
    if (values > kMost || weights > kMost || states > kMost || attrs > kMost || bodies > kMost) return false;
    return m->step_values.reserve(values) && m->value_pointers.reserve(values) && m->tensor_pointers.reserve(weights) &&
           m->step_states.reserve(states) && m->state_pointers.reserve(states) && m->step_attrs.reserve(attrs) && m->body_steps.reserve(bodies) &&
           m->steps.reserve(m->functions[0].nodes);
  }
};

}  // namespace

linnet_code resolve_program(linnet_model* model, linnet_error* error) {
  Resolver r{model, error};
  if (!r.reserve()) return no_memory(error, 0, "the program");
  for (uint32_t i = 0; i < model->functions[0].nodes; ++i) {
    const NodeRecord& n = model->nodes[i];
    Instruction step{};
    const linnet_op_def* def = r.find(n);
    if (!def && n.body < 0) return r.unknown(n, i, "");
    if (def) step.def = *def;
    step.def.name = n.op;
    if (const auto code = r.bind(n, model->functions[0], i, nullptr, nullptr, &step)) return code;
    if (!def)
      if (const auto code = r.bind_body(n, i, &step)) return code;
    if (!def && step.steps == 0) return fail(error, LINNET_BAD_FILE, n.op, {}, "node %u: its body is empty", i);
    if (!model->steps.push(step)) return no_memory(error, 0, "the program");
  }
  return LINNET_OK;
}

}  // namespace linnet::detail
