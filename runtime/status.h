// How the runtime reports failure: a code, returned, and a fixed-size diagnostic, filled in place.
#pragma once
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "linnet/types.h"

namespace linnet::detail {

inline void copy_text(char* to, size_t capacity, const char* from) {
  size_t n = from ? std::strlen(from) : 0;
  if (n >= capacity) n = capacity - 1;
  if (n) std::memcpy(to, from, n);
  to[n] = '\0';
}

struct Numbers {
  uint64_t expected = 0, actual = 0;
};

// Fills `error` (which may be null) and returns `code`, so that failing is one statement.
#if defined(__GNUC__)
__attribute__((format(printf, 5, 6)))
#endif
inline linnet_code
fail(linnet_error* error, linnet_code code, const char* subject, Numbers numbers, const char* format, ...) {
  if (!error) return code;
  std::memset(error, 0, sizeof *error);
  error->code = code;
  error->node = -1;
  error->expected = numbers.expected;
  error->actual = numbers.actual;
  copy_text(error->subject, sizeof error->subject, subject);
  va_list args;
  va_start(args, format);
  std::vsnprintf(error->message, sizeof error->message, format, args);
  va_end(args);
  return code;
}

inline linnet_code succeed(linnet_error* error) {
  if (error) {
    std::memset(error, 0, sizeof *error);
    error->node = -1;
  }
  return LINNET_OK;
}

inline linnet_code no_memory(linnet_error* error, uint64_t bytes, const char* what) {
  return fail(error, LINNET_NO_MEMORY, what, {bytes, 0}, "out of memory: %llu bytes for %s", static_cast<unsigned long long>(bytes), what);
}

// a + b and a * b that say when they wrap.
inline bool add_overflows(uint64_t a, uint64_t b, uint64_t* out) {
  *out = a + b;
  return *out < a;
}
inline bool mul_overflows(uint64_t a, uint64_t b, uint64_t* out) {
  *out = a * b;
  return a != 0 && *out / a != b;
}

inline uint64_t round_up(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }

}  // namespace linnet::detail
