// linnet-inspect: what a .linnet file holds, what it will need, and whether it is whole.
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "common.h"

using namespace linnet;
using namespace linnet::programs;

namespace {

struct Options {
  ModelChoice model;
  RunnerOptions plan;
  bool graph = false, tensors = false, show_plan = false, verify = false, json = false;
} o;
CLI::App app{"Shows what a .linnet file holds: metadata, graph, tensors, planned memory", "linnet-inspect"};
using Json = nlohmann::ordered_json;

const char* layout_name(uint8_t l) {
  static const char* const names[] = {"plain", "r16", "r16k4"};
  return l < std::size(names) ? names[l] : "?";
}
const char* leading_name(uint8_t l) { return l == LINNET_STEP_ROWS ? "T" : l == LINNET_WANTED_ROWS ? "R" : "1"; }

std::string shape(const linnet_tensor& t) {
  std::string s = "[";
  for (int i = 3 - t.rank; i < 3; ++i) s += (s.size() > 1 ? ", " : "") + std::to_string(t.shape[i]);
  return s + "]";
}

std::string describe_value(const linnet_value& v) {
  std::string width = v.width || !v.width_s ? std::to_string(v.width) : "";
  if (v.width_s) width += (width.empty() ? "" : " + ") + std::to_string(v.width_s) + " S";
  return std::string(v.name) + ": " + dtype_name(v.dtype) + " [" + (v.leading ? std::string(leading_name(v.leading)) + ", " : "") + width + "]";
}

std::string attribute(const linnet_attr& a) {
  std::string s = std::string(a.name) + "=";
  char number[40];
  switch (a.kind) {
    case LINNET_INT: return s + std::to_string(a.integer);
    case LINNET_REAL: std::snprintf(number, sizeof number, "%.9g", a.real); return s + number;
    case LINNET_TEXT: return s + '"' + a.text + '"';
    case LINNET_PARAMETER: return s + "caller." + a.text;
    case LINNET_INTS:
    case LINNET_REALS:
      s += "[";
      for (uint32_t i = 0; i < a.count; ++i) {
        if (i) s += ", ";
        if (a.kind == LINNET_INTS) s += std::to_string(a.integers[i]);
        else {
          std::snprintf(number, sizeof number, "%.9g", a.reals[i]);
          s += number;
        }
      }
      return s + "]";
    default: return s + "?";
  }
}

// q, k, v = linear(x, norm.weight, ...; norm=1, epsilon=1e-05) -> body
std::string node(const linnet_model* m, const linnet_function& f, uint32_t index) {
  linnet_node_listing n{};
  if (linnet_model_node(m, index, &n) != LINNET_OK) return "";
  const uint32_t* args = n.args;
  const auto value = [&](uint32_t id) { return id == 0xFFFFFFFFu ? std::string("-") : std::string(linnet_model_value(m, f.first_value + id)->name); };
  std::string outs, in;
  for (uint32_t i = 0; i < n.outputs; ++i) outs += (i ? ", " : "") + value(args[n.inputs + i]);
  const auto append = [&](const std::string& s) { in += (in.empty() ? "" : ", ") + s; };
  for (uint32_t i = 0; i < n.inputs; ++i) append(value(args[i]));
  args += n.inputs + n.outputs;
  const bool body = &f != linnet_model_function(m, 0);
  for (uint32_t i = 0; i < n.weights; ++i)
    append(args[i] == 0xFFFFFFFFu ? "-" : body ? "weight " + std::to_string(args[i]) : linnet_model_tensor(m, args[i])->name);
  args += n.weights;
  for (uint32_t i = 0; i < n.states; ++i)
    append(body ? "state " + std::to_string(args[i]) : std::string("state ") + linnet_model_state(m, args[i])->name);
  std::string attrs;
  for (uint32_t i = 0; i < n.attrs; ++i) attrs += (i ? ", " : "; ") + attribute(n.attributes[i]);
  std::string line = (outs.empty() ? "" : outs + " = ") + n.op + (n.version > 1 ? "." + std::to_string(n.version) : "") + "(" + in + attrs + ")";
  if (n.body >= 0) line += "  -> " + std::string(linnet_model_function(m, static_cast<uint32_t>(n.body))->name);
  return line;
}

std::string graph(const Model& model) {
  std::string out;
  const linnet_model* m = model.get();
  for (uint32_t i = 0; const linnet_function* f = linnet_model_function(m, i); ++i) {
    out += (i ? "\nbody " : "graph ") + std::string(f->name) + "(";
    for (uint32_t v = 0; v < f->inputs; ++v) out += (v ? ", " : "") + describe_value(*linnet_model_value(m, f->first_value + v));
    out += ") -> (";
    for (uint32_t v = 0; v < f->outputs; ++v) out += (v ? ", " : "") + describe_value(*linnet_model_value(m, f->first_value + f->inputs + v));
    out += ")\n";
    for (uint32_t n = 0; n < f->nodes; ++n) {
      char number[16];
      std::snprintf(number, sizeof number, "  %4u  ", f->first_node + n);
      out += number + node(m, *f, f->first_node + n) + "\n";
    }
  }
  for (uint32_t i = 0; const linnet_state* s = linnet_model_state(m, i); ++i) {
    out += (i ? "state " : "\nstate ") + std::string(s->name) + ": ";
    for (uint32_t t = 0; t < s->tensor_count; ++t)
      out += (t ? ", " : "") + std::string(dtype_name(s->tensors[t].dtype)) + " " + std::to_string(s->tensors[t].width) +
             (s->tensors[t].layout == LINNET_STATE_PANELS ? " panels" : " rows");
    out += "; " + std::to_string(s->page_bytes) + " bytes a page of 64 positions\n";
  }
  return out;
}

Json metadata(const Model& model) {
  const linnet_model_info i = model.info();
  Json j{{"file", o.model.path},
         {"format", std::to_string(i.format_major) + "." + std::to_string(i.format_minor)},
         {"numerics", i.numerics},
         {"name", i.name},
         {"architecture", i.architecture},
         {"file_bytes", i.file_bytes},
         {"weight_bytes", i.weight_bytes},
         {"parameters", i.parameters},
         {"vocabulary", i.vocabulary}};
  const auto optional = [&](const char* key, int64_t v) { j[key] = v < 0 ? Json(nullptr) : Json(v); };
  optional("context_trained", i.context_trained);
  optional("context_limit", i.context_limit);
  optional("bos", i.bos);
  j["eos"] = std::vector<uint32_t>(i.eos, i.eos + i.eos_count);
  optional("pad", i.pad);
  j["nodes"] = linnet_model_function(model.get(), 0)->nodes;
  j["states"] = i.states;
  j["tensors"] = i.tensors;
  std::map<std::string, uint64_t> formats;  // bytes
  for (uint32_t t = 0; const linnet_tensor* w = linnet_model_tensor(model.get(), t); ++t) formats[dtype_name(w->dtype)] += w->bytes;
  j["format_bytes"] = formats;
  j["tokenizer_bytes"] = i.tokenizer_bytes;
  return j;
}

Json plan_json(const linnet_plan& p) {
  return Json{{"context", p.context},         {"max_rows", p.max_rows},     {"sessions", p.session_count},  {"pages", p.pages},
              {"wanted_rows", p.wanted_rows}, {"threads", p.threads},       {"total_bytes", p.total},       {"arena_bytes", p.arena},
              {"states_bytes", p.states},     {"scratch_bytes", p.scratch}, {"sessions_bytes", p.sessions}, {"runner_bytes", p.runner}};
}

void print(const Json& j) {
  for (const auto& [key, value] : j.items()) {
    char line[64];
    std::snprintf(line, sizeof line, "%-16s ", key.c_str());
    write_stdout(line + (value.is_string() ? printable(value.get<std::string>()) : value.is_null() ? "-" : value.dump()) + "\n");
  }
}

int body() {
  Model model = open_model(o.model);
  Json out = metadata(model);
  Json tensors = Json::array();
  if (o.tensors)
    for (uint32_t i = 0; const linnet_tensor* t = linnet_model_tensor(model.get(), i); ++i)
      tensors.push_back(Json{{"name", t->name},
                             {"dtype", dtype_name(t->dtype)},
                             {"layout", layout_name(t->layout)},
                             {"shape", std::vector<uint64_t>(t->shape + 3 - t->rank, t->shape + 3)},
                             {"bytes", t->bytes},
                             {"note", t->note}});
  Json plan;
  if (o.show_plan) plan = plan_json(check(linnet::plan(model, o.plan)));
  if (o.json) {
    if (o.tensors) out["tensor_list"] = tensors;
    if (o.show_plan) out["plan"] = plan;
    if (o.graph) out["graph"] = graph(model);
    if (o.verify) {
      check(model.verify());
      out["verified"] = true;
    }
    write_stdout(out.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");  // a path may hold any bytes
    return kOk;
  }
  if (!o.graph && !o.tensors && !o.show_plan && !o.verify) print(out);
  if (o.graph) write_stdout(printable(graph(model)));
  for (uint32_t i = 0; o.tensors && i < model.info().tensors; ++i) {
    const linnet_tensor& t = *linnet_model_tensor(model.get(), i);
    char line[128];
    std::snprintf(line, sizeof line, "%5u  %-4s %-5s %-20s %12llu  ", i, dtype_name(t.dtype), layout_name(t.layout), shape(t).c_str(),
                  static_cast<unsigned long long>(t.bytes));
    write_stdout(line + printable(std::string(t.name) + (t.note[0] ? "  # " : "") + t.note) + "\n");
  }
  if (o.show_plan) print(plan);
  if (o.verify) {
    check(model.verify());
    write_stdout(printable(o.model.path) + ": every byte is as it was written\n");
  }
  return kOk;
}

}  // namespace

int main(int argc, char** argv) {
  describe(app,
           "  linnet-inspect story.linnet\n"
           "  linnet-inspect story.linnet --graph --tensors\n"
           "  linnet-inspect story.linnet --plan --context 2048 --threads 2\n"
           "  linnet-inspect story.linnet --verify");
  add_model(app, o.model);
  app.add_flag("--graph", o.graph, "the graph and its bodies as a listing");
  app.add_flag("--tensors", o.tensors, "every tensor: format, shape, bytes, and why it has this format");
  app.add_flag("--plan", o.show_plan, "exact bytes a runner needs, for the options below");
  app.add_flag("--verify", o.verify, "hash every tensor and name a damaged one");
  app.add_flag("--json", o.json, "one JSON object on stdout");
  add_kv_dtype(app, o.model);
  app.add_option("-c,--context", o.plan.context, "with --plan: positions a session; 0: the default")->capture_default_str();
  app.add_option("--max-rows", o.plan.max_rows, "with --plan: rows a step; 0: 64")->capture_default_str();
  app.add_option("--sessions", o.plan.sessions, "with --plan: sessions; 0: 1")->capture_default_str();
  app.add_option("--pages", o.plan.pages, "with --plan: pages of 64 positions; 0: enough for all sessions")->capture_default_str();
  app.add_option("--wanted-rows", o.plan.wanted_rows, "with --plan: rows of logits a step; 0: one a session")->capture_default_str();
  app.add_option("-t,--threads", o.plan.threads, "with --plan: threads; 0: the cores this process may use")->capture_default_str();
  return run(app, argc, argv, body);
}
