// The ops that work row by row: norms, embedding, rope, select_rows, activation, add, mul.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <numeric>

#include "unit/ops/harness.h"
#include "unit/ops/reference.h"

using namespace linnet;
using namespace linnet::test;
namespace data = boost::unit_test::data;

namespace {

// Runs a node with one output on every instruction set and thread count, checks that all give the same bits, and returns them.
std::vector<float> run_all(const Node& node, const std::vector<linnet_rows>& inputs, uint32_t out_rows, uint32_t width,
                           const std::vector<linnet_segment>& segments) {
  std::vector<float> first;
  for (const char* isa : isas()) {
    for (const uint32_t threads : {1u, 2u, 3u, 8u}) {
      const Rows out(out_rows, width);
      Run run;
      run.isa = isa, run.threads = threads, run.inputs = inputs, run.outputs = {out.rows}, run.segments = segments;
      BOOST_REQUIRE_MESSAGE(run(node) == LINNET_OK, run.message);
      const std::vector<float> y = out.values();
      if (first.empty()) first = y;
      BOOST_TEST(first_difference(first.data(), y.data(), y.size()) == y.size(), isa << ", " << threads << " threads differ");
    }
  }
  return first;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(row_ops)

BOOST_DATA_TEST_CASE(norms, data::make({1, 5, 16, 33, 288, 1000}) * data::make({false, true}) * data::make({false, true}), width, layer, affine) {
  const uint32_t n = static_cast<uint32_t>(width), rows = 20;
  const auto weight = affine ? vector(n, 1) : nullptr, bias = affine && layer ? vector(n, 2) : nullptr;
  Node node(layer ? "layer_norm" : "rms_norm");
  node.in(n).out(n).real("epsilon", 1e-5);
  if (weight) node.weight(weight);
  if (bias) node.weight(bias);
  std::vector<float> x = random_floats(rows * n, 3);
  if (layer) for (float& v : x) v += 3.0f;  // a mean that is not near 0
  const Rows in(rows, n, x);
  const std::vector<float> y = run_all(node, {in.rows}, rows, n, {segment(rows)});
  BOOST_TEST(largest_difference(y, reference::norm(doubles(x), n, layer, 1e-5, weight.get(), bias.get())) < 1e-5);
}

BOOST_DATA_TEST_CASE(activations, data::make({0, 1, 2, 3, 4}), kind) {
  const uint32_t n = 4001;
  std::vector<float> x(n);
  for (uint32_t i = 0; i < n; ++i) x[i] = (static_cast<float>(i) - 2000.0f) / 160.0f;
  const Rows in(1, n, x);
  const std::vector<float> y = run_all(Node("activation").in(n).out(n).integer("kind", kind), {in.rows}, 1, n, {segment(1)});
  double worst = 0;
  for (uint32_t i = 0; i < n; ++i)
    worst = std::max(worst, std::fabs(y[i] - reference::activation(kind, x[i])) / std::max(1.0, std::fabs(static_cast<double>(x[i]))));
  BOOST_TEST(worst < 3e-7);
}

BOOST_AUTO_TEST_CASE(sums_and_products) {
  const uint32_t n = 1003, rows = 30;
  const std::vector<float> a = random_floats(rows * n, 1), b = random_floats(rows * n, 2);
  const Rows left(rows, n, a), right(rows, n, b);
  std::vector<float> sum(a.size()), product(a.size());
  for (size_t i = 0; i < a.size(); ++i) sum[i] = a[i] + b[i], product[i] = a[i] * b[i];
  BOOST_TEST((run_all(Node("add").in(n).in(n).out(n), {left.rows, right.rows}, rows, n, {segment(rows)}) == sum));
  BOOST_TEST((run_all(Node("mul").in(n).in(n).out(n), {left.rows, right.rows}, rows, n, {segment(rows)}) == product));
}

BOOST_DATA_TEST_CASE(embedding, data::make({0, 1, 2}) * data::make({0, 1}) * data::make({false, true}), dtype, layout, learned) {
  const uint32_t width = 37, vocabulary = 50, rows = 9;
  const auto table = matrix(static_cast<uint8_t>(dtype), vocabulary, width, 1, static_cast<uint8_t>(layout));
  const auto positions = learned ? matrix(static_cast<uint8_t>(dtype), 30, width, 2, LINNET_PLAIN) : nullptr;
  Node node("embedding");
  node.in(1, 0, LINNET_STEP_ROWS, LINNET_I32).out(width).weight(table).real("scale", 1.5);
  if (learned) node.weight(positions);
  Aligned<int32_t> ids(rows * 16);
  const linnet_rows tokens = {ids.data(), rows, 1, 16};
  const int32_t numbers[rows] = {0, 49, 7, 7, 31, 16, 15, 1, 2};
  for (uint32_t t = 0; t < rows; ++t) ids[t * 16] = numbers[t];
  // Two sessions: rows 0..3 at positions 5.., rows 4..8 at positions 25..
  std::vector<linnet_segment> segments = {segment(4, 5), segment(5, 25, nullptr, 4)};
  const std::vector<float> y = run_all(node, {tokens}, rows, width, segments);
  size_t bad = 0;
  for (uint32_t t = 0; t < rows; ++t) {
    for (uint32_t i = 0; i < width; ++i) {
      float expected = table->values[static_cast<size_t>(numbers[t]) * width + i] * 1.5f;
      if (learned) expected += positions->values[(t < 4 ? 5 + t : 25 + t - 4) * width + i];
      bad += !same_bits(y[t * width + i], expected);
    }
  }
  BOOST_TEST(bad == 0u);
  // What the table does not hold is an error that says so.
  Rows out(rows, width);
  Run run;
  run.inputs = {tokens}, run.outputs = {out.rows}, run.segments = segments;
  for (const int32_t id : {-1, 50, INT32_MAX, INT32_MIN}) {
    ids[3 * 16] = id;
    BOOST_TEST(run(node) == LINNET_INVALID_ARGUMENT);
    BOOST_TEST(run.message.find(std::to_string(id)) != std::string::npos);
  }
  ids[3 * 16] = 0;
  run.segments[1].position = 26;
  BOOST_TEST(run(node) == (learned ? LINNET_CONTEXT_FULL : LINNET_OK));
}

BOOST_AUTO_TEST_CASE(rope_table_and_rope) {
  for (const uint32_t head_dim : {8u, 10u, 64u}) {
    for (const uint32_t rotary : {head_dim, head_dim / 2 / 2 * 2}) {
      for (const bool pairs : {false, true}) {
        const uint32_t heads = 3, rows = 7, width = heads * head_dim;
        std::vector<float> frequencies(rotary / 2);
        for (uint32_t i = 0; i < rotary / 2; ++i) frequencies[i] = std::pow(10000.0f, -2.0f * static_cast<float>(i) / static_cast<float>(rotary));
        const auto inverse = std::make_shared<Weight>("inverse frequencies", LINNET_F32, LINNET_PLAIN, 1, 1, rotary / 2, frequencies);
        const std::vector<linnet_segment> segments = {segment(3, 0), segment(4, 100000, nullptr, 3)};
        const std::vector<float> table = run_all(Node("rope_table").out(rotary).weight(inverse), {}, rows, rotary, segments);
        const Rows table_rows(rows, rotary, table);
        const std::vector<float> x = random_floats(rows * width, 4);
        const Rows in(rows, width, x);
        Node node("rope");
        node.in(width)
            .in(rotary)
            .out(width)
            .integer("heads", heads)
            .integer("head_dim", head_dim)
            .integer("rotary_dim", rotary)
            .integer("style", pairs);
        const std::vector<float> y = run_all(node, {in.rows, table_rows.rows}, rows, width, segments);
        std::vector<double> exact = doubles(x);
        for (uint32_t t = 0; t < rows; ++t) {
          for (uint32_t h = 0; h < heads; ++h)
            reference::rope(exact.data() + t * width + h * head_dim, frequencies, t < 3 ? t : 100000 + t - 3, pairs);
        }
        BOOST_TEST(largest_difference(y, exact) < 2e-7);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(rope_table_factor) {
  const auto inverse = vector(5, 1);
  const std::vector<float> plain = run_all(Node("rope_table").out(10).weight(inverse), {}, 2, 10, {segment(2, 7)});
  const std::vector<float> scaled = run_all(Node("rope_table").out(10).weight(inverse).real("factor", 1.25), {}, 2, 10, {segment(2, 7)});
  for (size_t i = 0; i < plain.size(); ++i) BOOST_TEST(scaled[i] == plain[i] * 1.25f);
}

BOOST_AUTO_TEST_CASE(select_rows) {
  const uint32_t width = 19;
  const std::vector<float> x = random_floats(10 * width, 1);
  const Rows in(10, width, x);
  // Three sessions of 4, 1 and 5 rows that want 1, 0 and 3 rows.
  const std::vector<linnet_segment> segments = {{0, 0, 4, 0, 1, 0, nullptr}, {1, 4, 1, 1, 0, 9, nullptr}, {2, 5, 5, 1, 3, 2, nullptr}};
  Node node("select_rows");
  node.in(width).out(width, 0, LINNET_WANTED_ROWS);
  const std::vector<float> y = run_all(node, {in.rows}, 4, width, segments);
  const uint32_t wanted[] = {3, 7, 8, 9};
  for (uint32_t i = 0; i < 4; ++i) BOOST_TEST(first_difference(y.data() + i * width, x.data() + wanted[i] * width, width) == width);
}

// An op that says so may write its output over its first input.
BOOST_AUTO_TEST_CASE(in_place) {
  const uint32_t n = 51, rows = 3;
  const std::vector<float> x = random_floats(rows * n, 1), other = random_floats(rows * n, 2);
  const auto weight = vector(n, 3);
  std::vector<Node> nodes;
  nodes.push_back(Node("rms_norm").in(n).out(n).weight(weight).real("epsilon", 1e-5));
  nodes.push_back(Node("layer_norm").in(n).out(n).weight(weight).weight(weight).real("epsilon", 1e-5));
  nodes.push_back(Node("activation").in(n).out(n).integer("kind", ops::kSilu));
  nodes.push_back(Node("add").in(n).in(n).out(n));
  nodes.push_back(Node("mul").in(n).in(n).out(n));
  nodes.push_back(Node("rope").in(n).in(12).out(n).integer("heads", 3).integer("head_dim", 17).integer("rotary_dim", 12).integer("style", 0));
  nodes.push_back(Node("rope").in(n).in(12).out(n).integer("heads", 3).integer("head_dim", 17).integer("rotary_dim", 12).integer("style", 1));
  for (const Node& node : nodes) {
    BOOST_TEST(plan(node).plan.in_place == 1u, node.op);
    const uint32_t second = node.inputs.size() > 1 ? node.inputs[1]->width : n;
    const Rows in(rows, n, x), also(rows, second, {other.begin(), other.begin() + rows * second}), out(rows, n);
    Run run;
    run.inputs = {in.rows, also.rows}, run.outputs = {out.rows}, run.segments = {segment(rows)};
    BOOST_REQUIRE_MESSAGE(run(node) == LINNET_OK, run.message);
    run.outputs = {in.rows};
    BOOST_REQUIRE(run(node) == LINNET_OK);
    BOOST_TEST((in.values() == out.values()), node.op);
  }
}

BOOST_AUTO_TEST_SUITE_END()
