// Partial selection against a full sort: the same tokens in the same order, and from there the same draws, to the bit.
#include <algorithm>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "runtime/sampling/philox.h"
#include "support.h"

using namespace sampling_test;
using namespace linnet::detail;
namespace data = boost::unit_test::data;

namespace {

std::vector<uint32_t> sorted(const std::vector<float>& logits) {
  std::vector<uint32_t> ids;
  for (uint32_t i = 0; i < logits.size(); ++i) {
    if (logits[i] != -kInf) ids.push_back(i);
  }
  std::stable_sort(ids.begin(), ids.end(), [&](uint32_t a, uint32_t b) { return logits[a] > logits[b]; });
  return ids;
}

// The whole of sampling once more, plainly: everything sorted, everything weighed, cut, and walked through.
linnet_sampled reference(const std::vector<float>& logits, const linnet_sampling& s, uint64_t position, std::vector<uint32_t>* kept) {
  const std::vector<uint32_t> ids = sorted(logits);
  const Scale scale{logits[ids[0]], s.temperature};
  std::vector<Candidate> list;
  for (const uint32_t id : ids) list.push_back(candidate(0, id));
  kSoftmaxPortable.weigh(list.data(), static_cast<uint32_t>(list.size()), logits.data(), scale);

  const bool top_k = s.top_k != 0 && s.top_k < logits.size();
  size_t n = top_k ? std::min<size_t>(s.top_k, list.size()) : list.size();
  double total = 0;
  if (top_k) {
    for (size_t i = 0; i < n; ++i) total += static_cast<double>(weight_of(list[i]));
  } else {
    std::vector<float> by_id(logits.size());
    for (const Candidate c : list) by_id[token_of(c)] = weight_of(c);
    double lanes[16] = {};
    for (size_t i = 0; i < by_id.size(); ++i) lanes[i % 16] += static_cast<double>(by_id[i]);
    for (int half = 8; half > 0; half /= 2) {
      for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
    }
    total = lanes[0];
  }
  const bool cuts = s.top_p < 1 || s.min_p > 0;
  if (cuts) {
    const double enough = static_cast<double>(s.top_p) * total;
    double sum = 0;
    size_t m = 0;
    while (m < n && (m == 0 || ((s.top_p == 1 || sum < enough) && weight_of(list[m]) >= s.min_p))) sum += static_cast<double>(weight_of(list[m++]));
    n = m;
    total = sum;
  }
  for (size_t i = 0; i < n; ++i) kept->push_back(token_of(list[i]));
  const PhiloxCounter words = philox({static_cast<uint32_t>(position), 0, 0, 0}, {static_cast<uint32_t>(s.seed), 0});
  const double target = static_cast<double>((uint64_t{words[1]} << 32 | words[0]) >> 11) / 9007199254740992.0 * total;
  size_t at = 0;
  for (double sum = static_cast<double>(weight_of(list[0])); sum <= target && at + 1 < n && weight_of(list[at + 1]) > 0;) {
    sum += static_cast<double>(weight_of(list[++at]));
  }
  return {static_cast<int32_t>(token_of(list[at])), 0};
}

struct Shape { const char* name; uint32_t vocabulary; double spread; uint32_t steps; double banned; };
std::ostream& operator<<(std::ostream& out, const Shape& s) { return out << s.name; }
const Shape kShapes[] = {
    {"1 token", 1, 1, 0, 0},
    {"2 tokens", 2, 1, 0, 0},
    {"63 tokens", 63, 2, 0, 0},
    {"64 tokens", 64, 2, 0, 0.1},
    {"65 tokens", 65, 2, 0, 0},
    {"512 tokens", 512, 3, 0, 0},
    {"5000 tokens", 5000, 3, 0, 0.5},
    {"5000 tokens, nearly all banned", 5000, 3, 0, 0.99},
    {"5000 equal tokens", 5000, 0, 0, 0},
    {"5000 tokens of 7 values", 5000, 3, 7, 0},
    {"5000 flat tokens", 5000, 0.05, 0, 0.2},
    {"152k tokens", 151936, 3, 0, 0},
    {"152k tokens of 40 values", 151936, 3, 40, 0.1},
    {"152k flat tokens", 151936, 0.1, 0, 0},
};

std::vector<float> make(const Shape& shape) {
  Random random(shape.vocabulary + shape.steps);
  std::vector<float> logits = random.logits(shape.vocabulary, shape.spread);
  for (float& x : logits) {
    if (shape.steps) x = static_cast<float>(static_cast<int32_t>(x * static_cast<float>(shape.steps) / 18));
    if (random.unit() < shape.banned) x = -kInf;
  }
  logits[shape.vocabulary / 2] = 1;
  return logits;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(ranking)

BOOST_DATA_TEST_CASE(ranks_are_those_of_a_sort, data::make(kShapes), shape) {
  const std::vector<float> logits = make(shape);
  const std::vector<uint32_t> expected = sorted(logits);
  std::vector<char> bytes(linnet_sampler_scratch_bytes(shape.vocabulary));
  const Scratch scratch = cut_scratch(bytes.data(), shape.vocabulary);
  const Scan scanned = scan(logits.data(), shape.vocabulary, scratch);
  BOOST_TEST(scanned.finite);
  BOOST_TEST(scanned.token == expected[0]);
  BOOST_TEST(from_order_key(scanned.highest) == logits[expected[0]]);
  const std::vector<std::vector<uint32_t>> ways = {
      {40}, {1, 2, 3, 4, 5, 100, 101, 1000}, {64, 320, 1344, 5440, 50000, UINT32_MAX}, {UINT32_MAX}, {3000, 2999, 1}};
  for (const std::vector<uint32_t>& steps : ways) {
    Ranking ranking(logits.data(), shape.vocabulary, scratch);
    size_t right = 0;
    for (const uint32_t n : steps) {
      ranking.rank(n);
      BOOST_TEST(ranking.ranked() >= std::min<size_t>(n, expected.size()));
      BOOST_REQUIRE(ranking.ranked() <= expected.size());
      while (right < ranking.ranked() && token_of(ranking.list()[right]) == expected[right]) ++right;
      BOOST_TEST(right == ranking.ranked());
    }
  }
}

BOOST_DATA_TEST_CASE(draws_are_those_of_a_sort, data::make(kShapes), shape) {
  const std::vector<float> logits = make(shape);
  std::vector<linnet_sampling> all;
  for (float temperature : {0.3f, 1.0f, 1.6f}) {
    for (uint32_t top_k : {0u, 40u, 3000u}) {
      for (float top_p : {1.0f, 0.95f, 0.3f}) {
        for (float min_p : {0.0f, 0.02f}) {
          linnet_sampling s = with_temperature(temperature);
          s.top_k = top_k;
          s.top_p = top_p;
          s.min_p = min_p;
          s.seed = 11;
          all.push_back(s);
        }
      }
    }
  }
  const uint64_t positions = shape.vocabulary > 10000 ? 1 : 5;
  for (const linnet_sampling& s : all) {
    for (uint64_t position = 0; position < positions; ++position) {
      std::vector<uint32_t> kept;
      const linnet_sampled expected = reference(logits, s, position, &kept);
      const Outcome out = sample(logits, s, {}, position);
      BOOST_REQUIRE(out.code == LINNET_OK);
      BOOST_TEST(out.sampled.token == expected.token);
      if (position != 0) continue;
      BOOST_TEST((tokens_of(distribution(logits, s)) == kept),
                 "temperature " << s.temperature << ", top_k " << s.top_k << ", top_p " << s.top_p << ", min_p " << s.min_p);
    }
  }
}

// top_k 1 is the argmax, whatever the temperature; a top_k of the vocabulary or more is none.
BOOST_DATA_TEST_CASE(extremes_of_top_k, data::make(kShapes), shape) {
  const std::vector<float> logits = make(shape);
  linnet_sampling s = with_temperature(5);
  s.top_k = 1;
  const Outcome one = sample(logits, s, {}, 3);
  BOOST_TEST(one.sampled.token == sample(logits, defaults()).sampled.token);
  if (shape.vocabulary > 1) BOOST_TEST(one.sampled.log_probability == 0.0f);
  s.top_k = 0;
  const Outcome none = sample(logits, s, {}, 3);
  for (const uint32_t k : {shape.vocabulary, shape.vocabulary + 1, UINT32_MAX}) {
    s.top_k = k;
    const Outcome out = sample(logits, s, {}, 3);
    if (k == 1) continue;  // the vocabulary of one
    BOOST_TEST(out.sampled.token == none.sampled.token);
    BOOST_TEST(out.sampled.log_probability == none.sampled.log_probability);
  }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(softmax_copies)

BOOST_DATA_TEST_CASE(portable_and_best_give_the_same_bits, data::make(kShapes), shape) {
  const std::vector<float> logits = make(shape);
  std::vector<char> bytes(linnet_sampler_scratch_bytes(shape.vocabulary));
  const Scratch scratch = cut_scratch(bytes.data(), shape.vocabulary);
  const Scan scanned = scan(logits.data(), shape.vocabulary, scratch);
  for (float temperature : {1e-4f, 0.03f, 0.7f, 1.0f, 3.0f, 1e30f}) {
    const Scale scale{from_order_key(scanned.highest), temperature};
    const double best = softmax().total(logits.data(), shape.vocabulary, scale, scratch.highest);
    BOOST_TEST(best == kSoftmaxPortable.total(logits.data(), shape.vocabulary, scale, scratch.highest));
    std::vector<Candidate> a(shape.vocabulary), b;
    for (uint32_t i = 0; i < shape.vocabulary; ++i) a[i] = i;
    b = a;
    softmax().weigh(a.data(), shape.vocabulary, logits.data(), scale);
    kSoftmaxPortable.weigh(b.data(), shape.vocabulary, logits.data(), scale);
    BOOST_TEST((a == b));
  }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(order_keys)

BOOST_AUTO_TEST_CASE(keys_are_in_the_order_of_floats) {
  const float ascending[] = {-kInf, -3e38f, -1, -1e-40f, 0, 1e-45f, 1e-40f, 1e-38f, 0.5f, 1, 3e38f, kInf};
  for (size_t i = 0; i + 1 < std::size(ascending); ++i) {
    BOOST_TEST(order_key(ascending[i]) < order_key(ascending[i + 1]));
    BOOST_TEST(candidate(order_key(ascending[i]), 0) > candidate(order_key(ascending[i + 1]), 0xFFFFFFFF));
  }
  for (const float x : ascending) BOOST_TEST(from_order_key(order_key(x)) == x);
  BOOST_TEST(order_key(-0.0f) == order_key(0.0f));
  BOOST_TEST(order_key(kNaN) > kInfinityKey);
  BOOST_TEST(order_key(-kNaN) < -kInfinityKey);
  BOOST_TEST((is_finite(3e38f) && is_finite(-0.0f) && !is_finite(kInf) && !is_finite(-kInf) && !is_finite(kNaN) && !is_finite(-kNaN)));
}

BOOST_AUTO_TEST_SUITE_END()
