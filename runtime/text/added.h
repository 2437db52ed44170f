// Added tokens: text that becomes one token before anything else looks at it.
#pragma once
#include <cstdint>
#include <string_view>

#include "linnet/types.h"
#include "runtime/text/section.h"

namespace linnet::detail {

class WordCharacters;

// A stretch of a text: one added token, or text between them.
struct AddedPiece {
  bool token;
  uint32_t id;  // of the token
  std::string_view text;
};

// Where the entries that begin with each byte stand in a sorted list, so that most positions of a text cost one look.
struct AddedIndex {
  uint32_t first[257] = {};
  void build(const AddedList& list);
};

// Cuts a text at the entries of one list: leftmost first, longest at one place. As Hugging Face's tokenizers do, down to what happens where
// stripped spaces overlap the next match.
class AddedSplitter {
 public:
  // special: whether control tokens count. words: needed if an entry has kAddedSingleWord.
  AddedSplitter(const AddedList& list, const AddedIndex& index, const WordCharacters& words, std::string_view text, bool special)
      : list_(list), index_(index), words_(words), text_(text), special_(special) {}

  // The next piece; false at the end of the text, or with *code set.
  bool next(AddedPiece* piece, linnet_code* code, linnet_error* error);

 private:
  bool find(size_t from, size_t* start, uint32_t* entry) const;
  uint32_t longest_at(size_t at) const;
  size_t spaces_before(size_t end, size_t not_before) const;
  size_t spaces_after(size_t start);

  const AddedList& list_;
  const AddedIndex& index_;
  const WordCharacters& words_;
  std::string_view text_;
  bool special_;
  size_t search_ = 0;   // where the next match may begin
  size_t emitted_ = 0;  // where the text begins that no piece holds yet
  bool pending_ = false;
  AddedPiece pending_piece_{};
  size_t spaces_from_ = 0, spaces_to_ = 0;  // a run of spaces seen before
};

}  // namespace linnet::detail
