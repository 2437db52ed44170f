// Which tensors of a graph become i8 or i4, and why.
#pragma once
#include "converter/graph.h"

namespace linnet::converter {

// Gives every matrix of a linear, feed-forward or embedding op an integer format: `wanted` (LINNET_I8 or LINNET_I4), or i8 where i4 is
// asked for, not `pure`, and the matrix is one of those that suffer most for their size (README.md has the measurements): embedding, head,
// values, keys that query heads share, down of the first and last layer. Vectors, learned positions and numbers that are not from the checkpoint
// stay as
// they are. Each changed tensor's note says why it is what it is.
void choose_formats(Graph& graph, linnet_dtype wanted, bool pure);

}  // namespace linnet::converter
