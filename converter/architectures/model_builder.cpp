#include "converter/architectures/model_builder.h"

#include <algorithm>
#include <cstring>

#include "converter/message.h"

namespace linnet::converter {

const TensorInfo& ModelBuilder::need(const std::string& name, std::initializer_list<uint64_t> shape) {
  const TensorInfo* t = checkpoint.find(name);
  if (!t)
    fail(LINNET_BAD_FILE, "tensor ", name, " of shape ", shown(std::span(shape.begin(), shape.size())), ", which ", config.file(),
         " asks for, is not in the checkpoint");
  if (!std::equal(shape.begin(), shape.end(), t->shape.begin(), t->shape.end()))
    fail(LINNET_BAD_FILE, "tensor ", name, " has shape ", shown(t->shape), " in the checkpoint; by ", config.file(), " it is ",
         shown(std::span(shape.begin(), shape.size())));
  if (t->type == ElementType::other) fail(LINNET_UNSUPPORTED, "tensor ", name, " has dtype ", t->dtype, "; F32, F16 and BF16 are weights");
  use(name);
  return *t;
}

Id ModelBuilder::linear(const MatrixSource& m, uint64_t rows, uint64_t columns) {
  const uint64_t all = m.all_rows ? m.all_rows : rows;
  if (m.in_out) need(m.name, {columns, all});
  else need(m.name, {all, columns});
  TensorSpec spec{m.part.empty() ? m.name : m.name + "#" + m.part, dtype, LINNET_R16, 2, {1, rows, columns}, {}};
  spec.recipe.source = m.name;
  spec.recipe.transpose = m.in_out;
  spec.recipe.first_row = m.first_row;
  return graph.tensor(std::move(spec));
}

Id ModelBuilder::table(const std::string& name, uint64_t rows, uint64_t columns) {
  need(name, {rows, columns});
  TensorSpec spec{name, dtype, LINNET_PLAIN, 2, {1, rows, columns}, {}};
  spec.recipe.source = name;
  return graph.tensor(std::move(spec));
}

Id ModelBuilder::vector(const std::string& name, uint64_t n, uint64_t first, uint64_t all, const std::string& part) {
  need(name, {all ? all : n});
  TensorSpec spec{part.empty() ? name : name + "#" + part, LINNET_F32, LINNET_PLAIN, 1, {1, 1, n}, {}};
  spec.recipe.source = name;
  spec.recipe.first_row = first;
  return graph.tensor(std::move(spec));
}

Id ModelBuilder::numbers(const std::string& name, std::vector<float> values) {
  TensorSpec spec{name, LINNET_F32, LINNET_PLAIN, 1, {1, 1, values.size()}, {}};
  spec.recipe.values = std::move(values);
  return graph.tensor(std::move(spec));
}

ModelBuilder::EmbeddingAndHead ModelBuilder::embedding_and_head(const std::string& embedding, const std::string& head, bool tied, uint64_t rows,
                                                                uint64_t columns) {
  if (!tied) {
    if (!has(head))
      fail(LINNET_BAD_FILE, "tensor ", head, " is not in the checkpoint, and by ", config.file(),
           " the output head is not the embedding; if it should be, set \"tie_word_embeddings\": true there");
    return {table(embedding, rows, columns), linear({head}, rows, columns)};
  }
  // A tied head may be stored under both names, or, since writers keep one of two shared tensors, under the head's alone. Two different
  // tensors mean that config.json and checkpoint disagree, and releases of transformers do not agree on which of them wins.
  if (has(embedding) && has(head)) {
    const TensorInfo &a = need(embedding, {rows, columns}), &b = need(head, {rows, columns});
    const uint64_t bytes = a.end - a.begin;
    bool same = a.type == b.type;
    constexpr uint64_t block = uint64_t{4} << 20;
    for (uint64_t at = 0; same && at < bytes; at += block) {
      const uint64_t n = std::min(block, bytes - at);
      same = std::memcmp(checkpoint.data(a) + at, checkpoint.data(b) + at, n) == 0;
      checkpoint.drop(a, at, at + n);
      checkpoint.drop(b, at, at + n);
    }
    if (!same)
      fail(LINNET_UNSUPPORTED, config.file(), ": tie_word_embeddings says that ", head, " is ", embedding,
           ", but the checkpoint holds two different tensors; set it to false to use both, or remove ", head);
  }
  const Id both = linear({has(embedding) ? embedding : has(head) ? head : embedding}, rows, columns);
  return {both, both};
}

Id ModelBuilder::key_value_state(const std::string& name, uint64_t heads, uint64_t width) {
  if (width > UINT32_MAX || heads > UINT16_MAX) fail(LINNET_UNSUPPORTED, "state ", name, " would have ", heads, " heads and be ", width, " elements wide");
  const auto type = static_cast<uint8_t>(state_dtype);
  const auto w = static_cast<uint32_t>(width);
  const auto h = static_cast<uint16_t>(heads);
  return graph.state({name, {{w, type, LINNET_STATE_PANELS, h}, {w, type, LINNET_STATE_ROWS, h}}});
}

}  // namespace linnet::converter
