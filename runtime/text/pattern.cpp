#include "runtime/text/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "runtime/status.h"
#include "runtime/text/utf8.h"

namespace linnet::detail {

// Unicode 16's letters, numbers and other word characters beyond Unicode 14: Hugging Face's libraries know them, Debian 12's PCRE2 does not.
#define LINNET_NEW_LETTERS                                                                                                                          \
  "\\x{1C89}\\x{1C8A}\\x{A7CB}-\\x{A7CD}\\x{A7DA}-\\x{A7DC}\\x{105C0}-\\x{105F3}\\x{10D4A}-\\x{10D65}\\x{10D6F}-\\x{10D85}\\x{10EC2}-\\x{10EC4}"    \
  "\\x{1123F}\\x{11240}\\x{11380}-\\x{11389}\\x{1138B}\\x{1138E}\\x{11390}-\\x{113B5}\\x{113B7}\\x{113D1}\\x{113D3}\\x{11BC0}-\\x{11BE0}\\x{11F02}" \
  "\\x{11F04}-\\x{11F10}\\x{11F12}-\\x{11F33}\\x{1342F}\\x{13441}-\\x{13446}\\x{13460}-\\x{143FA}\\x{16100}-\\x{1611D}\\x{16D40}-\\x{16D6C}\\x{"    \
  "18CFF}"                                                                                                                                          \
  "\\x{1B132}\\x{1B155}\\x{1DF25}-\\x{1DF2A}\\x{1E030}-\\x{1E06D}\\x{1E4D0}-\\x{1E4EB}\\x{1E5D0}-\\x{1E5ED}\\x{1E5F0}\\x{2B739}\\x{2EBF0}-\\x{"     \
  "2EE5D}"                                                                                                                                          \
  "\\x{31350}-\\x{323AF}"
#define LINNET_NEW_NUMBERS                                                                                                                        \
  "\\x{10D40}-\\x{10D49}\\x{116D0}-\\x{116E3}\\x{11BF0}-\\x{11BF9}\\x{11F50}-\\x{11F59}\\x{16130}-\\x{16139}\\x{16D70}-\\x{16D79}\\x{1CCF0}-\\x{" \
  "1CCF9}"                                                                                                                                        \
  "\\x{1D2C0}-\\x{1D2D3}\\x{1E4F0}-\\x{1E4F9}\\x{1E5F1}-\\x{1E5FA}"
#define LINNET_NEW_MARKS                                                                                                                            \
  "\\x{897}\\x{CF3}\\x{ECE}\\x{10D69}-\\x{10D6D}\\x{10EFC}-\\x{10EFF}\\x{11241}\\x{113B8}-\\x{113C0}\\x{113C2}\\x{113C5}\\x{113C7}-\\x{113CA}"      \
  "\\x{113CC}-\\x{113D0}\\x{113D2}\\x{113E1}\\x{113E2}\\x{11F00}\\x{11F01}\\x{11F03}\\x{11F34}-\\x{11F3A}\\x{11F3E}-\\x{11F42}\\x{11F5A}\\x{13440}" \
  "\\x{13447}-\\x{13455}\\x{1611E}-\\x{1612F}\\x{1E08F}\\x{1E4EC}-\\x{1E4EF}\\x{1E5EE}\\x{1E5EF}"
// \s of PCRE2 also holds U+180E, which is no space since Unicode 6.3.
#define LINNET_SPACE "\\p{Z}\\x{09}-\\x{0D}\\x{85}"
#define LINNET_LETTER "\\p{L}" LINNET_NEW_LETTERS
#define LINNET_NUMBER "\\p{N}" LINNET_NEW_NUMBERS

const std::string_view kByteLevelPattern =
    "'(?:[stmd]|re|ve|ll)"
    "| ?[" LINNET_LETTER
    "]+"
    "| ?[" LINNET_NUMBER
    "]+"
    "| ?[^" LINNET_SPACE LINNET_LETTER LINNET_NUMBER
    "]+"
    "|[" LINNET_SPACE "]+(?![^" LINNET_SPACE
    "])"
    "|[" LINNET_SPACE "]+";

namespace {

constexpr std::string_view kWordPattern =
    "[\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}" LINNET_NEW_LETTERS
    "\\x{10D40}-\\x{10D49}\\x{116D0}-\\x{116E3}\\x{11BF0}-\\x{11BF9}"
    "\\x{11F50}-\\x{11F59}\\x{16130}-\\x{16139}\\x{16D70}-\\x{16D79}\\x{1CCF0}-\\x{1CCF9}\\x{1E4F0}-\\x{1E4F9}\\x{1E5F1}-\\x{1E5FA}" LINNET_NEW_MARKS
    "]";

// Steps and memory that one search may cost. The patterns above need a handful of either.
constexpr uint32_t kMatchLimit = 1000000, kDepthLimit = 1000, kHeapLimitKiB = 4096;

// PCRE2 gives memory back without its size, linnet_allocator wants it: it is kept in front.
constexpr size_t kFront = 16;
void* take(size_t size, void* context) {
  const auto* a = static_cast<const linnet_allocator*>(context);
  if (size > SIZE_MAX - kFront) return nullptr;
  auto* p = static_cast<char*>(a->alloc(a->context, size + kFront, 16));
  if (!p) return nullptr;
  std::memcpy(p, &size, sizeof size);
  return p + kFront;
}
void give(void* memory, void* context) {
  if (!memory) return;
  const auto* a = static_cast<const linnet_allocator*>(context);
  char* p = static_cast<char*>(memory) - kFront;
  size_t size;
  std::memcpy(&size, p, sizeof size);
  a->free(a->context, p, size + kFront, 16);
}

linnet_code explain(int code, const char* what, linnet_error* error) {
  char text[160] = "";
  pcre2_get_error_message(code, reinterpret_cast<PCRE2_UCHAR*>(text), sizeof text);
  const linnet_code kind = code == PCRE2_ERROR_NOMEMORY || code == PCRE2_ERROR_HEAPLIMIT ? LINNET_NO_MEMORY : LINNET_UNSUPPORTED;
  return fail(error, kind, what, {}, "the pre-tokenizer's pattern gave up %s: %s (PCRE2 error %d)", what, text, code);
}

}  // namespace

Pattern::~Pattern() {
  pcre2_code_free(code_);
  pcre2_general_context_free(general_);
}

linnet_code Pattern::compile(std::string_view pattern, const linnet_allocator& allocator, linnet_error* error) {
  allocator_ = allocator;
  general_ = pcre2_general_context_create(take, give, &allocator_);
  pcre2_compile_context* context = general_ ? pcre2_compile_context_create(general_) : nullptr;
  if (!context) return no_memory(error, pattern.size(), "a pattern");
  int code = 0;
  PCRE2_SIZE at = 0;
  const uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_NO_UTF_CHECK | PCRE2_NEVER_BACKSLASH_C;
  code_ = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), options, &code, &at, context);
  pcre2_compile_context_free(context);
  return code_ ? LINNET_OK : explain(code, "while it was compiled", error);
}

Matcher::~Matcher() {
  pcre2_match_data_free(data_);
  pcre2_match_context_free(context_);
}

linnet_code Matcher::prepare(const Pattern& pattern, linnet_error* error) {
  pattern_ = &pattern;
  data_ = pcre2_match_data_create_from_pattern(pattern.code_, pattern.general_);
  context_ = pcre2_match_context_create(pattern.general_);
  if (!data_ || !context_) return no_memory(error, 0, "pattern matching");
  pcre2_set_match_limit(context_, kMatchLimit);
  pcre2_set_depth_limit(context_, kDepthLimit);
  pcre2_set_heap_limit(context_, kHeapLimitKiB);
  return LINNET_OK;
}

linnet_code Matcher::find(std::string_view text, size_t from, bool* found, size_t* start, size_t* end, linnet_error* error) {
  // Without NO_UTF_CHECK every call would look through all that is left: quadratic.
  const int code = pcre2_match(pattern_->code_, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), from, PCRE2_NO_UTF_CHECK, data_, context_);
  *found = code >= 0;
  if (code == PCRE2_ERROR_NOMATCH) return LINNET_OK;
  if (code < 0) return explain(code, "on this text", error);
  const PCRE2_SIZE* at = pcre2_get_ovector_pointer(data_);
  *start = at[0];
  *end = at[1];
  return LINNET_OK;
}

linnet_code WordCharacters::prepare(const linnet_allocator& allocator, linnet_error* error) {
  return pattern_ ? LINNET_OK : pattern_.compile(kWordPattern, allocator, error);
}

linnet_code WordCharacters::contains(std::string_view text, size_t at, bool* yes, linnet_error* error) const {
  const uint8_t c = static_cast<uint8_t>(text[at]);
  if (c < 0x80) {
    *yes = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    return LINNET_OK;
  }
  Matcher matcher;
  if (const auto code = matcher.prepare(pattern_, error)) return code;
  size_t start, end;
  return matcher.find({text.data() + at, utf8_length(c)}, 0, yes, &start, &end, error);
}

}  // namespace linnet::detail
