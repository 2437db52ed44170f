// Decodes the graph section into plain structs, and checks everything that a stranger's file could get wrong. Linear in its size.
#include <cinttypes>

#include "flatbuffers/flatbuffers.h"
#include "runtime/model.h"
#include "runtime/state_page.h"
#include "runtime/status.h"
#include "schema/model_generated.h"

namespace linnet::detail {
namespace {

namespace fb = linnet::format;
constexpr uint32_t kMaxWidth = 1u << 28;  // elements a row
constexpr uint64_t kMaxDimension = uint64_t{1} << 40;

struct Decoder {
  const fb::Model* in;
  int32_t kv_dtype;  // -1: as the file says
  linnet_model* out;
  linnet_error* error;
  Vec<const char*> names;
  uint32_t next_arg = 0, next_attr = 0, next_integer = 0, next_real = 0, next_state_tensor = 0;

  Decoder(const fb::Model* m, int32_t kv, linnet_model* o, linnet_error* e) : in(m), kv_dtype(kv), out(o), error(e), names(o->allocator) {}

#if defined(__GNUC__)
  __attribute__((format(printf, 4, 5)))
#endif
  linnet_code
  bad(const char* subject, Numbers numbers, const char* format, ...) {
    char text[256];
    va_list args;
    va_start(args, format);
    std::vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return fail(error, LINNET_BAD_FILE, subject, numbers, "graph section: %s: %s", subject, text);
  }
  template <typename V>
  bool room(V& v, size_t n) {
    return v.reserve(n);
  }
  linnet_code memory(const char* what) { return no_memory(error, 0, what); }

  bool name(uint32_t id, const char** to) {
    if (id >= names.size()) return false;
    *to = names[id];
    return true;
  }

  linnet_code read_names() {
    const auto* n = in->names();
    if (!n || !n->ends() || !n->blob()) return bad("names", {}, "missing");
    const auto* ends = n->ends();
    const size_t count = ends->size(), blob = n->blob()->size();
    // Every name gets its NUL, so the text never moves once it is reserved.
    if (!out->text.reserve(blob + count + 1 + 2 * 4096) || !names.reserve(count)) return memory("names");
    uint32_t begin = 0;
    for (size_t i = 0; i < count; ++i) {
      const uint32_t end = ends->Get(static_cast<flatbuffers::uoffset_t>(i));
      if (end < begin || end > blob) return bad("names", {begin, end}, "name %zu ends at %u, outside [%u, %zu]", i, end, begin, blob);
      const auto* text = reinterpret_cast<const char*>(n->blob()->data()) + begin;
      if (std::memchr(text, 0, end - begin)) return bad("names", {}, "name %zu holds a NUL", i);
      if (!names.push(out->text.data() + out->text.size()) || !out->text.append(text, end - begin) || !out->text.push('\0')) return memory("names");
      begin = end;
    }
    return LINNET_OK;
  }

  const char* keep(const flatbuffers::String* s) {  // within what read_names reserved
    const char* at = out->text.data() + out->text.size();
    const size_t n = s ? (s->size() < 4095 ? s->size() : 4095) : 0;
    if (!out->text.append(s ? s->c_str() : "", n) || !out->text.push('\0')) return "";
    return at;
  }

  linnet_code read_tensors() {
    const auto* tensors = in->tensors();
    const auto* levels = in->levels();
    if (levels) {
      if (levels->size() % 16) return bad("levels", {16, levels->size()}, "%u values are not a multiple of 16", levels->size());
      if (!out->levels.append(levels->data(), levels->size())) return memory("levels");
    }
    if (!tensors) return bad("tensors", {}, "missing");
    if (!room(out->tensors, tensors->size())) return memory("tensors");
    uint64_t parameters = 0;
    for (const auto* t : *tensors) {
      linnet_tensor o{};
      if (!name(t->name(), &o.name))
        return bad("tensors", {names.size(), t->name()}, "tensor %zu: name id %u of %zu", out->tensors.size(), t->name(), names.size());
      if (t->dtype() > fb::DType::MAX || t->layout() > fb::Layout::MAX)
        return bad(o.name, {}, "unknown dtype %u or layout %u", unsigned(t->dtype()), unsigned(t->layout()));
      o.dtype = static_cast<uint8_t>(t->dtype());
      o.layout = static_cast<uint8_t>(t->layout());
      o.layout_version = t->layout_version();
      if (o.layout_version != 0)
        return fail(error, LINNET_VERSION, o.name, {0, o.layout_version},
                    "tensor %s has version %u of its layout; this library reads 0: update Linnet or convert again", o.name, o.layout_version);
      o.rank = t->rank();
      if (o.rank < 1 || o.rank > 3) return bad(o.name, {3, o.rank}, "rank is %u, not 1 to 3", o.rank);
      if (!t->shape()) return bad(o.name, {}, "shape is missing");
      const uint64_t shape[3] = {t->shape()->d0(), t->shape()->d1(), t->shape()->d2()};
      uint64_t elements = 1;
      for (int i = 0; i < 3; ++i) {
        if (shape[i] < 1 || shape[i] > kMaxDimension || (i < 3 - o.rank && shape[i] != 1) || mul_overflows(elements, shape[i], &elements))
          return bad(o.name, {}, "shape [%" PRIu64 ", %" PRIu64 ", %" PRIu64 "] is not one of rank %u", shape[0], shape[1], shape[2], o.rank);
        o.shape[i] = shape[i];
      }
      const bool integer_layout = o.layout == LINNET_R16K4, integer_type = o.dtype == LINNET_I8 || o.dtype == LINNET_I4;
      if (integer_layout != integer_type || (o.layout == LINNET_R16 && o.dtype == LINNET_I32))
        return bad(o.name, {}, "dtype %u does not go with layout %u", o.dtype, o.layout);
      o.bytes = t->bytes();
      uint64_t plain = 0;
      if (o.layout == LINNET_PLAIN && (mul_overflows(elements, o.dtype == LINNET_F32 || o.dtype == LINNET_I32 ? 4 : 2, &plain) || plain != o.bytes))
        return bad(o.name, {plain, o.bytes}, "has %" PRIu64 " bytes, its shape needs %" PRIu64, o.bytes, plain);
      const uint64_t offset = t->offset();
      if (offset % kTensorAlign) return bad(o.name, {kTensorAlign, offset}, "starts at %" PRIu64 ", not on a multiple of 64", offset);
      if (offset > out->weight_bytes || o.bytes > out->weight_bytes - offset || round_up(o.bytes, kTensorAlign) > out->weight_bytes - offset)
        return bad(o.name, {out->weight_bytes, offset + o.bytes}, "%" PRIu64 " bytes at %" PRIu64 " do not lie in the weights section's %" PRIu64,
                   o.bytes, offset, out->weight_bytes);
      o.data = out->weights + offset;
      o.xxh3 = t->xxh3();
      if (t->levels().has_value()) {
        if (*t->levels() >= out->levels.size() / 16)
          return bad(o.name, {out->levels.size() / 16, *t->levels()}, "level table %u of %zu", *t->levels(), out->levels.size() / 16);
        o.levels = out->levels.data() + 16 * size_t{*t->levels()};
      }
      if (o.dtype == LINNET_I4 && !o.levels) return bad(o.name, {}, "i4 without a table of levels");
      o.note = "";
      if (t->note().has_value() && !name(*t->note(), &o.note))
        return bad(o.name, {names.size(), *t->note()}, "note's name id %u of %zu", *t->note(), names.size());
      if (add_overflows(parameters, elements, &parameters)) return bad(o.name, {}, "more parameters than a number holds");
      if (!out->tensors.push(o)) return memory("tensors");
    }
    out->info.parameters = parameters;
    return LINNET_OK;
  }

  linnet_code read_states() {
    const auto* states = in->states();
    const auto* tensors = in->state_tensors();
    const uint32_t total = tensors ? tensors->size() : 0, count = states ? states->size() : 0;
    if (!room(out->states, count) || !room(out->state_tensors, total) || !room(out->state_offsets, total)) return memory("states");
    for (uint32_t i = 0; i < count; ++i) {
      const auto* s = states->Get(i);
      linnet_state o{};
      if (!name(s->name(), &o.name)) return bad("states", {names.size(), s->name()}, "state %u: name id %u of %zu", i, s->name(), names.size());
      if (s->kind() != fb::StateKind::append)
        return fail(error, LINNET_UNSUPPORTED, o.name, {0, uint64_t(s->kind())}, "state %s is of kind %u; this version runs append states (0) only",
                    o.name, unsigned(s->kind()));
      o.window = s->window();
      o.tensor_count = s->tensors();
      if (o.tensor_count < 1 || o.tensor_count > total - next_state_tensor)
        return bad(o.name, {total - next_state_tensor, o.tensor_count}, "%u tensors, %u are left", o.tensor_count, total - next_state_tensor);
      o.tensors = out->state_tensors.data() + next_state_tensor;
      o.tensor_offsets = out->state_offsets.data() + next_state_tensor;
      for (uint32_t j = 0; j < o.tensor_count; ++j) {
        const auto* t = tensors->Get(next_state_tensor++);
        if (t->width() < 1 || t->width() > kMaxWidth || t->dtype() > fb::DType::MAX || t->dtype() == fb::DType::i4 ||
            t->layout() > fb::StateLayout::MAX)
          return bad(o.name, {}, "tensor %u: width %u, dtype %u, layout %u", j, t->width(), unsigned(t->dtype()), unsigned(t->layout()));
        if (t->heads() < 1 || t->width() % t->heads())
          return bad(o.name, {t->width(), t->heads()}, "tensor %u: %u heads cannot share %u elements evenly", j, unsigned(t->heads()), t->width());
        const linnet_state_tensor st{t->width(), kv_dtype < 0 ? static_cast<uint8_t>(t->dtype()) : static_cast<uint8_t>(kv_dtype),
                                     static_cast<uint8_t>(t->layout()), t->heads()};
        if (!out->state_tensors.push(st) || !out->state_offsets.push(o.page_bytes)) return memory("states");
        o.page_bytes += state_tensor_bytes(st);
      }
      if (!out->states.push(o)) return memory("states");
    }
    return next_state_tensor == total
               ? LINNET_OK
               : bad("states", {total, next_state_tensor}, "%u of %u state tensors belong to no state", total - next_state_tensor, total);
  }

  linnet_code read_values() {
    const auto* values = in->values();
    if (!values || !room(out->values, values->size())) return values ? memory("values") : bad("values", {}, "missing");
    for (const auto* v : *values) {
      linnet_value o{};
      if (!name(v->name(), &o.name))
        return bad("values", {names.size(), v->name()}, "value %zu: name id %u of %zu", out->values.size(), v->name(), names.size());
      if ((v->dtype() != fb::DType::f32 && v->dtype() != fb::DType::i32) || v->leading() > fb::Leading::MAX)
        return bad(o.name, {}, "dtype %u (f32 and i32 are known) or leading %u", unsigned(v->dtype()), unsigned(v->leading()));
      if (v->width() > kMaxWidth || v->width_s() > kMaxWidth || (v->width() == 0 && v->width_s() == 0))
        return bad(o.name, {kMaxWidth, v->width()}, "width is %u + %u S", v->width(), v->width_s());
      o.dtype = static_cast<uint8_t>(v->dtype());
      o.leading = static_cast<uint8_t>(v->leading());
      o.width = v->width();
      o.width_s = v->width_s();
      if (!out->values.push(o)) return memory("values");
    }
    return LINNET_OK;
  }

  linnet_code read_functions() {
    const auto* functions = in->functions();
    if (!functions || functions->size() == 0) return bad("functions", {}, "missing");
    if (!room(out->functions, functions->size())) return memory("functions");
    uint64_t value = 0, node = 0;
    const uint64_t all_nodes = in->nodes() ? in->nodes()->size() : 0;
    for (const auto* f : *functions) {
      linnet_function o{};
      if (!name(f->name(), &o.name)) return bad("functions", {names.size(), f->name()}, "name id %u of %zu", f->name(), names.size());
      o = {o.name,    f->inputs(), f->outputs(), f->weights(), f->states(), static_cast<uint32_t>(value), f->values(), static_cast<uint32_t>(node),
           f->nodes()};
      value += o.values;
      node += o.nodes;
      if (value > out->values.size() || node > all_nodes || o.inputs + o.outputs > o.values)
        return bad(o.name, {}, "%u values (%u in, %u out) and %u nodes are more than the graph has", o.values, o.inputs, o.outputs, o.nodes);
      const bool body = !out->functions.empty();
      for (uint32_t i = 0; i < o.values; ++i) {
        const linnet_value& v = out->values[o.first_value + i];
        if (body ? v.leading != LINNET_ONE || (i < o.inputs + o.outputs && v.width_s) : v.width_s != 0)
          return bad(v.name, {}, "a value of function %s cannot have leading %u and width_s %u", o.name, v.leading, v.width_s);
      }
      if (!out->functions.push(o)) return memory("functions");
    }
    if (value != out->values.size() || node != all_nodes)
      return bad("functions", {value, out->values.size()}, "functions use %" PRIu64 " of %zu values and %" PRIu64 " of %" PRIu64 " nodes", value,
                 out->values.size(), node, all_nodes);
    const linnet_function& main = out->functions[0];
    if (main.inputs != 1 || main.outputs != 1 || main.weights || main.states)
      return bad(main.name, {}, "the model has %u inputs and %u outputs; it takes tokens and gives logits", main.inputs, main.outputs);
    const linnet_value &tokens = out->values[0], &logits = out->values[1];
    if (tokens.dtype != LINNET_I32 || tokens.leading != LINNET_STEP_ROWS || tokens.width != 1)
      return bad(tokens.name, {}, "the model's input is i32 step rows of width 1");
    if (logits.dtype != LINNET_F32 || logits.leading != LINNET_WANTED_ROWS || logits.width != in->vocabulary())
      return bad(logits.name, {in->vocabulary(), logits.width}, "the logits are f32 wanted rows as wide as the vocabulary: %u, not %u",
                 in->vocabulary(), logits.width);
    return LINNET_OK;
  }

  linnet_code read_attribute(const fb::Attribute* a, bool in_body, const char* op, linnet_attr* o) {
    if (!name(a->name(), &o->name)) return bad(op, {names.size(), a->name()}, "attribute's name id %u of %zu", a->name(), names.size());
    o->kind = static_cast<uint32_t>(a->kind());
    o->integer = a->integer();
    o->real = a->real();
    o->text = "";
    o->count = a->count();
    switch (a->kind()) {
      case fb::AttributeKind::integer:
      case fb::AttributeKind::real: break;
      case fb::AttributeKind::parameter:
        if (!in_body) return bad(op, {}, "attribute %s is a parameter outside a body", o->name);
        [[fallthrough]];
      case fb::AttributeKind::text:
        if (!name(a->text(), &o->text))
          return bad(op, {names.size(), a->text()}, "attribute %s: name id %u of %zu", o->name, a->text(), names.size());
        break;
      case fb::AttributeKind::integers:
        if (o->count > out->integers.size() - next_integer)
          return bad(op, {}, "attribute %s has %u integers, %zu are left", o->name, o->count, out->integers.size() - next_integer);
        o->integers = out->integers.data() + next_integer;
        next_integer += o->count;
        return LINNET_OK;
      case fb::AttributeKind::reals:
        if (o->count > out->reals.size() - next_real)
          return bad(op, {}, "attribute %s has %u reals, %zu are left", o->name, o->count, out->reals.size() - next_real);
        o->reals = out->reals.data() + next_real;
        next_real += o->count;
        return LINNET_OK;
      default: return bad(op, {}, "attribute %s is of unknown kind %u", o->name, o->kind);
    }
    return o->count == 0 ? LINNET_OK : bad(op, {0, o->count}, "attribute %s: a count of %u on one value", o->name, o->count);
  }

  // One node: its argument ids in range, inputs defined before (so no cycles), outputs defined once.
  linnet_code read_node(const fb::Node* n, uint32_t function, Vec<uint8_t>& defined) {
    const linnet_function& f = out->functions[function];
    NodeRecord o{};
    if (!name(n->op(), &o.op))
      return bad(f.name, {names.size(), n->op()}, "node %zu: op name id %u of %zu", out->nodes.size(), n->op(), names.size());
    const uint32_t count = n->inputs() + n->outputs() + n->weights() + n->states();
    o = {o.op, n->version(), n->inputs(), n->outputs(), n->weights(), n->states(), n->attributes(), next_arg, next_attr, -1};
    if (count > out->args.size() - next_arg)
      return bad(o.op, {}, "node %zu has %u arguments, %zu are left", out->nodes.size(), count, out->args.size() - next_arg);
    const uint32_t weights = function ? f.weights : static_cast<uint32_t>(out->tensors.size()),
                   states = function ? f.states : static_cast<uint32_t>(out->states.size());
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t id = out->args[next_arg + i];
      if (i < o.inputs) {
        if (id == kAbsent) continue;
        if (id >= f.values) return bad(o.op, {f.values, id}, "node %zu: input %u is value %u of %u", out->nodes.size(), i, id, f.values);
        if (!defined[id])
          return bad(o.op, {}, "node %zu reads value %s before any node makes it", out->nodes.size(), out->values[f.first_value + id].name);
      } else if (i < o.inputs + o.outputs) {
        if (id >= f.values) return bad(o.op, {f.values, id}, "node %zu: output %u is value %u of %u", out->nodes.size(), i - o.inputs, id, f.values);
        if (defined[id])
          return bad(o.op, {}, "node %zu makes value %s, which exists already", out->nodes.size(), out->values[f.first_value + id].name);
        defined[id] = 1;
      } else {
        const bool weight = i < o.inputs + o.outputs + o.weights;
        if (weight && id == kAbsent) continue;
        if (id >= (weight ? weights : states))
          return bad(o.op, {weight ? weights : states, id}, "node %zu: %s %u of %u", out->nodes.size(), weight ? "weight" : "state", id,
                     weight ? weights : states);
      }
    }
    next_arg += count;
    const uint32_t attrs = in->attributes() ? in->attributes()->size() : 0;
    if (o.attrs > attrs - next_attr) return bad(o.op, {}, "node %zu has %u attributes, %u are left", out->nodes.size(), o.attrs, attrs - next_attr);
    for (uint32_t i = 0; i < o.attrs; ++i) {
      linnet_attr a{};
      if (const auto code = read_attribute(in->attributes()->Get(next_attr++), function != 0, o.op, &a)) return code;
      if (!out->attrs.push(a)) return memory("attributes");
    }
    if (n->body().has_value()) {
      const uint32_t body = *n->body();
      if (function) return bad(o.op, {}, "a node inside body %s names a body of its own", f.name);
      if (body == 0 || body >= out->functions.size())
        return bad(o.op, {out->functions.size(), body}, "node %zu: body %u of %zu functions", out->nodes.size(), body, out->functions.size());
      if (const auto code = check_call(o, f, out->functions[body])) return code;
      o.body = body;
    }
    return out->nodes.push(o) ? LINNET_OK : memory("nodes");
  }

  // A body runs a row at a time, in place of the node: the same arguments, all of them step rows.
  linnet_code check_call(const NodeRecord& n, const linnet_function& f, const linnet_function& body) {
    if (n.inputs != body.inputs || n.outputs != body.outputs || n.weights != body.weights || n.states != body.states)
      return bad(n.op, {}, "body %s takes %u, %u, %u, %u inputs, outputs, weights, states; the node has %u, %u, %u, %u", body.name, body.inputs,
                 body.outputs, body.weights, body.states, n.inputs, n.outputs, n.weights, n.states);
    for (uint32_t i = 0; i < n.inputs + n.outputs; ++i) {
      const uint32_t id = out->args[n.first_arg + i];
      if (id == kAbsent) continue;
      const linnet_value &outer = out->values[f.first_value + id], &inner = out->values[body.first_value + i];
      if (outer.width != inner.width || outer.dtype != inner.dtype || outer.leading != LINNET_STEP_ROWS)
        return bad(n.op, {outer.width, inner.width}, "body %s: argument %u is %u wide, the node's is %u (of step rows)", body.name, i, inner.width,
                   outer.width);
    }
    return LINNET_OK;
  }

  linnet_code read_nodes() {
    const auto* nodes = in->nodes();
    const uint32_t args = in->args() ? in->args()->size() : 0, attrs = in->attributes() ? in->attributes()->size() : 0;
    if (in->integers() && !out->integers.append(in->integers()->data(), in->integers()->size())) return memory("attributes");
    if (in->reals() && !out->reals.append(in->reals()->data(), in->reals()->size())) return memory("attributes");
    if ((args && !out->args.append(in->args()->data(), args)) || !room(out->attrs, attrs) || !room(out->nodes, nodes ? nodes->size() : 0))
      return memory("nodes");
    Vec<uint8_t> defined(out->allocator);
    for (uint32_t function = 0; function < out->functions.size(); ++function) {
      const linnet_function& f = out->functions[function];
      defined.clear();
      if (!defined.resize(f.values)) return memory("nodes");
      std::memset(defined.data(), 1, f.inputs);
      for (uint32_t i = 0; i < f.nodes; ++i)
        if (const auto code = read_node(nodes->Get(f.first_node + i), function, defined)) return code;
      for (uint32_t i = 0; i < f.values; ++i)
        if (!defined[i]) return bad(f.name, {}, "no node makes value %s", out->values[f.first_value + i].name);
    }
    if (next_arg != args || next_attr != attrs || next_integer != out->integers.size() || next_real != out->reals.size())
      return bad("nodes", {args, next_arg}, "nodes use %u of %u arguments and %u of %u attributes", next_arg, args, next_attr, attrs);
    return LINNET_OK;
  }

  linnet_code read_info() {
    linnet_model_info& info = out->info;
    info.size = sizeof info;
    info.numerics = in->numerics();
    if (info.numerics > kNumerics)
      return fail(error, LINNET_VERSION, "numerics", {kNumerics, info.numerics},
                  "the file asks for numerics revision %u; this library has %u: update Linnet", info.numerics, kNumerics);
    info.vocabulary = in->vocabulary();
    if (info.vocabulary < 1 || info.vocabulary > INT32_MAX) return bad("vocabulary", {INT32_MAX, info.vocabulary}, "is %u", info.vocabulary);
    info.name = keep(in->name());
    info.architecture = keep(in->architecture());
    const auto id = [&](const char* what, flatbuffers::Optional<uint32_t> from, int64_t* to) {
      *to = from.has_value() ? int64_t{*from} : -1;
      return *to < int64_t{info.vocabulary} ? LINNET_OK
                                            : bad(what, {info.vocabulary, uint64_t(*to)}, "token %lld lies outside the vocabulary of %u",
                                                  static_cast<long long>(*to), info.vocabulary);
    };
    if (const auto code = id("bos", in->bos(), &info.bos)) return code;
    if (const auto code = id("pad", in->pad(), &info.pad)) return code;
    if (in->eos()) {
      int64_t ignored = 0;
      for (const uint32_t e : *in->eos())
        if (const auto code = id("eos", flatbuffers::Optional<uint32_t>(e), &ignored)) return code;
      if (!out->eos.append(in->eos()->data(), in->eos()->size())) return memory("eos");
    }
    info.eos = out->eos.data();
    info.eos_count = static_cast<uint32_t>(out->eos.size());
    const auto positions = [&](flatbuffers::Optional<uint32_t> n) { return n.has_value() ? int64_t{*n} : -1; };
    info.context_trained = positions(in->context_trained());
    info.context_limit = positions(in->context_limit());
    if (info.context_trained == 0 || info.context_limit == 0) return bad("context", {}, "0 positions");
    info.temperature = in->temperature().value_or(-1);
    info.top_p = in->top_p().value_or(-1);
    info.repetition_penalty = in->repetition_penalty().value_or(-1);
    info.top_k = in->top_k().has_value() ? int64_t{*in->top_k()} : -1;
    return LINNET_OK;
  }
};

}  // namespace

linnet_code decode_graph(const uint8_t* graph, size_t bytes, int32_t kv_dtype, linnet_model* model, linnet_error* error) {
  // Every table and vector costs at least four bytes, and none is reached twice from a repeated table: the size bounds the work.
  flatbuffers::Verifier verifier(graph, bytes, 16, static_cast<flatbuffers::uoffset_t>(bytes / 4 + 16));
  if (bytes < 8 || !verifier.VerifyBuffer<fb::Model>(nullptr))
    return fail(error, LINNET_BAD_FILE, "graph section", {}, "the graph section is not a valid FlatBuffer");
  Decoder d(flatbuffers::GetRoot<fb::Model>(graph), kv_dtype, model, error);
  for (auto step : {&Decoder::read_names, &Decoder::read_tensors, &Decoder::read_states, &Decoder::read_values, &Decoder::read_functions,
                    &Decoder::read_nodes, &Decoder::read_info})
    if (const auto code = (d.*step)()) return code;
  linnet_model_info& info = model->info;
  info.functions = static_cast<uint32_t>(model->functions.size());
  info.values = static_cast<uint32_t>(model->values.size());
  info.nodes = static_cast<uint32_t>(model->nodes.size());
  info.tensors = static_cast<uint32_t>(model->tensors.size());
  info.states = static_cast<uint32_t>(model->states.size());
  return LINNET_OK;
}

}  // namespace linnet::detail
