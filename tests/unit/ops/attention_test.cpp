// attention over paged states: against softmax attention in double; and the same bits for any threads, chunks, batch and page order.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "unit/ops/harness.h"
#include "unit/ops/reference.h"

using namespace linnet;
using namespace linnet::test;
namespace data = boost::unit_test::data;

namespace {

struct Case {
  const char* name;
  uint32_t heads, kv_heads, head_dim, rotary;
  bool pairs;
  uint32_t window;
  double softcap;
  uint8_t dtype;
  uint32_t rows;
};
std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }
const Case kCases[] = {
    {"GPT-2's: no rope", 4, 4, 16, 0, false, 0, 0, LINNET_F32, 70},
    {"one position", 2, 1, 8, 8, false, 0, 0, LINNET_F32, 1},
    {"6 heads over 2, head_dim 10", 6, 2, 10, 10, false, 0, 0, LINNET_F32, 130},
    {"head_dim 12, f16 state", 4, 1, 12, 12, false, 0, 0, LINNET_F16, 100},
    {"head_dim 64, past a segment", 4, 2, 64, 64, false, 0, 0, LINNET_F16, 330},
    {"head_dim 20, pairs, part rotated", 3, 3, 20, 8, true, 0, 0, LINNET_F32, 66},
    {"head_dim 80, softcap", 2, 2, 80, 80, false, 0, 3.0, LINNET_F32, 65},
    {"a window of 1", 2, 2, 16, 16, false, 1, 0, LINNET_F32, 70},
    {"a window of 50 over pages", 4, 2, 16, 16, false, 50, 0, LINNET_F16, 200},
    {"3 kv heads over segments", 9, 3, 16, 16, false, 0, 0, LINNET_F16, 600},
    {"17 heads a kv head", 34, 2, 12, 12, false, 0, 0, LINNET_F32, 300},
    {"a window of 300 over segments", 2, 1, 10, 0, false, 300, 0, LINNET_F32, 600},
    {"i8, head_dim 64", 4, 2, 64, 0, false, 0, 0, LINNET_I8, 150},
    {"i8, 12 elements of a group", 6, 2, 12, 0, false, 0, 3.0, LINNET_I8, 70},
    {"i8, a group and 8 elements, over segments", 9, 3, 40, 0, false, 0, 0, LINNET_I8, 600},
    {"i8, 80 elements, a window", 34, 2, 80, 0, false, 50, 0, LINNET_I8, 130},
};

std::vector<float> frequencies(uint32_t rotary) {
  std::vector<float> f(rotary / 2);
  for (size_t i = 0; i < f.size(); ++i) f[i] = static_cast<float>(std::pow(100.0, -2.0 * static_cast<double>(i) / rotary));
  return f;
}

struct Problem {
  Case c;
  std::vector<float> q, k, v, table;
  uint32_t width, kv_width, pages;
  explicit Problem(const Case& chosen)
      : c(chosen),
        q(random_floats(size_t{c.rows} * c.heads * c.head_dim, 1, 2.0f)),
        k(random_floats(size_t{c.rows} * c.kv_heads * c.head_dim, 2, 2.0f)),
        v(random_floats(k.size(), 3)),
        width(c.heads * c.head_dim),
        kv_width(c.kv_heads * c.head_dim),
        pages((c.rows + 63) / 64) {
    for (uint32_t t = 0; t < c.rows && c.rotary; ++t) {
      for (const bool sine : {false, true}) {
        for (const float f : frequencies(c.rotary)) {
          const double angle = static_cast<float>(t) * f;
          table.push_back(static_cast<float>(sine ? std::sin(angle) : std::cos(angle)));
        }
      }
    }
  }
  double scale() const { return 1 / std::sqrt(static_cast<double>(c.head_dim)); }
  Node node(const State& state) const {
    Node n("attention");
    n.in(width).in(kv_width).in(kv_width).out(width).state(state);
    n.integer("heads", c.heads).integer("kv_heads", c.kv_heads).integer("head_dim", c.head_dim).real("scale", scale()).real("softcap", c.softcap);
    if (c.rotary) n.in(c.rotary).integer("rotary_dim", c.rotary).integer("style", c.pairs);
    return n;
  }
  // Rows [begin, end) of an array of `n` a row.
  static std::vector<float> part(const std::vector<float>& all, uint32_t begin, uint32_t end, uint32_t n) {
    return {all.begin() + size_t{begin} * n, all.begin() + size_t{end} * n};
  }
};

// All rows in steps of `chunk`, through pages in the given order; returns the outputs of all rows.
std::vector<float> run_chunks(const Problem& p, const char* isa, uint32_t threads, uint32_t chunk, bool reversed_pages) {
  const State state(p.kv_width, p.c.dtype, p.pages + 2, p.c.window, static_cast<uint16_t>(p.c.kv_heads));
  std::vector<uint32_t> order(p.pages);
  for (uint32_t i = 0; i < p.pages; ++i) order[i] = reversed_pages ? p.pages + 1 - i : i + 1;
  const Node node = p.node(state);
  std::vector<float> all;
  for (uint32_t begin = 0; begin < p.c.rows; begin += chunk) {
    const uint32_t end = std::min(begin + chunk, p.c.rows), rows = end - begin;
    const Rows q(rows, p.width, p.part(p.q, begin, end, p.width)), k(rows, p.kv_width, p.part(p.k, begin, end, p.kv_width));
    const Rows v(rows, p.kv_width, p.part(p.v, begin, end, p.kv_width)), out(rows, p.width);
    const Rows table(rows, p.c.rotary, p.c.rotary ? p.part(p.table, begin, end, p.c.rotary) : std::vector<float>{});
    // Pages that a window has left behind are gone.
    for (uint32_t i = 0; p.c.window && i < p.pages; ++i) if ((i + 1) * 64 + p.c.window <= begin + 1) order[i] = LINNET_NO_PAGE;
    Run run;
    run.isa = isa, run.threads = threads;
    run.inputs = {q.rows, k.rows, v.rows, table.rows}, run.outputs = {out.rows}, run.states = {state.memory};
    run.segments = {segment(rows, begin, order.data())};
    BOOST_REQUIRE_MESSAGE(run(node) == LINNET_OK, run.message);
    const std::vector<float> y = out.values();
    all.insert(all.end(), y.begin(), y.end());
  }
  return all;
}

// As i8 keeps vectors of n elements: a scale a group of 32, and codes. Written from the page (DESIGN 6, runtime/state_page.h).
void keep_codes(std::vector<double>& all, size_t n, bool f16_scale) {
  for (size_t begin = 0; begin < all.size(); begin += n) {
    for (size_t g = begin; g < begin + n; g += 32) {
      const size_t end = std::min(g + 32, begin + n);
      float largest = 0;
      for (size_t i = g; i < end; ++i) largest = std::max(largest, std::fabs(static_cast<float>(all[i])));
      double scale = largest / 127.0f;
      uint8_t stored[4];
      if (f16_scale) scale = Weight::put(LINNET_F16, static_cast<float>(scale), stored);
      for (size_t i = g; i < end; ++i) all[i] = largest > 0 ? scale * std::nearbyint(static_cast<float>(all[i]) * (127.0f / largest)) : 0.0;
    }
  }
}

// Of an i8 cache `attention` rounds the queries too; its body, in primitives, does not.
std::vector<double> exact(const Problem& p, bool codes_of_queries = true) {
  const Case& c = p.c;
  // Keys are rotated in float, then rounded; the difference to double is within the tolerance of the comparison.
  std::vector<double> keys = doubles(p.k), values = doubles(p.v), q = doubles(p.q), y;
  const std::vector<float> f = frequencies(c.rotary);
  for (uint32_t t = 0; t < c.rows && c.rotary; ++t) {
    for (uint32_t h = 0; h < c.kv_heads; ++h) reference::rope(keys.data() + t * p.kv_width + h * c.head_dim, f, t, c.pairs);
    for (uint32_t h = 0; h < c.heads; ++h) reference::rope(q.data() + t * p.width + h * c.head_dim, f, t, c.pairs);
  }
  for (std::vector<double>* kept : {&keys, &values}) {
    for (double& x : *kept) {
      if (c.dtype != LINNET_F16) continue;
      uint8_t stored[4];
      x = Weight::put(LINNET_F16, static_cast<float>(x), stored);
    }
  }
  if (c.dtype == LINNET_I8) {
    keep_codes(keys, c.head_dim, true), keep_codes(values, c.head_dim, false);
    if (codes_of_queries) keep_codes(q, c.head_dim, false);
  }
  for (uint32_t t = 0; t < c.rows; ++t) {
    const uint64_t first = c.window && t + 1 > c.window ? t + 1 - c.window : 0;
    for (uint32_t h = 0; h < c.heads; ++h) {
      const size_t kv = h / (c.heads / c.kv_heads) * c.head_dim;
      const std::vector<double> head = reference::attend(
          q.data() + t * p.width + h * c.head_dim, c.head_dim, first, t + 1, p.scale(), c.softcap,
          [&](uint64_t j) { return keys.data() + j * p.kv_width + kv; }, [&](uint64_t j) { return values.data() + j * p.kv_width + kv; });
      y.insert(y.end(), head.begin(), head.end());
    }
  }
  return y;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(attention)

BOOST_DATA_TEST_CASE(equals_double, data::make(kCases), c) {
  const Problem p(c);
  // A key that rounds the other way after rotation in float moves a score by up to an f16 step.
  BOOST_TEST(largest_difference(run_chunks(p, isas().back(), 2, c.rows, false), exact(p)) < (c.dtype == LINNET_F16 ? 3e-4 : 2e-6));
}

BOOST_DATA_TEST_CASE(same_bits, data::make(kCases), c) {
  const Problem p(c);
  const std::vector<float> expected = run_chunks(p, "scalar", 1, c.rows, false);
  const auto same = [&](const char* isa, uint32_t threads, uint32_t chunk, bool reversed) {
    const std::vector<float> y = run_chunks(p, isa, threads, chunk, reversed);
    BOOST_TEST(first_difference(expected.data(), y.data(), y.size()) == y.size(),
               isa << ", " << threads << " threads, chunks of " << chunk << " differ");
  };
  for (const uint32_t threads : {1u, 2u, 3u, 8u}) same(isas().back(), threads, c.rows, false);
  for (const uint32_t chunk : {1u, 7u, 64u}) same(isas().back(), 1, chunk, true);
  for (const uint32_t threads : {2u, 3u, 5u}) same(isas().back(), threads, 1, true);  // some share the segments of one head
  same("scalar", 2, 64, true);
}

// Two sessions in one step, their pages interleaved in one pool, each at its own position: as if alone.
BOOST_AUTO_TEST_CASE(a_batch_changes_nothing) {
  const Problem p({"batch", 4, 2, 12, 12, false, 0, 0, LINNET_F16, 100});
  const std::vector<float> alone = run_chunks(p, "scalar", 1, 100, false);
  const State state(p.kv_width, LINNET_F16, 4, 0, 2);
  const uint32_t a_pages[] = {3, 1}, b_pages[] = {0, 2};
  const Node node = p.node(state);
  const auto step = [&](std::vector<std::pair<uint32_t, uint32_t>> parts, const std::vector<const uint32_t*>& pages, std::vector<float>& y) {
    std::vector<float> q, k, v, table;
    std::vector<linnet_segment> segments;
    uint32_t rows = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
      const auto [begin, end] = parts[i];
      const auto append = [&, b = begin, e = end](std::vector<float>& to, const std::vector<float>& from, uint32_t n) {
        to.insert(to.end(), from.begin() + b * n, from.begin() + e * n);
      };
      append(q, p.q, p.width), append(k, p.k, p.kv_width), append(v, p.v, p.kv_width), append(table, p.table, p.c.rotary);
      segments.push_back(segment(end - begin, begin, pages[i], rows));
      rows += end - begin;
    }
    const Rows q_rows(rows, p.width, q), k_rows(rows, p.kv_width, k), v_rows(rows, p.kv_width, v), table_rows(rows, p.c.rotary, table),
        out(rows, p.width);
    Run run;
    run.isa = isas().back(), run.threads = 3;
    run.inputs = {q_rows.rows, k_rows.rows, v_rows.rows, table_rows.rows}, run.outputs = {out.rows}, run.states = {state.memory},
    run.segments = segments;
    BOOST_REQUIRE_MESSAGE(run(node) == LINNET_OK, run.message);
    y = out.values();
  };
  std::vector<float> y;
  step({{0, 60}, {0, 10}}, {a_pages, b_pages}, y);
  BOOST_TEST(first_difference(y.data(), alone.data(), 60 * p.width) == 60 * p.width);
  BOOST_TEST(first_difference(y.data() + 60 * p.width, alone.data(), 10 * p.width) == 10 * p.width);
  step({{10, 100}, {60, 63}}, {b_pages, a_pages}, y);
  BOOST_TEST(first_difference(y.data(), alone.data() + 10 * p.width, 90 * p.width) == 90 * p.width);
  BOOST_TEST(first_difference(y.data() + 90 * p.width, alone.data() + 60 * p.width, 3 * p.width) == 3 * p.width);
}

// A position of an i8 cache: a byte an element, and a scale a group of 32, of 2 bytes for keys and 4 for values.
BOOST_AUTO_TEST_CASE(bytes_of_an_i8_cache) {
  BOOST_TEST(State(128, LINNET_I8, 1, 0, 2).memory.page_bytes == 64u * 2 * (64 + 2 * 2 + 64 + 2 * 4));
  BOOST_TEST(State(128, LINNET_F16, 1, 0, 2).memory.page_bytes == 64u * 2 * (64 * 2 + 64 * 2));
}

// Large keys saturate in an f16 state instead of becoming infinite.
BOOST_AUTO_TEST_CASE(large_keys_stay_finite) {
  Problem p({"large", 1, 1, 16, 0, false, 0, 0, LINNET_F16, 3});
  for (float& x : p.k) x *= 1e6f;
  for (float& x : p.v) x *= 1e6f;
  for (const float y : run_chunks(p, "scalar", 1, 3, false)) BOOST_TEST(std::isfinite(y));
}

// The primitives a body is written in give the same attention, a row at a time, to the accuracy of float.
BOOST_DATA_TEST_CASE(primitives_compose, data::make(kCases), c) {
  if (c.rotary || c.rows > 250) return;  // rope is a node of its own in a body; long cases take too long in its plain loops
  const Problem p(c);
  const std::vector<float> fused = run_chunks(p, "scalar", 1, c.rows, false);
  const State state(p.kv_width, c.dtype, p.pages, c.window, static_cast<uint16_t>(c.kv_heads));
  std::vector<uint32_t> order(p.pages);
  for (uint32_t i = 0; i < p.pages; ++i) order[i] = p.pages - 1 - i;
  const auto append = [&](int64_t t) { return Node("state_append").in(p.kv_width).state(state).integer("tensor", t); };
  const auto view = [&](int64_t t) { return Node("state_view").out(0, p.kv_width).state(state).integer("tensor", t); };
  Node scores("matmul"), softmax("scaled_masked_softmax"), mix("matmul");
  scores.in(p.width).in(0, p.kv_width).out(0, c.heads).integer("heads", c.heads).integer("kv_heads", c.kv_heads).integer("transpose_b", 1);
  softmax.in(0, c.heads).out(0, c.heads).integer("heads", c.heads).real("scale", p.scale()).real("softcap", c.softcap).integer("window", c.window);
  mix.in(0, c.heads).in(0, p.kv_width).out(p.width).integer("heads", c.heads).integer("kv_heads", c.kv_heads).integer("transpose_b", 0);
  std::vector<float> all;
  for (uint32_t t = 0; t < c.rows; ++t) {
    const uint32_t s = t + 1;
    const Rows q(1, p.width, p.part(p.q, t, s, p.width)), k(1, p.kv_width, p.part(p.k, t, s, p.kv_width)),
        v(1, p.kv_width, p.part(p.v, t, s, p.kv_width));
    const Rows keys(1, s * p.kv_width), values(1, s * p.kv_width), raw(1, s * c.heads), weights(1, s * c.heads), out(1, p.width);
    const auto run = [&](const Node& node, std::vector<linnet_rows> inputs, std::vector<linnet_rows> outputs) {
      Run r;
      r.isa = isas()[t % isas().size()];
      r.inputs = std::move(inputs), r.outputs = std::move(outputs), r.states = {state.memory}, r.segments = {segment(1, t, order.data())};
      BOOST_REQUIRE_MESSAGE(r(node) == LINNET_OK, r.message);
    };
    run(append(0), {k.rows}, {});
    run(append(1), {v.rows}, {});
    run(view(0), {}, {keys.rows});
    run(view(1), {}, {values.rows});
    run(scores, {q.rows, keys.rows}, {raw.rows});
    run(softmax, {raw.rows}, {weights.rows});
    run(mix, {weights.rows, values.rows}, {out.rows});
    const std::vector<float> y = out.values();
    all.insert(all.end(), y.begin(), y.end());
  }
  BOOST_TEST(largest_difference(all, c.dtype == LINNET_I8 ? exact(p, false) : doubles(fused)) < 2e-6);
}

// Elementwise ops over values that grow: their width is the row's S, whatever the runtime's view says.
BOOST_AUTO_TEST_CASE(elementwise_over_positions) {
  const uint32_t positions = 21, n = 4 + 3 * positions;
  const std::vector<float> x = random_floats(n, 1);
  const Rows in(1, n, x), out(1, n);
  Run run;
  run.inputs = {in.rows, in.rows}, run.outputs = {out.rows}, run.segments = {segment(1, positions - 1)};
  for (linnet_rows* rows : {&run.inputs[0], &run.inputs[1], &run.outputs[0]}) rows->width = 4;
  BOOST_REQUIRE_MESSAGE(run(Node("add").in(4, 3, LINNET_ONE).in(4, 3, LINNET_ONE).out(4, 3, LINNET_ONE)) == LINNET_OK, run.message);
  for (uint32_t i = 0; i < n; ++i) BOOST_TEST(out.data[i] == x[i] + x[i]);
  run.segments[0].position = 40;
  BOOST_TEST(run(Node("add").in(4, 3, LINNET_ONE).in(4, 3, LINNET_ONE).out(4, 3, LINNET_ONE)) == LINNET_OP_FAILED);
  BOOST_TEST(run.message.find("127 are needed") != std::string::npos, run.message);
}

// In a body, an argument that its node lacks is a value without data.
BOOST_AUTO_TEST_CASE(arguments_without_data) {
  const Rows x(1, 16, random_floats(16, 1)), out(1, 16);
  const linnet_rows none = {nullptr, 1, 16, 16};
  Run run;
  run.outputs = {out.rows}, run.segments = {segment(1)};
  Node linear("linear");
  linear.in(16).in(16).out(16).weight(nullptr).weight(nullptr).weight(matrix(LINNET_F32, 16, 16, 2));
  run.inputs = {x.rows, none};
  BOOST_TEST(run(linear) == LINNET_OK);  // no residual
  run.inputs = {none, x.rows};
  BOOST_TEST(run(linear) == LINNET_BAD_FILE);
  run.inputs = {x.rows, none};
  BOOST_TEST(run(Node("add").in(16).in(16).out(16)) == LINNET_BAD_FILE);
  run.inputs = {x.rows}, run.outputs = {none};
  BOOST_TEST(run(Node("activation").in(16).out(16).integer("kind", 1)) == LINNET_BAD_FILE);
  const State state(16, LINNET_F32, 1);
  const uint32_t pages[] = {0};
  run.inputs = {x.rows, x.rows, x.rows, none}, run.outputs = {out.rows}, run.states = {state.memory}, run.segments = {segment(1, 0, pages)};
  Node attention("attention");
  attention.in(16).in(16).in(16).in(16).out(16).state(state).integer("heads", 1).integer("kv_heads", 1).integer("head_dim", 16).real("scale", 1);
  BOOST_TEST(run(attention.integer("rotary_dim", 16)) == LINNET_BAD_FILE);
}

// Bodies' primitives refuse to run over several rows.
BOOST_AUTO_TEST_CASE(primitives_refuse_many_rows) {
  const State state(8, LINNET_F32, 1, 0, 2);
  const uint32_t pages[] = {0};
  const Rows out(2, 32);
  Run run;
  run.outputs = {out.rows}, run.states = {state.memory}, run.segments = {segment(2, 0, pages)};
  BOOST_TEST(run(Node("state_view").out(0, 8).state(state).integer("tensor", 0)) == LINNET_OP_FAILED);
  BOOST_TEST(run.message.find("a row at a time") != std::string::npos);
  // Nor over more positions than the value has room for.
  const Rows small(1, 16);  // two positions of 8
  run.outputs = {small.rows}, run.segments = {segment(1, 2, pages)};
  BOOST_TEST(run(Node("state_view").out(0, 8).state(state).integer("tensor", 0)) == LINNET_OP_FAILED);
}

BOOST_AUTO_TEST_SUITE_END()
