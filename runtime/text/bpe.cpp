#include "runtime/text/bpe.h"

#include <algorithm>

#include "runtime/status.h"
#include "runtime/text/utf8.h"

namespace linnet::detail {

void BpeAlphabet::build(const TokenizerSection& section) {
  for (uint32_t b = 0; b < 256; ++b) {
    const char byte = static_cast<char>(b);
    if (section.byte_level) {
      bytes[b] = section.find({&byte, 1});
      continue;
    }
    constexpr char digits[] = "0123456789ABCDEF";
    const char spelling[6] = {'<', '0', 'x', digits[b >> 4], digits[b & 15], '>'};
    bytes[b] = section.find({spelling, 6});
    if (b < 128) ascii[b] = section.find({&byte, 1});
  }
}

bool Bpe::add(uint32_t id) {
  const auto n = static_cast<int32_t>(symbols_.size());
  return symbols_.push({id, n - 1, n + 1});
}

// An unknown character waits: with fuse_unk its neighbours join it. It keeps waiting while <0x..> tokens pass, as in Hugging Face's BPE.
bool Bpe::add_unknown() {
  if (section_.unk < 0) return true;  // nothing to say it with
  if (unknown_ && !section_.fuse_unk && !add(static_cast<uint32_t>(section_.unk))) return false;
  unknown_ = true;
  return true;
}

bool Bpe::flush_unknown() {
  if (!unknown_) return true;
  unknown_ = false;
  return add(static_cast<uint32_t>(section_.unk));
}

bool Bpe::start_bytes(std::string_view word) {
  for (const char c : word) {
    const uint32_t id = alphabet_.bytes[static_cast<uint8_t>(c)];
    if (id == kEmptySlot ? !add_unknown() : !(flush_unknown() && add(id))) return false;
  }
  return flush_unknown();
}

bool Bpe::start_characters(std::string_view word) {
  for (size_t i = 0; i < word.size();) {
    const uint8_t lead = static_cast<uint8_t>(word[i]);
    const std::string_view c{word.data() + i, utf8_length(lead)};
    i += c.size();
    const uint32_t id = lead < 128 ? alphabet_.ascii[lead] : section_.find(c);
    if (id != kEmptySlot) {
      if (!flush_unknown() || !add(id)) return false;
      continue;
    }
    bool all = section_.byte_fallback;
    for (const char b : c) all = all && alphabet_.bytes[static_cast<uint8_t>(b)] != kEmptySlot;
    if (!all && !add_unknown()) return false;
    if (!all) continue;
    for (const char b : c)
      if (!add(alphabet_.bytes[static_cast<uint8_t>(b)])) return false;
  }
  return flush_unknown();
}

namespace {
constexpr auto later = [](const auto& a, const auto& b) { return a.rank != b.rank ? a.rank > b.rank : a.position > b.position; };
}  // namespace

// Queues the merge of a symbol and the next, if there is one.
bool Bpe::offer(int32_t left) {
  const Symbol& s = symbols_[left];
  const MergeSlot* m = section_.find_merge(s.id, symbols_[s.next].id);
  if (!m) return true;
  if (!queue_.push({m->rank, static_cast<uint32_t>(left), m->result})) return false;
  std::push_heap(queue_.begin(), queue_.end(), later);
  return true;
}

// Every merge takes a symbol away and queues at most two more: n log n steps for a word of n characters, whatever the ranks.
bool Bpe::merge_all() {
  const auto count = static_cast<int32_t>(symbols_.size());
  symbols_[count - 1].next = -1;
  queue_.clear();
  for (int32_t i = 0; i + 1 < count; ++i) {
    const MergeSlot* m = section_.find_merge(symbols_[i].id, symbols_[i + 1].id);
    if (m && !queue_.push({m->rank, static_cast<uint32_t>(i), m->result})) return false;
  }
  std::make_heap(queue_.begin(), queue_.end(), later);
  while (!queue_.empty()) {
    std::pop_heap(queue_.begin(), queue_.end(), later);
    const Merge merge = queue_.back();
    queue_.pop();
    ++steps_;
    const auto position = static_cast<int32_t>(merge.position);
    Symbol& left = symbols_[position];
    if (left.id == kEmptySlot || left.next < 0) continue;
    // What was queued may be gone. As in Hugging Face's BPE, it still holds if the pair now here has the same result.
    const Symbol right = symbols_[left.next];
    const MergeSlot* now = section_.find_merge(left.id, right.id);
    if (!now || now->result != merge.result) continue;
    symbols_[left.next].id = kEmptySlot;
    left.id = merge.result;
    left.next = right.next;
    if (right.next >= 0) symbols_[right.next].previous = position;
    if (left.previous >= 0 && !offer(left.previous)) return false;
    if (left.next >= 0 && !offer(position)) return false;
  }
  return true;
}

linnet_code Bpe::encode(std::string_view word, Vec<int32_t>* ids, linnet_error* error) {
  if (section_.ignore_merges && word.size() <= section_.longest_token) {
    const uint32_t id = section_.find(word);
    if (id != kEmptySlot) return ids->push(static_cast<int32_t>(id)) ? LINNET_OK : no_memory(error, ids->size() * 4, "ids");
  }
  if (word.size() > INT32_MAX / 2)
    return fail(error, LINNET_INVALID_ARGUMENT, "text", {INT32_MAX / 2, word.size()}, "a word of %zu bytes is too long", word.size());
  symbols_.clear();
  unknown_ = false;
  bool ok = section_.byte_level ? start_bytes(word) : start_characters(word);
  if (ok && symbols_.size() > 1) ok = merge_all();
  for (size_t i = 0; ok && i < symbols_.size(); ++i)
    if (symbols_[i].id != kEmptySlot) ok = ids->push(static_cast<int32_t>(symbols_[i].id));
  return ok ? LINNET_OK : no_memory(error, word.size() * sizeof(Symbol), "encoding");
}

}  // namespace linnet::detail
