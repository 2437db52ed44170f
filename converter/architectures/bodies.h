// Fused ops said in primitives: what a runtime without the fused op runs, and what the fused op is tested against.
#pragma once
#include "converter/architectures/blocks.h"

namespace linnet::converter {

// Arguments as the attention node's: q, k, v, rope table? -> y; state kv.
Function attention_body(const AttentionShape& shape);

// Arguments as the feed_forward node's: x, residual -> y; norm weight?, norm bias?, up, up bias?, gate?, gate bias?, down, down bias?.
Function feed_forward_body(const FeedForwardBlock& block, uint64_t width);

}  // namespace linnet::converter
