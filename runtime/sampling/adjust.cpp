#include "runtime/sampling/adjust.h"

#include <cstring>

#include "runtime/sampling/order.h"
#include "runtime/status.h"

namespace linnet::detail {
namespace {

// A token is penalised once, however often it was seen (CTRL, and Hugging Face's processor), so the cost is history + vocabulary.
void penalise(float* logits, uint32_t vocabulary, const int32_t* history, uint64_t count, float penalty, uint64_t* seen) {
  std::memset(seen, 0, (size_t{vocabulary} + 63) / 64 * sizeof *seen);
  for (uint64_t i = 0; i < count; ++i) {
    const uint32_t token = static_cast<uint32_t>(history[i]);
    const uint64_t bit = uint64_t{1} << token % 64;
    if (seen[token / 64] & bit) continue;
    seen[token / 64] |= bit;
    logits[token] = order_key(logits[token]) < 0 ? logits[token] * penalty : logits[token] / penalty;
  }
}

}  // namespace

linnet_code check_history(const int32_t* history, uint64_t count, uint32_t vocabulary, linnet_error* error) {
  if (count != 0 && !history) {
    return fail(error, LINNET_INVALID_ARGUMENT, "history", {count, 0}, "history is NULL, but its count is %llu",
                static_cast<unsigned long long>(count));
  }
  uint32_t largest = 0;  // negative ids are large ones
  for (uint64_t i = 0; i < count; ++i) largest = static_cast<uint32_t>(history[i]) > largest ? static_cast<uint32_t>(history[i]) : largest;
  if (largest < vocabulary || count == 0) return LINNET_OK;
  uint64_t at = 0;
  while (static_cast<uint32_t>(history[at]) < vocabulary) ++at;
  return fail(error, LINNET_INVALID_ARGUMENT, "history", {vocabulary, static_cast<uint32_t>(history[at])},
              "history[%llu] is token %d; the vocabulary has %u tokens, 0 to %u", static_cast<unsigned long long>(at), history[at], vocabulary,
              vocabulary - 1);
}

void adjust(float* logits, uint32_t vocabulary, const int32_t* history, uint64_t count, const linnet_sampling& sampling, uint64_t* seen) {
  if (sampling.repetition_penalty != 1.0f) {
    const uint64_t window = sampling.penalty_window != 0 && sampling.penalty_window < count ? sampling.penalty_window : count;
    if (window != 0) penalise(logits, vocabulary, history + (count - window), window, sampling.repetition_penalty, seen);
  }
  for (uint32_t i = 0; i < sampling.bias_count; ++i) logits[sampling.biases[i].token] += sampling.biases[i].bias;
  for (uint32_t i = 0; i < sampling.processor_count; ++i) {
    sampling.processors[i].process(sampling.processors[i].context, logits, vocabulary, history, count);
  }
}

}  // namespace linnet::detail
