#include "runtime/text/stop.h"

#include "runtime/status.h"

namespace linnet::detail {

linnet_code StopFilter::set(const char* const* stops, uint32_t count, linnet_error* error) {
  text_.clear();
  fallback_.clear();
  strings_.clear();
  longest_ = 0;
  restart();
  if (count && !stops) return fail(error, LINNET_INVALID_ARGUMENT, "stop", {}, "%u stop strings, but no array of them", count);
  for (uint32_t i = 0; i < count; ++i) {
    const size_t n = stops[i] ? std::strlen(stops[i]) : 0;
    if (n == 0 || n > UINT32_MAX / 2 || !utf8_valid({stops[i], n})) {
      strings_.clear();
      return fail(error, LINNET_INVALID_ARGUMENT, "stop", {}, "stop string %u is %s", i, n ? "not UTF-8" : "empty: it would end every text at once");
    }
    const auto start = static_cast<uint32_t>(text_.size());
    if (!text_.append(stops[i], n) || !fallback_.resize(text_.size()) || !strings_.push({start, static_cast<uint32_t>(n), 0})) {
      strings_.clear();
      return no_memory(error, n, "stop strings");
    }
    const char* s = text_.data() + start;
    uint32_t* f = fallback_.data() + start;
    f[0] = 0;
    for (uint32_t k = 1, matched = 0; k < n; ++k) {
      while (matched && s[k] != s[matched]) matched = f[matched - 1];
      if (s[k] == s[matched]) ++matched;
      f[k] = matched;
    }
    if (n > longest_) longest_ = n;
  }
  return LINNET_OK;
}

void StopFilter::restart() {
  for (String& s : strings_) s.matched = 0;
  held_ = held_size_ = 0;
}

// Lets go of the first bytes of what is held back.
void StopFilter::release(size_t count, TextOut* out) {
  if (count) out->put({text_.data() + strings_[held_].start, count});
}

bool StopFilter::put(std::string_view piece, TextOut* out) {
  if (strings_.empty()) {
    out->put(piece);
    return false;
  }
  for (size_t i = 0; i < piece.size(); ++i) {
    const char c = piece[i];
    uint32_t best = 0, best_size = 0, ended = 0;
    for (uint32_t k = 0; k < strings_.size(); ++k) {
      String& s = strings_[k];
      const char* text = text_.data() + s.start;
      const uint32_t* fallback = fallback_.data() + s.start;
      while (s.matched && text[s.matched] != c) s.matched = fallback[s.matched - 1];
      if (text[s.matched] == c) ++s.matched;
      if (s.matched > best_size) {
        best = k;
        best_size = s.matched;
      }
      if (s.matched == s.size && s.size > ended) ended = s.size;
    }
    // What is waiting is held_size_ bytes and c; `keep` of them stay (or, at the end, are the stop string).
    const uint32_t keep = ended ? ended : best_size, waiting = held_size_ + 1;
    const uint32_t go = waiting - keep;
    release(go < held_size_ ? go : held_size_, out);
    if (go > held_size_) out->put({&c, 1});
    if (ended) {
      restart();
      return true;
    }
    held_ = best;
    held_size_ = best_size;
  }
  return false;
}

void StopFilter::flush(TextOut* out) {
  release(held_size_, out);
  restart();
}

}  // namespace linnet::detail
