// The graph builder: numbering, bodies stored once, a section whose size does not depend on what it says.
#include "converter/graph.h"

#include <boost/test/unit_test.hpp>

#include "checkpoints.h"
#include "schema/model_generated.h"

using namespace linnet;
using namespace linnet::converter;
using linnet::tests::error_of;

namespace {

Function body(const std::string& name, uint64_t width) {
  Function f(name, LINNET_ONE);
  const Id x = f.input("x", width), y = f.output("y", width);
  f.node({"activation", {x}, {y}, {}, {}, {integer("kind", 4)}, {}});
  return f;
}

Graph small() {
  Graph g;
  const Id tokens = g.model.input("tokens", 1, LINNET_I32), logits = g.model.output("logits", 7, LINNET_WANTED_ROWS), x = g.model.value("x", 3);
  TensorSpec t{"table", LINNET_F16, LINNET_R16, 2, {1, 7, 3}, {}};
  t.recipe.source = "table";
  const Id table = g.tensor(t);
  g.model.node({"embedding", {tokens}, {x}, {table, kAbsent}, {}, {real("scale", 0.5)}, {}});
  g.model.node({"head",
                {x},
                {logits},
                {table},
                {g.state({"kv", {{8, LINNET_F16, LINNET_STATE_PANELS}, {8, LINNET_F16, LINNET_STATE_ROWS}}})},
                {integer("n", 5), real("e", 0)},
                g.body(body("b", 3))});
  g.vocabulary = 7;
  g.name = "small";
  g.architecture = "test";
  g.bos = 0;
  return g;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(graph)

BOOST_AUTO_TEST_CASE(a_body_is_stored_once) {
  Graph g;
  BOOST_TEST(g.body(body("a", 3)) == 1u);
  BOOST_TEST(g.body(body("a", 4)) == 2u);
  BOOST_TEST(g.body(body("a", 3)) == 1u);
  BOOST_TEST(g.body(body("ab", 5)) == 3u);
  BOOST_TEST(g.body(body("a", 6)) == 4u);
  Function other = body("a", 3);
  other.nodes[0].attributes[0] = integer("kind", 1);
  BOOST_TEST(g.body(other) == 5u);
  BOOST_TEST(
      (g.bodies[0].name == "a" && g.bodies[1].name == "a.1" && g.bodies[2].name == "ab" && g.bodies[3].name == "a.2" && g.bodies[4].name == "a.3"));
}

BOOST_AUTO_TEST_CASE(a_tensor_has_one_meaning) {
  Graph g;
  TensorSpec t{"w", LINNET_F32, LINNET_PLAIN, 1, {1, 1, 4}, {}};
  BOOST_TEST((g.tensor(t) == 0 && g.tensor(t) == 0 && g.tensors.size() == 1));
  t.layout = LINNET_R16;
  BOOST_TEST(error_of([&] { g.tensor(t); }).find("tensor w is made in two ways") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(values_are_numbered_inputs_outputs_rest) {
  Function f("f", LINNET_ONE);
  BOOST_TEST((f.input("a", 1) == 0 && f.input("b", 1) == 1 && f.output("y", 1) == 2 && f.value("t", 1) == 3));
  BOOST_TEST(error_of([&] { f.input("late", 1); }).find("inputs come first") != std::string::npos);
  BOOST_TEST(error_of([&] { f.output("late", 1); }).find("right after inputs") != std::string::npos);
  BOOST_TEST(error_of([&] { f.value("wide", uint64_t{1} << 32); }).find("4294967296") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_section_says_what_the_graph_says) {
  const Graph g = small();
  const auto section = graph_section(g, {{64, 96, 0xabcdef}});
  flatbuffers::Verifier verifier(section.data(), section.size());
  BOOST_REQUIRE(verifier.VerifyBuffer<format::Model>(nullptr));
  const auto* m = format::GetModel(section.data());
  const auto name = [&](uint32_t id) {
    const uint32_t begin = id ? m->names()->ends()->Get(id - 1) : 0, end = m->names()->ends()->Get(id);
    return std::string(reinterpret_cast<const char*>(m->names()->blob()->data()) + begin, end - begin);
  };
  BOOST_REQUIRE((m->functions()->size() == 2 && m->nodes()->size() == 3 && m->values()->size() == 5));
  const auto* f = m->functions()->Get(0);
  BOOST_TEST((name(f->name()) == "model" && f->inputs() == 1 && f->outputs() == 1 && f->weights() == 0 && f->states() == 0 && f->values() == 3 &&
              f->nodes() == 2));
  BOOST_TEST((m->values()->Get(0)->dtype() == format::DType::i32 && m->values()->Get(0)->leading() == format::Leading::step &&
              m->values()->Get(1)->leading() == format::Leading::wanted && m->values()->Get(1)->width() == 7));
  BOOST_TEST((m->values()->Get(3)->leading() == format::Leading::one));
  // Arguments node by node: inputs, outputs, weights, states.
  const std::vector<uint32_t> args(m->args()->begin(), m->args()->end());
  BOOST_TEST(args == (std::vector<uint32_t>{0, 2, 0, kAbsent, 2, 1, 0, 0, 0, 1}), boost::test_tools::per_element());
  const auto* n = m->nodes()->Get(1);
  BOOST_TEST((name(n->op()) == "head" && n->version() == 1 && n->inputs() == 1 && n->outputs() == 1 && n->weights() == 1 && n->states() == 1 &&
              n->attributes() == 2 && n->body() == 1u));
  BOOST_TEST(!m->nodes()->Get(0)->body().has_value());
  BOOST_TEST((m->attributes()->size() == 4 && name(m->attributes()->Get(0)->name()) == "scale" && m->attributes()->Get(0)->real() == 0.5 &&
              m->attributes()->Get(0)->kind() == format::AttributeKind::real && m->attributes()->Get(1)->integer() == 5 &&
              m->attributes()->Get(1)->kind() == format::AttributeKind::integer));
  const auto* t = m->tensors()->Get(0);
  BOOST_TEST((name(t->name()) == "table" && t->dtype() == format::DType::f16 && t->layout() == format::Layout::r16 && t->rank() == 2 &&
              t->shape()->d0() == 1 && t->shape()->d1() == 7 && t->shape()->d2() == 3 && t->offset() == 64 && t->bytes() == 96 &&
              t->xxh3() == 0xabcdef && !t->levels().has_value() && !t->note().has_value()));
  BOOST_TEST((m->states()->size() == 1 && m->states()->Get(0)->tensors() == 2 &&
              m->state_tensors()->Get(0)->layout() == format::StateLayout::panels && m->state_tensors()->Get(1)->width() == 8));
  BOOST_TEST((m->bos() == 0u && !m->pad().has_value() && !m->top_k().has_value() && m->eos()->size() == 0 && m->name()->str() == "small"));
}

BOOST_AUTO_TEST_CASE(the_sections_size_does_not_depend_on_hashes) {
  const Graph g = small();
  const size_t size = graph_section(g, {{0, 0, 0}}).size();
  BOOST_TEST(graph_section(g, {{uint64_t{1} << 40, ~uint64_t{0}, ~uint64_t{0}}}).size() == size);
}

BOOST_AUTO_TEST_SUITE_END()
