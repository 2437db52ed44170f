// What changes logits before tokens are chosen from: repetition penalty, then logit bias, then the host's processors.
#pragma once
#include "linnet/c.h"

namespace linnet::detail {

// LINNET_INVALID_ARGUMENT, naming the first id outside of the vocabulary.
linnet_code check_history(const int32_t* history, uint64_t count, uint32_t vocabulary, linnet_error* error);

// Everything is valid here. `seen` holds a bit for every token of the vocabulary.
void adjust(float* logits, uint32_t vocabulary, const int32_t* history, uint64_t count, const linnet_sampling& sampling, uint64_t* seen);

}  // namespace linnet::detail
