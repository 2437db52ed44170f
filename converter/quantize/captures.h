// A graph that computes the same with the input of every matrix in sight.
#pragma once
#include <vector>

#include "converter/graph.h"

namespace linnet::converter {

struct Captures {
  Graph graph;                   // with nodes "capture" [x], attribute index: rows that matrices are about to read
  std::vector<Id> of_tensor;     // index of the capture that sees a tensor's input; kAbsent where none is asked for or nothing reads it
  std::vector<uint32_t> widths;  // of each capture
};

// Fused feed-forwards become the nodes of their bodies, norms nodes of their own, and before each linear that reads a tensor of `wanted`
// (an entry a tensor of the graph) stands a capture. Rows that are selected later are captured before that: all of them count.
Captures with_captures(const Graph& graph, const std::vector<bool>& wanted);

}  // namespace linnet::converter
