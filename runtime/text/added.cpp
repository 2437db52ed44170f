#include "runtime/text/added.h"

#include "runtime/text/pattern.h"
#include "runtime/text/utf8.h"

namespace linnet::detail {

namespace {
constexpr uint32_t kNone = 0xFFFFFFFFu;
}

void AddedIndex::build(const AddedList& list) {
  uint32_t i = 0;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    first[byte] = i;
    while (i < list.count && static_cast<uint8_t>(list.entry(i)[0]) == byte) ++i;
  }
  first[256] = i;
}

// Narrows the sorted list to the entries that share ever more of the text; an entry that ends on the way is a match, the last one the longest.
uint32_t AddedSplitter::longest_at(size_t at) const {
  const uint8_t lead = static_cast<uint8_t>(text_[at]);
  uint32_t low = index_.first[lead], high = index_.first[lead + 1], found = kNone;
  for (size_t depth = 1; low < high; ++depth) {
    if (list_.entry(low).size() == depth) {
      found = low;
      if (++low == high) break;
    }
    if (at + depth == text_.size()) break;
    const uint8_t byte = static_cast<uint8_t>(text_[at + depth]);
    const auto bound = [&](uint32_t from, uint32_t to, uint32_t limit) {  // the first entry whose byte is not below limit
      while (from < to) {
        const uint32_t middle = from + (to - from) / 2;
        if (static_cast<uint8_t>(list_.entry(middle)[depth]) < limit) from = middle + 1;
        else to = middle;
      }
      return from;
    };
    low = bound(low, high, byte);
    high = bound(low, high, byte + 1u);
  }
  return found;
}

bool AddedSplitter::find(size_t from, size_t* start, uint32_t* entry) const {
  for (size_t i = from; i < text_.size(); ++i) {
    const uint8_t lead = static_cast<uint8_t>(text_[i]);
    if (index_.first[lead] == index_.first[lead + 1]) continue;
    *entry = longest_at(i);
    if (*entry != kNone) {
      *start = i;
      return true;
    }
  }
  return false;
}

size_t AddedSplitter::spaces_before(size_t end, size_t not_before) const {
  while (end > not_before) {
    const size_t start = utf8_back(text_, end);
    uint32_t n;
    if (start < not_before || !is_space(utf8_decode(text_.data() + start, &n))) break;
    end = start;
  }
  return end;
}

size_t AddedSplitter::spaces_after(size_t start) {
  // Matches inside one long run of spaces must not each walk to its end.
  if (start >= spaces_from_ && start <= spaces_to_) return spaces_to_;
  spaces_from_ = start;
  for (uint32_t n; start < text_.size() && is_space(utf8_decode(text_.data() + start, &n));) start += n;
  return spaces_to_ = start;
}

bool AddedSplitter::next(AddedPiece* piece, linnet_code* code, linnet_error* error) {
  *code = LINNET_OK;
  if (pending_) {
    pending_ = false;
    *piece = pending_piece_;
    return true;
  }
  size_t start = 0;
  uint32_t entry = 0;
  while (list_.count && find(search_, &start, &entry)) {
    const uint8_t flags = list_.flags[entry];
    size_t stop = start + list_.entry(entry).size();
    search_ = stop;  // whatever becomes of this match, the next one begins behind it
    if (!special_ && (flags & kAddedSpecial)) continue;
    if (flags & kAddedSingleWord) {
      bool word = false;
      if (start > 0 && (*code = words_.contains(text_, utf8_back(text_, start), &word, error))) return false;
      if (word) continue;
      if (stop < text_.size() && (*code = words_.contains(text_, stop, &word, error))) return false;
      if (word) continue;
    }
    if (flags & kAddedLstrip) {
      start = emitted_ < start ? spaces_before(start, emitted_) : emitted_;
      if (start > stop) stop = start;  // its own text was stripped away already: the token stands, and takes nothing
    }
    if (flags & kAddedRstrip) stop = spaces_after(stop);
    const AddedPiece token{true, list_.ids[entry], {text_.data() + start, stop - start}};
    const size_t from = emitted_;
    emitted_ = stop;
    if (from >= start) {
      *piece = token;
      return true;
    }
    *piece = {false, 0, {text_.data() + from, start - from}};
    pending_ = true;
    pending_piece_ = token;
    return true;
  }
  if (emitted_ >= text_.size()) return false;
  search_ = text_.size();
  *piece = {false, 0, {text_.data() + emitted_, text_.size() - emitted_}};
  emitted_ = text_.size();
  return true;
}

}  // namespace linnet::detail
