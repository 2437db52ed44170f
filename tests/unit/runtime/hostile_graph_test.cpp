// Graphs that are valid FlatBuffers and wrong in meaning: refused when opened or planned, in release builds too, and never a crash.
#include <algorithm>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <functional>

#include "object_api/model_generated.h"
#include "runtime/container.h"
#include "support.h"

using namespace linnet;
using namespace linnet::tests;
using linnet::detail::Header;
using linnet::detail::Section;
using linnet::detail::SectionKind;
namespace fb = linnet::format;
namespace data = boost::unit_test::data;

namespace {

struct Parts {
  std::string graph, tokenizer, weights;
};

Parts take_apart(const std::string& file) {
  Header h;
  std::memcpy(&h, file.data(), sizeof h);
  Parts p;
  for (uint32_t i = 0; i < h.section_count; ++i) {
    const std::string bytes = file.substr(h.sections[i].offset, h.sections[i].bytes);
    if (h.sections[i].kind == static_cast<uint32_t>(SectionKind::graph)) p.graph = bytes;
    if (h.sections[i].kind == static_cast<uint32_t>(SectionKind::tokenizer)) p.tokenizer = bytes;
    if (h.sections[i].kind == static_cast<uint32_t>(SectionKind::weights)) p.weights = bytes;
  }
  return p;
}

std::string put_together(const Parts& p) {
  Header h{};
  std::memcpy(h.magic, linnet::detail::kMagic, sizeof h.magic);
  h.major = linnet::detail::kFormatMajor;
  h.minor = linnet::detail::kFormatMinor;
  h.header_bytes = sizeof h;
  std::string file(sizeof h, '\0');
  const auto add = [&](SectionKind kind, const std::string& bytes, size_t align) {
    file.resize((file.size() + align - 1) / align * align);
    const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
    h.sections[h.section_count++] = {static_cast<uint32_t>(kind), 0, file.size(), bytes.size(), {hash.low64, hash.high64}, 0};
    file += bytes;
  };
  add(SectionKind::graph, p.graph, 64);
  if (!p.tokenizer.empty()) add(SectionKind::tokenizer, p.tokenizer, 64);
  add(SectionKind::weights, p.weights, linnet::detail::kWeightsAlign);
  h.file_bytes = file.size();
  h.xxh3 = XXH3_64bits(&h, offsetof(Header, xxh3));
  std::memcpy(file.data(), &h, sizeof h);
  return file;
}

// Opens, plans, creates and runs; returns the first failure.
Status use(const std::string& file, linnet_registry* registry = nullptr) {
  auto model = Model::open(std::as_bytes(std::span<const char>(file)), {.load = LINNET_LOAD_COPY, .registry = registry});
  if (!model) return model.error();
  auto runner = Runner::create(*model, {.context = model->info().context_limit > 0 ? 0u : 70u, .max_rows = 8, .threads = 2});
  if (!runner) return runner.error();
  auto session = Session::create(*runner);
  if (!session) return session.error();
  return session->prefill(random_ids(std::min<uint64_t>(66, runner->plan().context), model->info().vocabulary));
}

struct Mutation {
  const char* name;
  std::function<void(fb::ModelT&)> change;
};
std::ostream& operator<<(std::ostream& out, const Mutation& m) { return out << m.name; }

fb::NodeT& node(fb::ModelT& m, const std::string& op) {
  for (auto& n : m.nodes) {
    const auto& names = *m.names;
    const uint32_t begin = n->op ? names.ends[n->op - 1] : 0;
    if (std::string(names.blob.begin() + begin, names.blob.begin() + names.ends[n->op]) == op) return *n;
  }
  throw std::runtime_error("no node " + op);
}

// The attribute of the first node that has it.
fb::AttributeT& attribute(fb::ModelT& m, const std::string& name) {
  for (auto& a : m.attributes) {
    const auto& names = *m.names;
    const uint32_t begin = a->name ? names.ends[a->name - 1] : 0;
    if (std::string(names.blob.begin() + begin, names.blob.begin() + names.ends[a->name]) == name) return *a;
  }
  throw std::runtime_error("no attribute " + name);
}

fb::TensorT& matrix(fb::ModelT& m) {
  for (auto& t : m.tensors)
    if (t->layout == fb::Layout::r16) return *t;
  throw std::runtime_error("no matrix");
}

void shape(fb::TensorT& t, uint64_t a, uint64_t b, uint64_t c) { t.shape = std::make_unique<fb::Shape>(a, b, c); }

const std::vector<Mutation> kMutations{
    {"value index beyond the list", [](auto& m) { m.args[0] = 999; }},
    {"output index beyond the list", [](auto& m) { m.args[m.nodes[0]->inputs] = 999; }},
    {"an argument too many", [](auto& m) { m.args.push_back(0); }},
    {"an argument too few", [](auto& m) { m.args.pop_back(); }},
    {"a node with more inputs than arguments", [](auto& m) { m.nodes.back()->inputs = 255; }},
    {"a cycle: the first node reads the logits", [](auto& m) { m.args[0] = 1; }},
    {"a value made twice", [](auto& m) { m.args[m.nodes[0]->inputs] = 0; }},
    {"a value nobody makes",
     [](auto& m) {
       m.functions[0]->values += 1;
       m.values.insert(m.values.begin() + m.functions[0]->values - 1, std::make_unique<fb::ValueT>(*m.values[1]));
     }},
    {"rank 9", [](auto& m) { m.tensors[0]->rank = 9; }},
    {"rank 0", [](auto& m) { m.tensors[0]->rank = 0; }},
    {"a dimension of 0", [](auto& m) { shape(*m.tensors[0], 1, 0, m.tensors[0]->shape->d2()); }},
    {"a shape product that wraps",
     [](auto& m) {
       m.tensors[0]->rank = 3;
       shape(*m.tensors[0], uint64_t{1} << 32, uint64_t{1} << 32, 4);
     }},
    {"a huge dimension", [](auto& m) { shape(*m.tensors[0], 1, UINT64_MAX, 1); }},
    {"rows beyond the bytes",
     [](auto& m) {
       auto& t = matrix(m);
       shape(t, 1, t.shape->d1() + 16, t.shape->d2());
     }},
    {"K beyond the bytes",
     [](auto& m) {
       auto& t = matrix(m);
       shape(t, 1, t.shape->d1(), t.shape->d2() + 1);
     }},
    {"bytes not the shape's", [](auto& m) { matrix(m).bytes -= 64; }},
    {"bytes 0", [](auto& m) { matrix(m).bytes = 0; }},
    {"bytes huge", [](auto& m) { matrix(m).bytes = UINT64_MAX - 63; }},
    {"offset outside the section", [](auto& m) { m.tensors[0]->offset = uint64_t{1} << 40; }},
    {"offset that wraps", [](auto& m) { m.tensors[0]->offset = UINT64_MAX - 63; }},
    {"offset unaligned", [](auto& m) { m.tensors[0]->offset += 4; }},
    {"dtype 200", [](auto& m) { m.tensors[0]->dtype = static_cast<fb::DType>(200); }},
    {"dtype of another size", [](auto& m) { matrix(m).dtype = fb::DType::f16; }},
    {"layout 200", [](auto& m) { m.tensors[0]->layout = static_cast<fb::Layout>(200); }},
    {"layout of a newer version", [](auto& m) { m.tensors[0]->layout_version = 9; }},
    {"i4 without levels",
     [](auto& m) {
       matrix(m).dtype = fb::DType::i4;
       matrix(m).layout = fb::Layout::r16k4;
     }},
    {"level table beyond the list", [](auto& m) { m.tensors[0]->levels = 3u; }},
    {"levels not a multiple of 16", [](auto& m) { m.levels.resize(15); }},
    {"no tensors", [](auto& m) { m.tensors.clear(); }},
    {"no shape", [](auto& m) { m.tensors[0]->shape.reset(); }},
    {"name id beyond the list", [](auto& m) { m.tensors[0]->name = 1u << 30; }},
    {"a name that ends beyond the blob", [](auto& m) { m.names->ends.back() += 1; }},
    {"names that go backwards",
     [](auto& m) {
       m.names->ends[1] = 0;
       m.names->ends[0] = 5;
     }},
    {"a NUL in a name", [](auto& m) { m.names->blob[0] = 0; }},
    {"no names", [](auto& m) { m.names.reset(); }},
    {"an unknown op without a body", [](auto& m) { m.names->blob[m.names->ends[node(m, "select_rows").op] - 1] = 'X'; }},
    {"an op of version 9", [](auto& m) { node(m, "select_rows").version = 9; }},
    {"body beyond the list", [](auto& m) { node(m, "attention").body = 99u; }},
    {"the model as a body", [](auto& m) { node(m, "attention").body = 0u; }},
    {"another op's body", [](auto& m) { node(m, "attention").body = *node(m, "feed_forward").body; }},
    {"a body inside a body", [](auto& m) { m.nodes.back()->body = 1u; }},
    {"a body's value with step rows", [](auto& m) { m.values.back()->leading = fb::Leading::step; }},
    {"width_s in the model", [](auto& m) { m.values[2]->width_s = 1; }},
    {"a value of width 0", [](auto& m) { m.values[2]->width = 0; }},
    {"a value of another width", [](auto& m) { m.values[2]->width += 16; }},
    {"a huge value", [](auto& m) { m.values[2]->width = UINT32_MAX; }},
    {"a value of i4", [](auto& m) { m.values[2]->dtype = fb::DType::i4; }},
    {"a value of ids where floats are due", [](auto& m) { m.values[2]->dtype = fb::DType::i32; }},
    {"tokens of width 2", [](auto& m) { m.values[0]->width = 2; }},
    {"logits of step rows", [](auto& m) { m.values[1]->leading = fb::Leading::step; }},
    {"logits narrower than the vocabulary", [](auto& m) { m.values[1]->width -= 1; }},
    {"a vocabulary of 0", [](auto& m) { m.vocabulary = 0; }},
    {"a vocabulary larger than the table",
     [](auto& m) {
       m.vocabulary += 1000;
       m.values[1]->width += 1000;
     }},
    {"no functions", [](auto& m) { m.functions.clear(); }},
    {"function with more values than there are", [](auto& m) { m.functions.back()->values += 1; }},
    {"function with fewer nodes than there are", [](auto& m) { m.functions.back()->nodes -= 1; }},
    {"function with more inputs than values", [](auto& m) { m.functions.back()->inputs = 255; }},
    {"the model with two outputs", [](auto& m) { m.functions[0]->outputs = 2; }},
    {"attributes left over", [](auto& m) { m.attributes.push_back(std::make_unique<fb::AttributeT>(*m.attributes[0])); }},
    {"attributes missing", [](auto& m) { m.attributes.pop_back(); }},
    {"an attribute of unknown kind", [](auto& m) { m.attributes[0]->kind = static_cast<fb::AttributeKind>(99); }},
    {"an attribute of the wrong kind", [](auto& m) { attribute(m, "heads").kind = fb::AttributeKind::real; }},
    {"an attribute nobody knows", [](auto& m) { attribute(m, "heads").name = m.values[0]->name; }},
    {"a parameter outside a body", [](auto& m) { m.attributes[0]->kind = fb::AttributeKind::parameter; }},
    {"an array of more entries than the pool",
     [](auto& m) {
       m.attributes[0]->kind = fb::AttributeKind::integers;
       m.attributes[0]->count = 1000;
     }},
    {"0 heads", [](auto& m) { attribute(m, "heads").integer = 0; }},
    {"-1 heads", [](auto& m) { attribute(m, "heads").integer = -1; }},
    {"2^40 heads", [](auto& m) { attribute(m, "heads").integer = int64_t{1} << 40; }},
    {"heads that are no multiple of kv heads", [](auto& m) { attribute(m, "kv_heads").integer = 4; }},
    {"0 kv heads", [](auto& m) { attribute(m, "kv_heads").integer = 0; }},
    {"head_dim 0", [](auto& m) { attribute(m, "head_dim").integer = 0; }},
    {"head_dim 2^33", [](auto& m) { attribute(m, "head_dim").integer = int64_t{1} << 33; }},
    {"an odd rotary_dim", [](auto& m) { attribute(m, "rotary_dim").integer = 3; }},
    {"rotary_dim above head_dim", [](auto& m) { attribute(m, "rotary_dim").integer = 1 << 20; }},
    {"an unknown activation", [](auto& m) { attribute(m, "activation").integer = 77; }},
    {"an unknown norm", [](auto& m) { attribute(m, "norm").integer = 77; }},
    {"epsilon NaN", [](auto& m) { attribute(m, "epsilon").real = std::nan(""); }},
    {"epsilon negative", [](auto& m) { attribute(m, "epsilon").real = -1; }},
    {"scale infinite", [](auto& m) { attribute(m, "scale").real = INFINITY; }},
    {"a state of 0 tensors", [](auto& m) { m.states[0]->tensors = 0; }},
    {"a state of more tensors than there are", [](auto& m) { m.states.back()->tensors = 9; }},
    {"a state tensor left over", [](auto& m) { m.state_tensors.push_back(m.state_tensors[0]); }},
    {"a state tensor of another width", [](auto& m) { m.state_tensors[0].mutate_width(m.state_tensors[0].width() - 1); }},
    {"a state tensor of no heads", [](auto& m) { m.state_tensors[0].mutate_heads(0); }},
    {"a state tensor of heads that cannot share it", [](auto& m) { m.state_tensors[0].mutate_heads(7); }},
    {"a state tensor of width 0", [](auto& m) { m.state_tensors[0].mutate_width(0); }},
    {"a state tensor of bf16 codes nobody keeps", [](auto& m) { m.state_tensors[0].mutate_dtype(fb::DType::i4); }},
    {"keys in rows", [](auto& m) { m.state_tensors[0].mutate_layout(fb::StateLayout::rows); }},
    {"a state of unknown kind", [](auto& m) { m.states[0]->kind = static_cast<fb::StateKind>(9); }},
    {"a fixed state (later)", [](auto& m) { m.states[0]->kind = fb::StateKind::fixed; }},
    {"no states",
     [](auto& m) {
       m.states.clear();
       m.state_tensors.clear();
     }},
    {"eos outside the vocabulary", [](auto& m) { m.eos.push_back(m.vocabulary); }},  // B8
    {"bos outside the vocabulary", [](auto& m) { m.bos = UINT32_MAX; }},
    {"pad outside the vocabulary", [](auto& m) { m.pad = m.vocabulary; }},
    {"a context of 0", [](auto& m) { m.context_trained = 0u; }},
    {"numerics of a newer revision", [](auto& m) { m.numerics = 99; }},
};

std::string pack(const fb::ModelT& m) {
  flatbuffers::FlatBufferBuilder b;
  b.Finish(fb::Model::Pack(b, &m));
  return {reinterpret_cast<const char*>(b.GetBufferPointer()), b.GetSize()};
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_unchanged_graph_packed_again_runs) {
  Parts p = take_apart(slurp(convert_golden("llama-gqa-6over2")));
  const std::unique_ptr<fb::ModelT> m(fb::GetModel(p.graph.data())->UnPack());
  p.graph = pack(*m);
  const Status s = use(put_together(p));
  BOOST_TEST(s.ok(), s.message());
}

BOOST_DATA_TEST_CASE(a_graph_that_is_wrong_in_meaning_is_refused, data::make(kMutations), mutation) {  // B10
  Parts p = take_apart(slurp(convert_golden("llama-gqa-6over2")));
  const std::unique_ptr<fb::ModelT> m(fb::GetModel(p.graph.data())->UnPack());
  mutation.change(*m);
  p.graph = pack(*m);
  const Status s = use(put_together(p));
  BOOST_TEST(!s.ok(), "accepted");
  BOOST_TEST((s.code() == LINNET_BAD_FILE || s.code() == LINNET_UNSUPPORTED || s.code() == LINNET_VERSION), linnet_code_name(s.code())
                                                                                                                << ": " << s.message());
  BOOST_TEST(std::string(s.message()).size() > 10u);
  BOOST_TEST_MESSAGE(mutation.name << ": " << s.message());
}

BOOST_AUTO_TEST_CASE(an_argument_left_out_is_absent_in_the_body_too) {
  Parts p = take_apart(slurp(convert_golden("llama-gqa-6over2")));
  const std::unique_ptr<fb::ModelT> m(fb::GetModel(p.graph.data())->UnPack());
  const fb::NodeT* feed_forward = &node(*m, "feed_forward");
  size_t argument = 0;
  for (const auto& n : m->nodes) {
    if (n.get() == feed_forward) break;
    argument += n->inputs + n->outputs + n->weights + n->states;
  }
  BOOST_REQUIRE(feed_forward->inputs == 2u);
  m->args[argument + 1] = UINT32_MAX;  // the residual
  p.graph = pack(*m);
  const std::string file = put_together(p);
  const Registry primitives = registry_without({"attention", "feed_forward"});
  Model fused = need(Model::open(std::as_bytes(std::span<const char>(file)), {.load = LINNET_LOAD_COPY}));
  Model body = need(Model::open(std::as_bytes(std::span<const char>(file)), {.load = LINNET_LOAD_COPY, .registry = primitives.get()}));
  const auto ids = random_ids(10, fused.info().vocabulary);
  const auto a = all_logits(fused, ids), b = all_logits(body, ids), whole = all_logits(need(Model::open(convert_golden("llama-gqa-6over2"))), ids);
  BOOST_REQUIRE(a.size() == ids.size());
  for (size_t row = 0; row < a.size(); ++row)
    for (size_t i = 0; i < a[row].size(); ++i) BOOST_REQUIRE_SMALL(a[row][i] - b[row][i], 1e-5f * (1 + std::abs(a[row][i])));
  BOOST_TEST(hash(a) != hash(whole));

  // And an op in the body sees so in its plan: this linear counts the residuals of outputs that a body calls y.
  static int without_residual, with_residual;
  without_residual = with_residual = 0;
  linnet_op_def linear{};
  linear.size = sizeof linear;
  linear.abi = LINNET_OP_ABI;
  linear.name = "linear";
  linear.min_version = linear.max_version = 1;
  linear.plan = [](void*, linnet_op_plan* plan) {
    if (std::string(plan->node->outputs[0]->name) == "y") ++(plan->node->inputs[1] ? with_residual : without_residual);
    return LINNET_OK;
  };
  linear.eval = [](const linnet_op_eval*) { return LINNET_OK; };
  linnet_error error{};
  BOOST_REQUIRE_EQUAL(linnet_registry_add(primitives.get(), &linear, 1, &error), LINNET_OK);
  Model counted = need(Model::open(std::as_bytes(std::span<const char>(file)), {.load = LINNET_LOAD_COPY, .registry = primitives.get()}));
  need(linnet::plan(counted));
  BOOST_TEST(without_residual == 1);
  BOOST_TEST(with_residual + 1 == std::count_if(m->nodes.begin(), m->nodes.end(), [&](const auto& n) { return n->body == feed_forward->body; }));
}

// I1: Flipped bytes with a hash that agrees: whatever opens must also run or fail with a code, in fused ops and in their bodies.
BOOST_DATA_TEST_CASE(random_damage_never_crashes, data::make({"llama-gqa-6over2", "gpt2-odd-sizes"}) * data::make({false, true}), name, bodies) {
  const Registry registry = bodies ? registry_without({"attention", "feed_forward"}) : registry_for(nullptr);
  const Parts whole = take_apart(slurp(convert_golden(name)));
  std::mt19937 rng(1);
  int opened = 0;
  for (int i = 0; i < 3000; ++i) {
    Parts p = whole;
    const int flips = 1 + static_cast<int>(rng() % 4);
    for (int f = 0; f < flips; ++f) {
      char& byte = p.graph[rng() % p.graph.size()];
      switch (rng() % 3) {
        case 0: byte = static_cast<char>(byte ^ (1 << rng() % 8)); break;
        case 1: byte = static_cast<char>(rng()); break;
        default: byte = static_cast<char>(rng() % 2 ? 0 : 255);
      }
    }
    opened += use(put_together(p), registry.get()).ok();
  }
  BOOST_TEST(opened > 0);  // some bytes are padding or names
  BOOST_TEST(opened < 3000);
}

// Many nodes and values: what is linear stays so, what is not has a cap.
BOOST_AUTO_TEST_CASE(a_huge_graph_is_opened_or_refused_in_linear_work) {  // B11
  Parts p = take_apart(slurp(convert_golden("llama-gqa-6over2")));
  const std::unique_ptr<fb::ModelT> m(fb::GetModel(p.graph.data())->UnPack());
  // A long chain of adds in front of the rest: x, x + x, ... each read once.
  constexpr uint32_t kMore = 20000;
  const uint32_t add = static_cast<uint32_t>(m->names->ends.size());
  const std::string name = "add";
  m->names->blob.insert(m->names->blob.end(), name.begin(), name.end());
  m->names->ends.push_back(static_cast<uint32_t>(m->names->blob.size()));
  fb::FunctionT& main = *m->functions[0];
  const uint32_t x = m->args[m->nodes[0]->inputs];  // what the embedding makes
  std::vector<std::unique_ptr<fb::NodeT>> nodes;
  std::vector<std::unique_ptr<fb::ValueT>> values;
  std::vector<uint32_t> args;
  for (uint32_t i = 0; i < kMore; ++i) {
    auto n = std::make_unique<fb::NodeT>();
    n->op = add;
    n->inputs = 2;
    n->outputs = 1;
    nodes.push_back(std::move(n));
    values.push_back(std::make_unique<fb::ValueT>(*m->values[x]));
    const uint32_t from = i ? main.values + i - 1 : x;
    args.insert(args.end(), {from, from, main.values + i});
  }
  const uint32_t first_args = m->nodes[0]->inputs + m->nodes[0]->outputs + m->nodes[0]->weights + m->nodes[0]->states;
  m->args.insert(m->args.begin() + first_args, args.begin(), args.end());
  m->nodes.insert(m->nodes.begin() + 1, std::make_move_iterator(nodes.begin()), std::make_move_iterator(nodes.end()));
  m->values.insert(m->values.begin() + main.values, std::make_move_iterator(values.begin()), std::make_move_iterator(values.end()));
  main.values += kMore;
  main.nodes += kMore;
  p.graph = pack(*m);
  const std::string file = put_together(p);
  auto model = Model::open(std::as_bytes(std::span<const char>(file)), {.load = LINNET_LOAD_COPY});
  BOOST_REQUIRE_MESSAGE(bool(model), model.error().message());
  BOOST_TEST(bool(linnet::plan(*model)));
}
