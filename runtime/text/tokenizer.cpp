// The tokenizer part of c.h.
#include "runtime/text/tokenizer.h"

#include "runtime/model.h"
#include "runtime/status.h"
#include "runtime/text/handle.h"
#include "runtime/text/stream.h"

using namespace linnet::detail;

linnet_code linnet_tokenizer_create(linnet_model* model, linnet_tokenizer** out, linnet_error* error) {
  if (!model || !out) return fail(error, LINNET_INVALID_ARGUMENT, "tokenizer", {}, "model and out must not be NULL");
  *out = nullptr;
  linnet_model_info info{};
  info.size = sizeof info;
  linnet_model_get_info(model, &info);
  if (!info.tokenizer_bytes)
    return fail(error, LINNET_UNSUPPORTED, "tokenizer", {},
                "the model has no tokenizer; it runs on ids, or convert it again with tokenizer.json beside the weights");
  const linnet_allocator& allocator = model_allocator(model);
  auto* tokenizer = make<linnet_tokenizer>(allocator, allocator);
  if (!tokenizer) return no_memory(error, sizeof(linnet_tokenizer), "a tokenizer");
  if (const auto code = tokenizer->core.open(info.tokenizer, info.tokenizer_bytes, error)) {
    destroy(allocator, tokenizer);
    return code;
  }
  tokenizer->model = model;
  linnet_model_retain(model);
  *out = tokenizer;
  return succeed(error);
}

void linnet_tokenizer_release(linnet_tokenizer* tokenizer) {
  if (!tokenizer) return;
  linnet_model* model = tokenizer->model;
  const linnet_allocator allocator = tokenizer->core.allocator();
  destroy(allocator, tokenizer);
  linnet_model_release(model);
}

linnet_code linnet_tokenizer_encode(const linnet_tokenizer* tokenizer, const char* text, size_t bytes, uint32_t flags, int32_t* ids, size_t capacity,
                                    size_t* count, linnet_error* error) {
  if (!tokenizer || (!text && bytes) || (!ids && capacity) || !count)
    return fail(error, LINNET_INVALID_ARGUMENT, "tokenizer", {}, "a pointer is NULL");
  *count = 0;
  Vec<int32_t> all(tokenizer->core.allocator());
  if (const auto code = tokenizer->core.encode({text, bytes}, flags, &all, error)) return code;
  *count = all.size();
  const size_t n = all.size() < capacity ? all.size() : capacity;
  if (n) std::memcpy(ids, all.data(), n * sizeof(int32_t));
  if (ids && all.size() > capacity)
    return fail(error, LINNET_BUFFER_TOO_SMALL, "ids", {all.size(), capacity}, "%zu ids do not fit into %zu", all.size(), capacity);
  return succeed(error);
}

linnet_code linnet_tokenizer_decode(const linnet_tokenizer* tokenizer, const int32_t* ids, size_t count, int skip_special, char* text,
                                    size_t capacity, size_t* bytes, linnet_error* error) {
  if (!tokenizer || (!ids && count) || (!text && capacity) || !bytes)
    return fail(error, LINNET_INVALID_ARGUMENT, "tokenizer", {}, "a pointer is NULL");
  TextOut out{text, capacity, 0};
  decode(tokenizer->core.section(), ids, count, skip_special != 0, &out);
  *bytes = out.size;
  if (text && out.size > capacity)
    return fail(error, LINNET_BUFFER_TOO_SMALL, "text", {out.size, capacity}, "%zu bytes do not fit into %zu", out.size, capacity);
  return succeed(error);
}

linnet_code linnet_tokenizer_token(const linnet_tokenizer* tokenizer, int32_t id, const char** text, size_t* bytes, int* special,
                                   linnet_error* error) {
  if (!tokenizer) return fail(error, LINNET_INVALID_ARGUMENT, "tokenizer", {}, "tokenizer is NULL");
  const TokenizerSection& s = tokenizer->core.section();
  if (id < 0 || static_cast<uint32_t>(id) >= s.vocabulary)
    return fail(error, LINNET_INVALID_ARGUMENT, "id", {s.vocabulary, static_cast<uint64_t>(id)}, "id %d is outside the tokenizer's %u", id,
                s.vocabulary);
  const std::string_view spelling = s.spelling(static_cast<uint32_t>(id));
  if (text) *text = spelling.data();
  if (bytes) *bytes = spelling.size();
  if (special) *special = (s.flags[id] & kTokenSpecial) != 0;
  return succeed(error);
}

int32_t linnet_tokenizer_find(const linnet_tokenizer* tokenizer, const char* text, size_t bytes) {
  return tokenizer && (text || !bytes) ? tokenizer->core.find({text, bytes}) : -1;
}

uint32_t linnet_tokenizer_size(const linnet_tokenizer* tokenizer) { return tokenizer ? tokenizer->core.section().vocabulary : 0; }
