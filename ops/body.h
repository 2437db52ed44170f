// Bodies run one row at a time: what their primitives over S share.
#pragma once
#include <cinttypes>
#include <cstdio>

#include "ops/eval.h"

namespace linnet::ops {

// The positions the row of a body sees, S = position + 1, or 0 after an error: the step must be one row, and every value that grows with S
// must have room for it. `values` of them, each with its elements a position.
struct Growing { const linnet_rows* rows; uint64_t elements; };
template <size_t n> uint64_t body_positions(const linnet_op_eval* e, const Growing (&values)[n]) {
  char text[160];
  if (e->rows != 1 || e->segment_count != 1 || e->segments[0].rows != 1) {
    std::snprintf(text, sizeof text, "%s: works in a body only, a row at a time, and was given %" PRIu32 " rows", e->node->op, e->rows);
    e->host->fail(e, LINNET_UNSUPPORTED, text);
    return 0;
  }
  const uint64_t s = e->segments[0].position + 1;
  for (const Growing& v : values) {
    if (v.rows->rows >= 1 && v.rows->stride / v.elements >= s) continue;
    std::snprintf(text, sizeof text, "%s: a value holds %" PRIu64 " elements, and %" PRIu64 " positions of %" PRIu64 " are needed", e->node->op, v.rows->stride, s, v.elements);
    e->host->fail(e, LINNET_INTERNAL, text);
    return 0;
  }
  return s;
}

}  // namespace linnet::ops
