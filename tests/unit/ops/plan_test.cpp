// What plan refuses: every way a stranger's graph can be wrong that eval would trip over, and that the message names it.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "unit/ops/harness.h"

using namespace linnet;
using namespace linnet::test;
namespace data = boost::unit_test::data;

namespace {

// A good node of each op, for cases to spoil.
Node embedding() {
  return Node("embedding")
      .in(1, 0, LINNET_STEP_ROWS, LINNET_I32)
      .out(24)
      .weight(matrix(LINNET_F16, 50, 24, 1))
      .weight(matrix(LINNET_F32, 9, 24, 2, LINNET_PLAIN));
}
Node rms_norm() { return Node("rms_norm").in(24).out(24).weight(vector(24, 1)).real("epsilon", 1e-5); }
Node layer_norm() { return Node("layer_norm").in(24).out(24).weight(vector(24, 1)).weight(vector(24, 2)).real("epsilon", 1e-5); }
Node linear() {
  return Node("linear").in(24).in(40).out(40).weight(vector(24, 1)).weight(vector(24, 2)).weight(matrix(LINNET_F32, 40, 24, 3)).weight(vector(40, 4))
      .integer("norm", 2).real("epsilon", 1e-5).integer("activation", 1);
}
Node two_linears() {
  return Node("linear")
      .in(24)
      .out(40)
      .out(8)
      .weight(nullptr)
      .weight(nullptr)
      .weight(matrix(LINNET_F32, 40, 24, 3))
      .weight(nullptr)
      .weight(matrix(LINNET_F32, 8, 24, 4));
}
Node feed_forward() {
  return Node("feed_forward")
      .in(24)
      .in(24)
      .out(24)
      .weight(vector(24, 1))
      .weight(nullptr)
      .weight(matrix(LINNET_F32, 50, 24, 3))
      .weight(nullptr)
      .weight(matrix(LINNET_F32, 50, 24, 4))
      .weight(nullptr)
      .weight(matrix(LINNET_F32, 24, 50, 5))
      .weight(vector(24, 6))
      .integer("norm", 1)
      .real("epsilon", 1e-5)
      .integer("activation", 4);
}
Node rope_table() { return Node("rope_table").out(12).weight(vector(6, 1)); }
Node rope() { return Node("rope").in(48).in(8).out(48).integer("heads", 4).integer("head_dim", 12).integer("rotary_dim", 8).integer("style", 0); }
const State& kv() { static const State state(24, LINNET_F16, 1, 0, 2); return state; }
Node attention() {
  return Node("attention")
      .in(48)
      .in(24)
      .in(24)
      .in(12)
      .out(48)
      .state(kv())
      .integer("heads", 4)
      .integer("kv_heads", 2)
      .integer("head_dim", 12)
      .real("scale", 0.25)
      .integer("rotary_dim", 12)
      .integer("style", 0)
      .real("softcap", 0);
}
Node select_rows() { return Node("select_rows").in(24).out(24, 0, LINNET_WANTED_ROWS); }
Node activation() { return Node("activation").in(24, 3).out(24, 3).integer("kind", 4); }
Node add() { return Node("add").in(24, 3).in(24, 3).out(24, 3); }
Node mul() { return Node("mul").in(24).in(24).out(24); }
Node matmul() { return Node("matmul").in(48).in(0, 24).out(0, 4).integer("heads", 4).integer("kv_heads", 2).integer("transpose_b", 1); }
Node softmax() { return Node("scaled_masked_softmax").in(0, 4).out(0, 4).integer("heads", 4).real("scale", 0.5).integer("window", 0); }
Node state_append() { return Node("state_append").in(24).state(kv()).integer("tensor", 0); }
Node state_view() { return Node("state_view").out(0, 24).state(kv()).integer("tensor", 1); }

using Make = Node (*)();
const Make kGood[] = {embedding,   rms_norm,   layer_norm, linear, two_linears, feed_forward, rope_table,   rope,      attention,
                      select_rows, activation, add,        mul,    matmul,      softmax,      state_append, state_view};

linnet_value& in(Node& n, size_t i) { return const_cast<linnet_value&>(*n.inputs[i]); }
linnet_value& out(Node& n, size_t i) { return const_cast<linnet_value&>(*n.outputs[i]); }
linnet_tensor& weight(Node& n, size_t i) { return const_cast<linnet_tensor&>(*n.weights[i]); }
linnet_attr& attr(Node& n, const char* name) {
  for (linnet_attr& a : n.attrs) if (!std::strcmp(a.name, name)) return a;
  std::abort();
}

struct Bad {
  const char* what;  // a part of the message
  Make make;
  void (*spoil)(Node&);
};
std::ostream& operator<<(std::ostream& o, const Bad& b) { return o << b.make().op << ": " << b.what; }

#define BAD(what, make, statement) {what, make, [](Node& n) { statement; }}
const Bad kBad[] = {
    // Arguments.
    BAD("at most 1 inputs, the node has 2", rms_norm, n.in(24)),
    BAD("at most 1 outputs, the node has 2", rms_norm, n.out(24)),
    BAD("at most 1 weights, the node has 2", rms_norm, n.weight(vector(24, 1))),
    BAD("at most 0 states, the node has 1", rms_norm, n.state(kv())),
    BAD("input 0 (x) is missing", rms_norm, n.inputs.clear()),
    BAD("input 0 (x) is missing", linear, n.inputs[0] = nullptr),
    BAD("output 0 (y) is missing", layer_norm, n.outputs.clear()),
    BAD("output 0 (y0) is missing", linear, (n.outputs.clear(), n.weights.resize(2))),
    BAD("input 1 (b) is missing", add, n.inputs.pop_back()),
    BAD("input 1 (table) is missing", rope, n.inputs.pop_back()),
    BAD("input 2 (v) is missing", attention, n.inputs.resize(2)),
    BAD("weight 0 (table) is missing", embedding, n.weights.clear()),
    BAD("weight 2 (W) is missing", linear, n.weights[2] = nullptr),
    BAD("weight 4 (W) is missing", two_linears, n.weights.resize(4)),
    BAD("weight 2 (up) is missing", feed_forward, n.weights[2] = nullptr),
    BAD("weight 6 (down) is missing", feed_forward, n.weights.resize(6)),
    BAD("weight 0 (inverse frequencies) is missing", rope_table, n.weights.clear()),
    BAD("state 0 (kv) is missing", attention, n.states.clear()),
    BAD("state 0 (s) is missing", state_append, n.states[0] = nullptr),
    BAD("at most 8 outputs, the node has 9", linear, while (n.outputs.size() < 9) n.out(40)),
    BAD("weight 5 (gate bias) is given, but there is no gate", feed_forward, (n.weights[4] = nullptr, n.weights[5] = n.weights[7])),
    BAD("a residual works with one only", two_linears, n.in(40)),
    BAD("an activation works with one only", two_linears, n.integer("activation", 1)),
    // Types, rows and widths of values.
    BAD("input 0 (x) is i32, and must be f32", rms_norm, in(n, 0).dtype = LINNET_I32),
    BAD("input 0 (tokens) is f32, and must be i32", embedding, in(n, 0).dtype = LINNET_F32),
    BAD("output 0 (y) is f16, and must be f32", linear, out(n, 0).dtype = LINNET_F16),
    BAD("input 0 (x) is of an unknown type", rms_norm, in(n, 0).dtype = 77),
    BAD("24 + 2 * S wide, and must have a fixed width", rms_norm, (in(n, 0).width_s = 2, out(n, 0).width_s = 2)),
    BAD("0 + 0 * S wide, and must have a fixed width", rms_norm, (in(n, 0).width = 0, out(n, 0).width = 0)),
    BAD("y is 25 wide, and must be 24", rms_norm, out(n, 0).width = 25),
    BAD("y is 16 wide, and must be 24", layer_norm, out(n, 0).width = 16),
    BAD("tokens is 2 wide, and must be 1", embedding, in(n, 0).width = 2),
    BAD("residual is 41 wide, and must be 40", linear, in(n, 1).width = 41),
    BAD("residual is 16 wide, and must be 24", feed_forward, in(n, 1).width = 16),
    BAD("rope table is 10 wide, and must be 8", rope, in(n, 1).width = 10),
    BAD("x is 47 wide, and must be 48", rope, in(n, 0).width = 47),
    BAD("table is 13 wide, and must be even", rope_table, out(n, 0).width = 13),
    BAD("q is 36 wide, and must be 48", attention, in(n, 0).width = 36),
    BAD("k is 48 wide, and must be 24", attention, in(n, 1).width = 48),
    BAD("v is 12 wide, and must be 24", attention, in(n, 2).width = 12),
    BAD("y is 24 wide, and must be 48", attention, out(n, 0).width = 24),
    BAD("b has 2 elements a position, and must have 3", add, in(n, 1).width_s = 2),
    BAD("y is 23 wide, and must be 24", mul, out(n, 0).width = 23),
    BAD("a has 1 elements a position, and must have 0", matmul, in(n, 0).width_s = 1),
    BAD("y has 5 elements a position, and must have 4", matmul, out(n, 0).width_s = 5),
    BAD("b has 23 elements a position", matmul, in(n, 1).width_s = 23),
    BAD("b has 0 elements a position", matmul, in(n, 1).width_s = 0),
    BAD("b is 7 wide, and must be 0", matmul, in(n, 1).width = 7),
    BAD("scores has 3 elements a position, and must have 4", softmax, in(n, 0).width_s = 3),
    BAD("weights is 1 wide, and must be 0", softmax, out(n, 0).width = 1),
    BAD("view is 24 + 0 * S wide", state_view, (out(n, 0).width = 24, out(n, 0).width_s = 0)),
    BAD("has a row for each wanted one", rms_norm, out(n, 0).leading = LINNET_WANTED_ROWS),
    BAD("has one row", linear, out(n, 0).leading = LINNET_ONE),
    BAD("has one row", linear, in(n, 1).leading = LINNET_ONE),
    BAD("has one row", add, in(n, 1).leading = LINNET_ONE),
    BAD("has a row for each wanted one", feed_forward, out(n, 0).leading = LINNET_WANTED_ROWS),
    BAD("has one row", rope, in(n, 1).leading = LINNET_ONE),
    BAD("rope table has one row", attention, in(n, 3).leading = LINNET_ONE),
    BAD("tokens has one row", embedding, (in(n, 0).leading = LINNET_ONE, out(n, 0).leading = LINNET_ONE)),
    BAD("table has a row for each wanted one", rope_table, out(n, 0).leading = LINNET_WANTED_ROWS),
    BAD("q has a row for each wanted one", attention, for (size_t i = 0; i < 4; ++i) in(n, i).leading = LINNET_WANTED_ROWS),
    BAD("y has a row for each of the step's", select_rows, out(n, 0).leading = LINNET_STEP_ROWS),
    BAD("x has a row for each wanted one", select_rows, in(n, 0).leading = LINNET_WANTED_ROWS),
    BAD("x has wanted rows", state_append, in(n, 0).leading = LINNET_WANTED_ROWS),
    BAD("input 0 is empty", add, in(n, 0).width = in(n, 0).width_s = in(n, 1).width = in(n, 1).width_s = out(n, 0).width = out(n, 0).width_s = 0),
    BAD("an unknown number of rows", select_rows, in(n, 0).leading = 9),
    // Weights.
    BAD("weight 2 (W) is i8", linear, weight(n, 2).dtype = LINNET_I8),
    BAD("weight 2 (W) is i32", linear, weight(n, 2).dtype = LINNET_I32),
    BAD("weight 2 (W) is of an unknown type", linear, weight(n, 2).dtype = 200),
    BAD("weight 2 (W) is f32 in layout plain", linear, weight(n, 2).layout = LINNET_PLAIN),
    BAD("weight 2 (W) is f32 in layout R16K4", linear, weight(n, 2).layout = LINNET_R16K4),
    BAD("weight 2 (W) is f32 in layout unknown", linear, weight(n, 2).layout = 33),
    BAD("weight 2 (W) is f32 in layout R16, version 1", linear, weight(n, 2).layout_version = 1),
    BAD("weight 2 (W) has rank 3, and must be a matrix", linear, weight(n, 2).rank = 3),
    BAD("weight 2 (W) has rank 2, and must be a matrix", linear, weight(n, 2).shape[0] = 2),
    BAD("weight 2 (W) has 25 columns, and must have 24", linear, weight(n, 2).shape[2] = 25),
    BAD("weight 2 (W) has 39 rows, and must have 40", linear, weight(n, 2).shape[1] = 39),
    BAD("weight 2 (W) has 4607 bytes, but its shape 40 x 24 takes 4608", linear, weight(n, 2).bytes -= 1),
    BAD("weight 0 (table) has 0 rows", embedding, weight(n, 0).shape[1] = 0),
    BAD("takes more than", embedding, weight(n, 0).shape[1] = UINT64_MAX),
    BAD("takes more than", embedding, weight(n, 0).shape[1] = UINT64_MAX / 24),
    BAD("but its shape", embedding, weight(n, 0).shape[1] = 65),
    BAD("weight 1 (positions) is f32 in layout R16", embedding, weight(n, 1).layout = LINNET_R16),
    BAD("weight 1 (positions) has 12 columns", embedding, weight(n, 1).shape[2] = 12),
    BAD("weight 0 (norm weight) is f32 of rank 2", linear, weight(n, 0).rank = 2),
    BAD("weight 1 (norm bias) is f16", linear, weight(n, 1).dtype = LINNET_F16),
    BAD("weight 3 (b) has 41 elements", linear, weight(n, 3).shape[2] = 41),
    BAD("weight 3 (b) has 40 elements in 156 bytes", linear, weight(n, 3).bytes = 156),
    BAD("weight 0 (weight) has 23 elements", rms_norm, weight(n, 0).shape[2] = 23),
    BAD("weight 0 (weight) is f32 of rank 1, layout R16", rms_norm, weight(n, 0).layout = LINNET_R16),
    BAD("weight 1 (bias) is f32 of rank 1", layer_norm, weight(n, 1).shape[1] = 3),
    BAD("weight 4 (gate) has 49 rows, and must have 50", feed_forward, weight(n, 4).shape[1] = 49),
    BAD("weight 6 (down) has 51 columns, and must have 50", feed_forward, weight(n, 6).shape[2] = 51),
    BAD("weight 0 (inverse frequencies) has 5 elements", rope_table, weight(n, 0).shape[2] = 5),
    BAD("weight 1 (norm bias) is given, but an RMS norm has none", linear, attr(n, "norm").integer = 1),
    BAD("weight 0 (norm weight) is given, but norm is 0", feed_forward, attr(n, "norm").integer = 0),
    // Attributes.
    BAD("unknown attribute 'sliding'", attention, n.integer("sliding", 1)),
    BAD("unknown attribute 'eps'", rms_norm, n.real("eps", 1)),
    BAD("unknown attribute 'scale'", add, n.real("scale", 1)),
    BAD("attribute 'heads' is given twice", attention, n.integer("heads", 4)),
    BAD("attribute 'epsilon' is missing", rms_norm, n.attrs.clear()),
    BAD("attribute 'epsilon' is missing", linear, n.attrs.erase(n.attrs.begin() + 1)),
    BAD("attribute 'scale' is missing", attention, n.attrs.erase(n.attrs.begin() + 3)),
    BAD("attribute 'kind' is missing", activation, n.attrs.clear()),
    BAD("attribute 'heads' is a real, and must be an integer", rope, attr(n, "heads").kind = LINNET_REAL),
    BAD("attribute 'epsilon' is an integer, and must be a real", rms_norm, attr(n, "epsilon").kind = LINNET_INT),
    BAD("attribute 'scale' is a text, and must be a real", attention, attr(n, "scale").kind = LINNET_TEXT),
    BAD("attribute 'epsilon' is -1e-05", rms_norm, attr(n, "epsilon").real = -1e-5),
    BAD("attribute 'epsilon' is nan", layer_norm, attr(n, "epsilon").real = NAN),
    BAD("attribute 'scale' is inf", attention, attr(n, "scale").real = INFINITY),
    BAD("attribute 'scale' is 1e+39", softmax, attr(n, "scale").real = 1e39),
    BAD("attribute 'softcap' is -1", attention, attr(n, "softcap").real = -1),
    BAD("attribute 'norm' is 3, and must be from 0 to 2", linear, attr(n, "norm").integer = 3),
    BAD("attribute 'activation' is 5, and must be from 0 to 4", linear, attr(n, "activation").integer = 5),
    BAD("attribute 'activation' is -1", feed_forward, attr(n, "activation").integer = -1),
    BAD("attribute 'kind' is 4294967296", activation, attr(n, "kind").integer = int64_t{1} << 32),
    BAD("attribute 'heads' is 0", attention, attr(n, "heads").integer = 0),
    BAD("attribute 'heads' is -4", softmax, attr(n, "heads").integer = -4),
    BAD("attribute 'head_dim' is 9223372036854775807", attention, attr(n, "head_dim").integer = INT64_MAX),
    BAD("4 heads cannot share 3 kv heads", attention, attr(n, "kv_heads").integer = 3),
    BAD("4 heads cannot share 3 kv heads", matmul, attr(n, "kv_heads").integer = 3),
    BAD("rotary_dim is 7, and must be even", rope, (attr(n, "rotary_dim").integer = 7, in(n, 1).width = 7)),
    BAD("attribute 'rotary_dim' is 14, and must be from 2 to 12", rope, attr(n, "rotary_dim").integer = 14),
    BAD("attribute 'rotary_dim' is 0, and must be from 2", attention, attr(n, "rotary_dim").integer = 0),
    BAD("attribute 'rotary_dim' is 12, and must be from 0 to 0", attention, n.inputs.pop_back()),
    BAD("attribute 'style' is 2", attention, attr(n, "style").integer = 2),
    BAD("attribute 'transpose_b' is 2", matmul, attr(n, "transpose_b").integer = 2),
    BAD("attribute 'window' is -1", softmax, attr(n, "window").integer = -1),
    BAD("attribute 'tensor' is -1", state_append, attr(n, "tensor").integer = -1),
    // States.
    BAD("the state has 2 tensors, and needs tensor 2", state_view, attr(n, "tensor").integer = 2),
    BAD("state tensor 0 (of the attribute) is 24 wide, and must be 12", state_append, in(n, 0).width = 12),
    BAD("state tensor 0 (K) is 16 wide, and must be 24", attention, static const State other(16, LINNET_F16, 1); n.states[0] = &other.state),
    BAD("state tensor 0 (K) is bf16; this build keeps f32, f16 and i8", attention, static const State other(24, LINNET_BF16, 1); n.states[0] = &other.state),
    BAD("K and V must both be i8", attention, static State other(24, LINNET_I8, 1, 0, 2); other.tensors[1].dtype = LINNET_F16; n.states[0] = &other.state),
    BAD("state tensor 0 (K) has 3 heads, and must have 2", attention, static const State other(24, LINNET_F16, 1, 0, 3); n.states[0] = &other.state),
    BAD("must be of kind append or window", attention, static State other(24, LINNET_F16, 1); other.state.kind = LINNET_FIXED;
        n.states[0] = &other.state),
    BAD("has a window of 0 positions", attention, static State other(24, LINNET_F16, 1, 7); other.state.window = 0; n.states[0] = &other.state),
    BAD("the state has 1 tensors", attention, static State other(24, LINNET_F16, 1, 0, 2); other.state.tensor_count = 1; n.states[0] = &other.state),
    BAD("K must be kept in panels", attention, static State other(24, LINNET_F16, 1, 0, 2); other.tensors[0].layout = LINNET_STATE_ROWS;
        n.states[0] = &other.state),
    BAD("V must be kept in rows", attention, static State other(24, LINNET_F16, 1, 0, 2); other.tensors[1].layout = LINNET_STATE_PANELS;
        n.states[0] = &other.state),
    BAD("has an unknown layout", state_append, static State other(24, LINNET_F16, 1, 0, 2); other.tensors[0].layout = 5; n.states[0] = &other.state),
};

}  // namespace

BOOST_AUTO_TEST_SUITE(planning)

BOOST_DATA_TEST_CASE(good_nodes_plan, data::xrange(std::size(kGood)), i) {
  const Node node = kGood[i]();
  const Planned p = plan(node);
  BOOST_TEST(p.code == LINNET_OK, node.op << ": " << p.error.message);
  for (size_t o = 0; o < node.outputs.size(); ++o)
    BOOST_TEST(p.plan.output_widths[o] == (node.outputs[o]->width_s ? UINT32_MAX : node.outputs[o]->width));
}

BOOST_DATA_TEST_CASE(bad_nodes_do_not, data::make(kBad), bad) {
  Node node = bad.make();
  bad.spoil(node);
  const Planned p = plan(node);
  BOOST_TEST(p.code != LINNET_OK);
  BOOST_TEST(p.code == p.error.code);
  const std::string message = p.error.message;
  BOOST_TEST(message.find(bad.what) != std::string::npos, "the message is: " << message);
  // init without a caller for its error must refuse too, not crash.
  const linnet_node built = node.build();
  linnet_op_plan again = {};
  again.node = &built, again.max_rows = 1;
  BOOST_TEST(builtin(node.op).plan(nullptr, &again) == p.code);
}

// What a later version can read is told apart from what nobody can.
BOOST_AUTO_TEST_CASE(formats_of_other_builds_are_unsupported) {
  Node node = linear();
  weight(node, 2).dtype = LINNET_I4;
  BOOST_TEST(plan(node).code == LINNET_UNSUPPORTED);
  node = linear();
  weight(node, 2).shape[1] = 41;
  BOOST_TEST(plan(node).code == LINNET_BAD_FILE);
}

BOOST_AUTO_TEST_CASE(bytes_are_what_evals_use) {
  BOOST_TEST(plan(linear(), 10).plan.step_bytes == 10u * 32 * 4);
  BOOST_TEST(plan(two_linears(), 10).plan.step_bytes == 0u);
  BOOST_TEST(plan(feed_forward(), 10).plan.step_bytes == 10u * (32 + 64) * 4);
  BOOST_TEST(plan(attention(), 10).plan.thread_bytes == (64u * (16 + 2 * 32) + 64 * 16) * 4);
  BOOST_TEST(plan(embedding(), 10).plan.thread_bytes == 32u * 4);
}

// Scratch that does not fit 64 bits is refused, not wrapped.
BOOST_AUTO_TEST_CASE(overflowing_scratch) {
  Node node = feed_forward();
  const uint64_t huge = uint64_t{1} << 58;
  weight(node, 2).shape[1] = huge, weight(node, 2).dtype = LINNET_F16, weight(node, 2).bytes = huge * 24 * 2;
  weight(node, 4).shape[1] = huge, weight(node, 4).dtype = LINNET_F16, weight(node, 4).bytes = huge * 24 * 2;
  weight(node, 6).shape[2] = huge, weight(node, 6).dtype = LINNET_F16, weight(node, 6).bytes = huge * 32 * 2;
  BOOST_TEST(plan(node, UINT32_MAX).code != LINNET_OK);
}

BOOST_AUTO_TEST_SUITE_END()
