#include "runtime/sampling/sampler.h"

#include <bit>
#include <limits>

#include "runtime/math.h"
#include "runtime/sampling/adjust.h"
#include "runtime/sampling/philox.h"
#include "runtime/sampling/softmax.h"
#include "runtime/status.h"
#include "runtime/thread_pool.h"

namespace linnet::detail {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kLightest = 0x1p-126;  // below the lightest weight that is not 0

linnet_code not_finite(const float* logits, uint32_t vocabulary, const Scan& scanned, linnet_error* error) {
  if (scanned.finite) {
    return fail(error, LINNET_NOT_FINITE, "logits", {}, "all %u logits are -inf: no token is left to choose", vocabulary);
  }
  uint32_t at = 0;
  while (order_key(logits[at]) < kInfinityKey && order_key(logits[at]) >= -kInfinityKey) ++at;
  return fail(error, LINNET_NOT_FINITE, "logits", {0, at}, "the logit of token %u is %s (after penalty, bias and processors)", at,
              order_key(logits[at]) == kInfinityKey ? "+inf" : "NaN");
}

// Weighs tokens from the best one down while nothing says stop. All limits keep the first token.
class Weigher {
 public:
  Weigher(const float* logits, uint32_t vocabulary, Scale scale, const Scratch& scratch)
      : logits_(logits), scale_(scale), ranking_(logits, vocabulary, scratch) {}

  // The best `limit` tokens, all of them (or all that can be drawn).
  void take(uint32_t limit) {
    extend(limit);
    count_ = weighed_ < limit ? weighed_ : limit;
    for (uint32_t i = 0; i < count_; ++i) total_ += weight(i);
  }
  // Of those, what the limits below let in.
  void cut(double enough, double lightest) {
    const uint32_t taken = count_;
    count_ = 0;
    total_ = 0;
    while (count_ < taken && accept(enough, lightest)) {}
  }
  // From all tokens: none after the sum has reached `enough`, none lighter than `lightest`.
  void fill(double enough, double lightest) {
    for (;;) {
      if (count_ == weighed_) extend(ahead(enough));
      if (count_ == weighed_ || !accept(enough, lightest)) return;
    }
  }

  const Candidate* list() const { return ranking_.list(); }
  uint32_t count() const { return count_; }
  double total() const { return total_; }

 private:
  double weight(uint32_t i) const { return static_cast<double>(weight_of(ranking_.list()[i])); }
  bool accept(double enough, double lightest) {
    const double w = weight(count_);
    if (count_ != 0 && (total_ >= enough || w < lightest)) return false;
    total_ += w;
    ++count_;
    return true;
  }
  // How many tokens to rank next: few at first, for most nuclei end there, then more and more. No token to come weighs more than the last,
  // which says how many are needed at least; in a flat distribution that saves most of the steps.
  uint32_t ahead(double enough) const {
    double n = 64.0 + 4.0 * count_;
    if (count_ != 0 && enough < kNever && weight(count_ - 1) >= kLightest) {
      const double needed = count_ + (enough - total_) / weight(count_ - 1);
      if (needed > n) n = needed;
    }
    return n < UINT32_MAX ? static_cast<uint32_t>(n) : UINT32_MAX;
  }
  void extend(uint32_t n) {
    ranking_.rank(n);
    softmax().weigh(ranking_.list() + weighed_, ranking_.ranked() - weighed_, logits_, scale_);
    weighed_ = ranking_.ranked();
  }

  const float* logits_;
  Scale scale_;
  Ranking ranking_;
  uint32_t weighed_ = 0, count_ = 0;
  double total_ = 0;
};

// x >= just_above(y) is x > y; for y >= 0 and finite.
double just_above(double y) { return std::bit_cast<double>(std::bit_cast<uint64_t>(y) + 1); }

bool is_greedy(const linnet_sampling& s) { return order_key(s.temperature) < order_key(kGreedyBelow); }
bool has_top_k(const linnet_sampling& s, uint32_t vocabulary) { return s.top_k != 0 && s.top_k < vocabulary; }
bool has_top_p(const linnet_sampling& s) { return order_key(s.top_p) < order_key(1.0f); }

Scale scale_of(const linnet_sampling& s, const Scan& scanned) { return {from_order_key(scanned.highest), s.temperature}; }

// The first candidate that the cumulative weights reach `target` beyond; the last that weighs anything, if rounding hides it.
uint32_t find(const Candidate* candidates, uint32_t count, double target) {
  double sum = 0;
  uint32_t chosen = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const float w = weight_of(candidates[i]);
    if (order_key(w) == 0) break;
    chosen = i;
    sum += static_cast<double>(w);
    if (sum > target) break;
  }
  return chosen;
}

}  // namespace

linnet_code prepare(float* logits, uint32_t vocabulary, const int32_t* history, uint64_t history_count, const linnet_sampling* sampling,
                    const Scratch& scratch, Scan* out, linnet_error* error) {
  linnet_code code = linnet_sampling_check(sampling, vocabulary, error);
  if (code == LINNET_OK) code = check_history(history, history_count, vocabulary, error);
  if (code != LINNET_OK) return code;
  adjust(logits, vocabulary, history, history_count, *sampling, scratch.seen);
  *out = scan(logits, vocabulary, scratch);
  if (!out->finite || out->highest == -kInfinityKey) return not_finite(logits, vocabulary, *out, error);
  return LINNET_OK;
}

Kept keep(const float* logits, uint32_t vocabulary, const linnet_sampling& s, const Scan& scanned, const Scratch& scratch) {
  if (is_greedy(s)) {
    scratch.list[0] = weighed(1.0f, scanned.token);
    return {scratch.list, 1, 1.0};
  }
  const Scale scale = scale_of(s, scanned);
  Weigher weigher(logits, vocabulary, scale, scratch);
  const double p = static_cast<double>(s.top_p), min_p = static_cast<double>(s.min_p);
  if (has_top_k(s, vocabulary)) {
    weigher.take(s.top_k);
    weigher.cut(has_top_p(s) ? p * weigher.total() : kNever, min_p);
  } else {
    weigher.fill(has_top_p(s) ? p * softmax().total(logits, vocabulary, scale, scratch.highest) : kNever, min_p);
  }
  return {weigher.list(), weigher.count(), weigher.total()};
}

linnet_sampled choose(const float* logits, uint32_t vocabulary, const linnet_sampling& s, const Scan& scanned, const Scratch& scratch, double u) {
  if (is_greedy(s)) return {static_cast<int32_t>(scanned.token), 0.0f};
  const Scale scale = scale_of(s, scanned);
  Kept kept;
  if (!has_top_k(s, vocabulary) && !has_top_p(s) && order_key(s.min_p) == 0) {
    // Nothing is cut off, so nothing needs to be known of the tokens after the drawn one but their sum.
    const double total = softmax().total(logits, vocabulary, scale, scratch.highest);
    Weigher weigher(logits, vocabulary, scale, scratch);
    weigher.fill(just_above(u * total), kLightest);
    kept = {weigher.list(), weigher.count(), total};
  } else {
    kept = keep(logits, vocabulary, s, scanned, scratch);
  }
  const uint32_t token = token_of(kept.candidates[find(kept.candidates, kept.count, u * kept.total)]);
  return {static_cast<int32_t>(token), log_weight(logits[token], scale) - log(static_cast<float>(kept.total))};
}

}  // namespace linnet::detail

using namespace linnet::detail;

size_t linnet_sampler_scratch_bytes(uint32_t vocabulary) { return scratch_bytes(vocabulary); }

linnet_code linnet_sample(float* logits, uint32_t vocabulary, const int32_t* history, uint64_t history_count, uint64_t position,
                          const linnet_sampling* sampling, void* scratch, linnet_sampled* out, linnet_error* error) {
  if (!logits || !scratch || !out) {
    const char* const field = !logits ? "logits" : !scratch ? "scratch" : "out";
    return fail(error, LINNET_INVALID_ARGUMENT, field, {}, "%s is NULL", field);
  }
  const FloatMode mode;
  const Scratch cut = cut_scratch(scratch, vocabulary);
  Scan scanned;
  const linnet_code code = prepare(logits, vocabulary, history, history_count, sampling, cut, &scanned, error);
  if (code != LINNET_OK) return code;
  *out = choose(logits, vocabulary, *sampling, scanned, cut, uniform(sampling->seed, position, Stream::token));
  return succeed(error);
}
