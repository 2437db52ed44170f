// What a family builds a model with: the checkpoint's tensors by name, checked for shape and marked as used, and the graph that grows.
#pragma once
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>

#include "converter/checkpoint/checkpoint.h"
#include "converter/graph.h"

namespace linnet::converter {

// A matrix of the checkpoint, [rows, columns] as linear wants it.
struct MatrixSource {
  std::string name;
  bool in_out = false;           // stored [columns, rows] (GPT-2's Conv1D)
  uint64_t first_row = 0;        // a part of a fused matrix:
  uint64_t all_rows = 0;         //   rows of the whole, 0: this is the whole
  std::string part{};            //   what the file calls it: name#part
};

class ModelBuilder {
 public:
  ModelBuilder(const Checkpoint& source, linnet_dtype matrices, linnet_dtype cache)
      : checkpoint(source), config(source.config()), dtype(matrices), state_dtype(cache) {}

  const Checkpoint& checkpoint;
  const Config& config;
  const linnet_dtype dtype;        // of matrices, before choose_formats (quantize/recipe.h) makes some of them integers
  const linnet_dtype state_dtype;  // of keys and values
  Graph graph;

  bool has(std::string_view name) const { return checkpoint.find(name) != nullptr; }

  // Weights; each call marks its source as used. A missing tensor or another shape than the settings imply is an error.
  Id linear(const MatrixSource& source, uint64_t rows, uint64_t columns);                    // packed for the linear kernels
  Id table(const std::string& name, uint64_t rows, uint64_t columns);                        // rows that are looked up
  Id vector(const std::string& name, uint64_t n, uint64_t first = 0, uint64_t all = 0, const std::string& part = "");  // f32
  Id numbers(const std::string& name, std::vector<float> values);                            // f32, not from the checkpoint
  Id vector_if(bool there, const std::string& name, uint64_t n) { return there ? vector(name, n) : kAbsent; }

  // The embedding [rows, columns] and the output head. Tied: one tensor, packed for the head, serves both.
  struct EmbeddingAndHead { Id embedding, head; };
  EmbeddingAndHead embedding_and_head(const std::string& embedding, const std::string& head, bool tied, uint64_t rows, uint64_t columns);

  Id key_value_state(const std::string& name, uint64_t heads, uint64_t width);   // keys in panels, values in rows

  void use(std::string_view name) { used_.emplace(name); }
  const std::set<std::string, std::less<>>& used() const { return used_; }

 private:
  const TensorInfo& need(const std::string& name, std::initializer_list<uint64_t> shape);
  std::set<std::string, std::less<>> used_;
};

}  // namespace linnet::converter
