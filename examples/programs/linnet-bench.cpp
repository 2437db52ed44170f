// linnet-bench: how fast a model reads a prompt and writes tokens here, and where the time goes.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "common.h"
#include "ops/kernels/kernels.h"

using namespace linnet;
using namespace linnet::programs;

namespace {

struct Options {
  ModelChoice model;
  uint32_t prefill = 512, decode = 128, threads = 0, repeat = 5, seed = 1;
  uint64_t depth = 0;
  bool json = false, no_warmup = false, profile = false;
} o;
CLI::App app{"Measures a model: prompt tokens and written tokens a second, time an op", "linnet-bench"};
using Json = nlohmann::ordered_json;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }


// A node of the model as the profile counts it: nodes of one op over equally many bytes of weights are one line.
struct Node {
  std::string op;
  uint64_t weight_bytes;
  bool operator<(const Node& other) const { return op != other.op ? op < other.op : weight_bytes > other.weight_bytes; }
};

// What a decode step reads of the file: every weight once, but for tables of which an embedding reads one row a token.
struct Reads {
  std::vector<Node> nodes;  // in the order they run
  uint64_t bytes = 0;
  std::map<std::string, uint64_t> by_dtype;

  explicit Reads(const Model& model) {
    const linnet_function& graph = *linnet_model_function(model.get(), 0);
    std::vector<bool> seen(model.info().tensors);
    for (uint32_t i = 0; i < graph.nodes; ++i) {
      linnet_node_listing n{};
      linnet_model_node(model.get(), graph.first_node + i, &n);
      const uint32_t* weights = n.args + n.inputs + n.outputs;
      uint64_t of_node = 0;
      for (uint32_t w = 0; w < n.weights && std::string_view(n.op) != "embedding"; ++w) {
        if (weights[w] == 0xFFFFFFFFu) continue;
        const linnet_tensor& t = *linnet_model_tensor(model.get(), weights[w]);
        of_node += t.bytes;
        if (seen[weights[w]]) continue;
        seen[weights[w]] = true;
        bytes += t.bytes;
        by_dtype[dtype_name(t.dtype)] += t.bytes;
      }
      nodes.push_back({n.op, of_node});
    }
  }
};

// One session at the depth asked for, and steps from there.
class Bench {
 public:
  Bench(Runner& runner, const Reads& reads, uint32_t vocabulary)
      : runner_(runner), reads_(reads), session_(check(Session::create(runner))), ids_(o.depth + std::max(o.prefill, o.decode)) {
    std::mt19937 random(o.seed);
    for (int32_t& id : ids_) id = static_cast<int32_t>(random() % vocabulary);
    check(session_.prefill({ids_.data(), o.depth}));
  }

  double prefill() { return timed(1, o.prefill); }
  double decode(uint32_t tokens) { return timed(tokens, 1); }

  struct Cost {
    uint64_t count = 0;
    double seconds = 0;
  };
  using Profile = std::map<Node, Cost>;

  // A step whose every node is timed: without a budget left, advance returns after each. The last node's time includes the check of the logits.
  void profile(uint32_t steps, uint32_t rows, Profile& profile) {
    check(session_.truncate(o.depth));
    for (uint32_t i = 0; i < steps; ++i) {
      const linnet_step_entry entry = next(rows);
      check(runner_.begin({&entry, 1}));
      bool done = false;
      for (const Node& node : reads_.nodes) {
        const double start = now();
        done = check(runner_.advance(0));
        Cost& cost = profile[node];
        ++cost.count;
        cost.seconds += now() - start;
      }
      if (!done) fail("the profile lost count of the model's nodes: please report this");
      check(runner_.commit());
    }
  }

 private:
  linnet_step_entry next(uint32_t rows) { return {session_.get(), ids_.data() + session_.position(), rows, LINNET_WANT_LAST}; }

  double timed(uint32_t steps, uint32_t rows) {  // tokens a second
    check(session_.truncate(o.depth));
    const double start = now();
    for (uint32_t i = 0; i < steps; ++i) {
      const linnet_step_entry entry = next(rows);
      check(runner_.step({&entry, 1}));
    }
    return steps * rows / (now() - start);
  }

  Runner& runner_;
  const Reads& reads_;
  Session session_;
  std::vector<int32_t> ids_;
};

struct Part {
  const char* name;
  uint32_t tokens;
  std::vector<double> rates;
  Bench::Profile profile;
};

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return (v[(v.size() - 1) / 2] + v[v.size() / 2]) / 2;
}

Json profile_json(const Bench::Profile& profile) {
  double all = 0;
  for (const auto& [node, cost] : profile) all += cost.seconds;
  std::vector<std::pair<Node, Bench::Cost>> sorted(profile.begin(), profile.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });
  Json out = Json::array();
  for (const auto& [node, cost] : sorted)
    out.push_back(Json{{"op", node.op},
                       {"weight_bytes", node.weight_bytes},
                       {"count", cost.count},
                       {"ms", cost.seconds * 1e3},
                       {"share", cost.seconds / all},
                       {"gb_s", static_cast<double>(node.weight_bytes * cost.count) / cost.seconds / 1e9}});
  return out;
}

void print_profile(const Part& part) {
  char line[200];
  std::snprintf(line, sizeof line, "\n%s, node by node\n  %-24s %12s %8s %11s %9s %7s %8s\n", part.name, "op", "weights", "count", "total ms",
                "us each", "share", "GB/s");
  write_stdout(line);
  for (const Json& row : profile_json(part.profile)) {
    const double ms = row["ms"], count = row["count"];
    const uint64_t bytes = row["weight_bytes"];
    std::snprintf(line, sizeof line, "  %-24s %12s %8.0f %11.3f %9.2f %6.1f%%", row["op"].get<std::string>().c_str(),
                  bytes ? human_bytes(bytes).c_str() : "-", count, ms, ms * 1e3 / count, row["share"].get<double>() * 100);
    std::string text = line;
    if (bytes) {
      std::snprintf(line, sizeof line, " %8.2f", row["gb_s"].get<double>());
      text += line;
    }
    write_stdout(text + "\n");
  }
}

void print(const Model& model, const linnet_plan& plan, const Reads& reads, const char* isa, const std::vector<Part>& parts) {
  std::string mix;
  for (const auto& [dtype, bytes] : reads.by_dtype) mix += (mix.empty() ? "" : ", ") + dtype + " " + human_bytes(bytes);
  char line[400];
  std::snprintf(line, sizeof line, "%s (%s), file %s; %s kernels, %u threads; %s planned\na token reads %s of weights: %s\n\n", model.info().name,
                model.info().architecture, human_bytes(model.info().file_bytes).c_str(), isa, plan.threads, human_bytes(plan.total).c_str(),
                human_bytes(reads.bytes).c_str(), mix.c_str());
  write_stdout(line);
  std::snprintf(line, sizeof line, "%-8s %7s %7s %12s %12s %12s %7s\n", "", "tokens", "depth", "tokens/s", "lowest", "highest", "GB/s");
  write_stdout(line);
  for (const Part& part : parts) {
    const auto [lowest, highest] = std::minmax_element(part.rates.begin(), part.rates.end());
    const double middle = median(part.rates), steps = part.name[0] == 'd' ? 1 : part.tokens;  // a prefill reads the weights once
    std::snprintf(line, sizeof line, "%-8s %7u %7llu %12.2f %12.2f %12.2f %7.2f\n", part.name, part.tokens, static_cast<unsigned long long>(o.depth),
                  middle, *lowest, *highest, middle / steps * static_cast<double>(reads.bytes) / 1e9);
    write_stdout(line);
  }
  if (o.profile)
    for (const Part& part : parts) print_profile(part);
}

int body() {
  if (o.prefill == 0 && o.decode == 0) fail("there is nothing to measure: give --prefill or --decode a number of tokens", kUsage);
  Model model = open_model(o.model);
  const char* isa = ops::select(o.model.isa.empty() ? nullptr : o.model.isa.c_str())->name;
  const Reads reads(model);
  // The depth is read in steps of 64 rows, unless the measured ones are larger.
  const auto fill = static_cast<uint32_t>(std::min<uint64_t>(o.depth, 64));
  Runner runner = check(Runner::create(
      model, {.context = o.depth + std::max(o.prefill, o.decode) + 1, .max_rows = std::max({o.prefill, fill, 1u}), .threads = o.threads}));
  runner.cancel_on(&interrupted);
  Bench bench(runner, reads, model.info().vocabulary);

  std::vector<Part> parts;
  if (o.prefill) {
    Part& part = parts.emplace_back(Part{"prefill", o.prefill, {}, {}});
    if (!o.no_warmup) bench.prefill();
    for (uint32_t i = 0; i < o.repeat; ++i) part.rates.push_back(bench.prefill());
    for (uint32_t i = 0; i < o.repeat && o.profile; ++i) bench.profile(1, o.prefill, part.profile);
  }
  if (o.decode) {
    Part& part = parts.emplace_back(Part{"decode", o.decode, {}, {}});
    if (!o.no_warmup) bench.decode(std::min(o.decode, 8u));
    for (uint32_t i = 0; i < o.repeat; ++i) part.rates.push_back(bench.decode(o.decode));
    for (uint32_t i = 0; i < o.repeat && o.profile; ++i) bench.profile(o.decode, 1, part.profile);
  }

  const linnet_plan plan = runner.plan();
  if (!o.json) {
    print(model, plan, reads, isa, parts);
    return kOk;
  }
  Json out{{"model", o.model.path},
           {"name", model.info().name},
           {"architecture", model.info().architecture},
           {"version", linnet_version()},
           {"isa", isa},
           {"threads", plan.threads},
           {"prefill", o.prefill},
           {"decode", o.decode},
           {"depth", o.depth},
           {"prefill_tok_s", Json::array()},
           {"decode_tok_s", Json::array()},
           {"file_bytes", model.info().file_bytes},
           {"weight_bytes_per_token", reads.bytes},
           {"weight_bytes_by_dtype", reads.by_dtype},
           {"plan_bytes", plan.total},
           {"states_bytes", plan.states}};
  for (const Part& part : parts) {
    out[std::string(part.name) + "_tok_s"] = part.rates;
    if (o.profile) out["profile"][part.name] = profile_json(part.profile);
  }
  write_stdout(out.dump() + "\n");
  return kOk;
}

}  // namespace

int main(int argc, char** argv) {
  describe(app,
           "  linnet-bench story.linnet\n"
           "  linnet-bench story.linnet --prefill 0 --decode 64 --depth 1024 --threads 1\n"
           "  linnet-bench story.linnet --profile\n"
           "  linnet-bench story.linnet --prefill 8 --decode 1 --no-warmup --json");
  add_model(app, o.model);
  app.add_option("-p,--prefill", o.prefill, "prompt tokens to read in one step; 0: skip")->capture_default_str();
  app.add_option("-n,--decode", o.decode, "tokens to feed one by one; 0: skip")->capture_default_str();
  app.add_option("-d,--depth", o.depth, "positions in the cache before either begins")
      ->check(CLI::Range(uint64_t{0}, uint64_t{1} << 32))
      ->capture_default_str();
  app.add_option("-r,--repeat", o.repeat, "times to measure each")->check(CLI::Range(1u, 1000000u))->capture_default_str();
  app.add_option("-t,--threads", o.threads, "0: the cores this process may use")->capture_default_str();
  add_kernels(app, o.model);
  add_kv_dtype(app, o.model);
  app.add_option("-s,--seed", o.seed, "of the token ids, which are drawn from the vocabulary")->capture_default_str();
  app.add_flag("--no-warmup", o.no_warmup, "measure the first run too, when the weights may not be in memory yet");
  app.add_flag("--profile", o.profile, "then run the same node by node: time an op, and the bandwidth at which it reads weights");
  app.add_flag("--json", o.json, "one JSON object on stdout");
  catch_interrupts();
  return run(app, argc, argv, body);
}
