// The options of sampling: their defaults and their ranges. Comparisons are made on order keys, where a NaN is simply out of range.
#include "linnet/c.h"
#include "runtime/sampling/order.h"
#include "runtime/status.h"

using namespace linnet::detail;

namespace {

linnet_code refuse(linnet_error* error, const char* field, float value, const char* range) {
  return fail(error, LINNET_INVALID_ARGUMENT, field, {}, "%s is %g; it must be %s", field, static_cast<double>(value), range);
}

linnet_code missing(linnet_error* error, const char* field, uint32_t count) {
  return fail(error, LINNET_INVALID_ARGUMENT, field, {count, 0}, "%s is NULL, but its count is %u", field, count);
}

bool in_unit_range(float x) { return order_key(x) >= 0 && order_key(x) <= order_key(1.0f); }

}  // namespace

void linnet_sampling_init(linnet_sampling* sampling) {
  *sampling = {};
  sampling->size = sizeof *sampling;
  sampling->top_p = 1.0f;
  sampling->repetition_penalty = 1.0f;
}

linnet_code linnet_sampling_check(const linnet_sampling* sampling, uint32_t vocabulary, linnet_error* error) {
  if (!sampling) return fail(error, LINNET_INVALID_ARGUMENT, "sampling", {}, "sampling is NULL");
  const linnet_sampling& s = *sampling;
  if (s.size < sizeof s) {
    return fail(error, LINNET_INVALID_ARGUMENT, "size", {sizeof s, s.size}, "linnet_sampling.size is %u, not %zu; start with linnet_sampling_init",
                s.size, sizeof s);
  }
  if (vocabulary == 0 || vocabulary > INT32_MAX) {
    return fail(error, LINNET_INVALID_ARGUMENT, "vocabulary", {INT32_MAX, vocabulary}, "vocabulary is %u; it must be between 1 and %d", vocabulary,
                INT32_MAX);
  }
  if (order_key(s.temperature) < 0 || order_key(s.temperature) >= kInfinityKey) {
    return refuse(error, "temperature", s.temperature, "0 or more, and finite");
  }
  if (!in_unit_range(s.top_p)) return refuse(error, "top_p", s.top_p, "between 0 and 1");
  if (!in_unit_range(s.min_p)) return refuse(error, "min_p", s.min_p, "between 0 and 1");
  if (order_key(s.repetition_penalty) <= 0 || order_key(s.repetition_penalty) >= kInfinityKey) {
    return refuse(error, "repetition_penalty", s.repetition_penalty, "greater than 0, and finite");
  }
  if (s.bias_count != 0 && !s.biases) return missing(error, "biases", s.bias_count);
  for (uint32_t i = 0; i < s.bias_count; ++i) {
    const linnet_logit_bias& b = s.biases[i];
    if (b.token >= vocabulary) {
      return fail(error, LINNET_INVALID_ARGUMENT, "biases", {vocabulary, b.token},
                  "biases[%u].token is %u; the vocabulary has %u tokens, 0 to %u", i, b.token, vocabulary, vocabulary - 1);
    }
    if (!is_finite(b.bias) && order_key(b.bias) != -kInfinityKey) {
      return fail(error, LINNET_INVALID_ARGUMENT, "biases", {}, "biases[%u].bias is %g; it must be finite, or -inf to ban the token", i,
                  static_cast<double>(b.bias));
    }
  }
  if (s.processor_count != 0 && !s.processors) return missing(error, "processors", s.processor_count);
  for (uint32_t i = 0; i < s.processor_count; ++i) {
    if (!s.processors[i].process) return fail(error, LINNET_INVALID_ARGUMENT, "processors", {}, "processors[%u].process is NULL", i);
  }
  return succeed(error);
}
