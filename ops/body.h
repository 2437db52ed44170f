// Bodies run one row at a time: what their primitives over S share.
#pragma once
#include <cinttypes>
#include <cstdio>

#include "ops/eval.h"

namespace linnet::ops {

// The positions the row of a body sees, S = position + 1; 0, with the error told, where the step is not one row.
inline uint64_t body_positions(const linnet_op_eval* e) {
  if (e->rows == 1 && e->segment_count == 1 && e->segments[0].rows == 1) return e->segments[0].position + 1;
  char text[96];
  std::snprintf(text, sizeof text, "works in a body only, a row at a time, and was given %" PRIu32 " rows", e->rows);
  e->host->fail(e, LINNET_OP_FAILED, text);
  return 0;
}

// Whether a value has room for `elements` in its row; tells the error if not.
inline bool has_room(const linnet_op_eval* e, const linnet_rows& value, uint64_t elements) {
  if (value.rows >= 1 && value.stride >= elements) return true;
  char text[96];
  std::snprintf(text, sizeof text, "a value holds %" PRIu64 " elements, and %" PRIu64 " are needed", value.stride, elements);
  e->host->fail(e, LINNET_OP_FAILED, text);
  return false;
}

}  // namespace linnet::ops
