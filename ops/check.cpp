#include "ops/check.h"

#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "ops/packing.h"
#include "runtime/status.h"

namespace linnet::ops {
namespace {

// What failed look-ups return: valid to read, equal to nothing asked for.
const linnet_value kNoValue = {"", LINNET_F32, LINNET_STEP_ROWS, 1, 0};
const linnet_tensor kNoTensor = {"", LINNET_F32, LINNET_PLAIN, 0, 1, {1, 1, 1}, 4, 0, nullptr, "", nullptr};
const linnet_state_tensor kNoStateTensors[2] = {{1, LINNET_F32, LINNET_STATE_ROWS}, {1, LINNET_F32, LINNET_STATE_ROWS}};
const uint64_t kNoOffsets[2] = {0, 0};
const linnet_state kNoState = {"", LINNET_APPEND, 0, 2, kNoStateTensors, kNoOffsets, 0};

const char* dtype_name(uint8_t dtype) {
  static const char* const names[] = {"f32", "f16", "bf16", "i8", "i4", "i32"};
  return dtype <= LINNET_I32 ? names[dtype] : "of an unknown type";
}
const char* layout_name(uint8_t layout) {
  static const char* const names[] = {"plain", "R16", "R16K4"};
  return layout <= LINNET_R16K4 ? names[layout] : "unknown";
}
const char* leading_name(uint8_t leading) {
  static const char* const names[] = {"one row", "a row for each of the step's", "a row for each wanted one"};
  return leading <= LINNET_WANTED_ROWS ? names[leading] : "an unknown number of rows";
}
const char* kind_name(uint32_t kind) {
  static const char* const names[] = {"an integer", "a real", "a text", "integers", "reals"};
  return kind <= LINNET_REALS ? names[kind] : "unknown";
}
unsigned long long ull(uint64_t n) { return n; }
long long ll(int64_t n) { return n; }

// Whether `word` is one of the space-separated `words`.
bool listed(const char* words, const char* word) {
  const size_t n = std::strlen(word);
  for (const char* p = words; *p;) {
    const size_t length = std::strcspn(p, " ");
    if (length == n && !std::memcmp(p, word, n)) return true;
    p += length;
    p += *p == ' ';
  }
  return false;
}

}  // namespace

linnet_code Check::fail(const char* subject, uint64_t expected, uint64_t actual, const char* format, ...) {
  if (!ok()) return code_;
  char text[sizeof linnet_error{}.message];
  va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return code_ = detail::fail(error_, LINNET_BAD_FILE, subject, {expected, actual}, "%s", text);
}

void Check::unsupported() {
  code_ = LINNET_UNSUPPORTED;
  if (error_) error_->code = code_;
}

uint64_t Check::sum(uint64_t a, uint64_t b) {
  uint64_t bytes = 0;
  if (detail::add_overflows(a, b, &bytes)) fail("scratch", UINT64_MAX, 0, "needs more than 2^64 bytes of scratch");
  return bytes;
}

uint64_t Check::product(uint64_t a, uint64_t b) {
  uint64_t bytes = 0;
  if (detail::mul_overflows(a, b, &bytes)) fail("scratch", UINT64_MAX, 0, "needs more than 2^64 bytes of scratch");
  return bytes;
}

uint64_t Check::row_bytes(uint64_t rows, uint64_t width) {
  uint64_t padded = 0, bytes = 0;
  if (detail::add_overflows(width, 15, &padded) || detail::mul_overflows(rows, padded / 16 * 64, &bytes)) {
    fail("scratch", UINT64_MAX, width, "needs more than 2^64 bytes for %llu rows of %llu", ull(rows), ull(width));
  }
  return bytes;
}

void Check::counts(uint32_t inputs, uint32_t outputs, uint32_t weights, uint32_t states) {
  const struct { const char* what; uint32_t most, actual; } all[] = {
      {"inputs", inputs, node_->input_count}, {"outputs", outputs, node_->output_count},
      {"weights", weights, node_->weight_count}, {"states", states, node_->state_count}};
  for (const auto& c : all) {
    if (c.actual > c.most) fail(c.what, c.most, c.actual, "takes at most %u %s, the node has %u", c.most, c.what, c.actual);
  }
}

void Check::attributes(const char* known) {
  for (uint32_t i = 0; i < node_->attr_count; ++i) {
    const char* name = node_->attrs[i].name;
    if (!listed(known, name)) fail(name, 0, 0, "unknown attribute '%s' (this version knows: %s)", name, *known ? known : "none");
    if (find(name) != &node_->attrs[i]) fail(name, 1, 2, "attribute '%s' is given twice", name);
  }
}

const linnet_attr* Check::find(const char* name) const {
  for (uint32_t i = 0; i < node_->attr_count; ++i) {
    if (!std::strcmp(node_->attrs[i].name, name)) return &node_->attrs[i];
  }
  return nullptr;
}

const linnet_attr* Check::of_kind(const linnet_attr* a, uint32_t kind) {
  if (!a || a->kind == kind) return a;
  fail(a->name, kind, a->kind, "attribute '%s' is %s, and must be %s", a->name, kind_name(a->kind), kind_name(kind));
  return nullptr;
}

const linnet_attr* Check::required(const char* name, uint32_t kind) {
  const linnet_attr* a = find(name);
  if (!a) fail(name, 1, 0, "attribute '%s' is missing", name);
  return of_kind(a, kind);
}

int64_t Check::in_range(const linnet_attr* a, int64_t low, int64_t high) {
  if (a->integer >= low && a->integer <= high) return a->integer;
  fail(a->name, static_cast<uint64_t>(high), static_cast<uint64_t>(a->integer), "attribute '%s' is %lld, and must be from %lld to %lld", a->name,
       ll(a->integer), ll(low), ll(high));
  return low;
}

float Check::real_in_range(const linnet_attr* a, double low, double high) {
  const float x = static_cast<float>(a->real);
  if (std::isfinite(x) && a->real >= low && a->real <= high) return x;
  fail(a->name, 0, 0, "attribute '%s' is %g, and must be finite and from %g to %g", a->name, a->real, low, high);
  return static_cast<float>(low);
}

int64_t Check::integer(const char* name, int64_t low, int64_t high) {
  const linnet_attr* a = required(name, LINNET_INT);
  return a ? in_range(a, low, high) : low;
}
int64_t Check::integer(const char* name, int64_t absent, int64_t low, int64_t high) {
  const linnet_attr* a = of_kind(find(name), LINNET_INT);
  return a ? in_range(a, low, high) : absent;
}
float Check::real(const char* name, double low, double high) {
  const linnet_attr* a = required(name, LINNET_REAL);
  return a ? real_in_range(a, low, high) : static_cast<float>(low);
}
float Check::real(const char* name, float absent, double low, double high) {
  const linnet_attr* a = of_kind(find(name), LINNET_REAL);
  return a ? real_in_range(a, low, high) : absent;
}

const linnet_value& Check::value(const linnet_value* v, const char* what, uint32_t i, const char* label, uint8_t dtype) {
  if (!v) {
    fail(label, 1, 0, "%s %u (%s) is missing", what, i, label);
    return kNoValue;
  }
  if (v->dtype != dtype) fail(v->name, dtype, v->dtype, "%s %u (%s) is %s, and must be %s", what, i, label, dtype_name(v->dtype), dtype_name(dtype));
  return *v;
}

const linnet_value& Check::input_of(uint32_t i, const char* label, uint8_t dtype) { return value(optional_input(i), "input", i, label, dtype); }
const linnet_value& Check::output_of(uint32_t i, const char* label, uint8_t dtype) {
  return value(i < node_->output_count ? node_->outputs[i] : nullptr, "output", i, label, dtype);
}
const linnet_value& Check::input(uint32_t i, const char* label) {
  const linnet_value& v = input_of(i, label, LINNET_F32);
  if (v.width == 0 || v.width_s != 0) {
    fail(v.name, 0, v.width_s, "input %u (%s) is %u + %u * S wide, and must have a fixed width of at least 1", i, label, v.width, v.width_s);
  }
  return v;
}
const linnet_value& Check::output(uint32_t i, const char* label) {
  const linnet_value& v = output_of(i, label, LINNET_F32);
  if (v.width == 0 || v.width_s != 0) {
    fail(v.name, 0, v.width_s, "output %u (%s) is %u + %u * S wide, and must have a fixed width of at least 1", i, label, v.width, v.width_s);
  }
  return v;
}

void Check::width(const linnet_value& v, const char* label, uint64_t width, uint64_t width_s) {
  if (v.width != width) fail(v.name, width, v.width, "%s is %u wide, and must be %llu", label, v.width, ull(width));
  if (v.width_s != width_s) fail(v.name, width_s, v.width_s, "%s has %u elements a position, and must have %llu", label, v.width_s, ull(width_s));
}

void Check::leading(const linnet_value& v, const char* label, uint8_t leading) {
  if (v.leading != leading) fail(v.name, leading, v.leading, "%s has %s, and must have %s", label, leading_name(v.leading), leading_name(leading));
}

void Check::same_leading(const linnet_value& a, const char* a_label, const linnet_value& b, const char* b_label) {
  if (a.leading != b.leading)
    fail(b.name, a.leading, b.leading, "%s has %s, but %s has %s", a_label, leading_name(a.leading), b_label, leading_name(b.leading));
}

const linnet_tensor& Check::weight(uint32_t i, const char* label) {
  const linnet_tensor* w = optional_weight(i);
  if (w) return *w;
  fail(label, 1, 0, "weight %u (%s) is missing", i, label);
  return kNoTensor;
}

const linnet_tensor& Check::sized_matrix(uint32_t i, const char* label, uint64_t rows, uint64_t columns, unsigned layouts) {
  const linnet_tensor& w = weight(i, label);
  if (!ok()) return w;
  const bool integer = packing::is_integer(w.dtype);
  if (w.dtype > LINNET_I4) {
    fail(w.name, LINNET_F32, w.dtype, "weight %u (%s) is %s; this build reads f32, f16, bf16, i8 and i4 here", i, label, dtype_name(w.dtype));
    unsupported();
  } else if (w.layout > LINNET_R16K4 || !(layouts >> w.layout & 1u) || w.layout_version != 0 || integer != (w.layout == LINNET_R16K4)) {
    fail(w.name, LINNET_R16, w.layout, "weight %u (%s) is %s in layout %s, version %u; this build cannot read it here", i, label,
         dtype_name(w.dtype), layout_name(w.layout), w.layout_version);
    unsupported();
  } else if (w.rank != 2 || w.shape[0] != 1) {
    fail(w.name, 2, w.rank, "weight %u (%s) has rank %u, and must be a matrix", i, label, w.rank);
  } else if (w.shape[2] != columns) {
    fail(w.name, columns, w.shape[2], "weight %u (%s) has %llu columns, and must have %llu", i, label, ull(w.shape[2]), ull(columns));
  } else if (w.shape[1] == 0 || (rows != rows_any && w.shape[1] != rows)) {
    fail(w.name, rows, w.shape[1], "weight %u (%s) has %llu rows, and must have %llu", i, label, ull(w.shape[1]), ull(rows ? rows : 1));
  }
  if (!ok()) return w;
  uint64_t bytes = 0;
  const uint64_t most = uint64_t{1} << 48;  // more rows or columns than that fit no file, and pad without overflow up to it
  bool overflow = w.shape[1] > most || w.shape[2] > most;
  if (!overflow && w.layout == LINNET_PLAIN)
    overflow = detail::mul_overflows(w.shape[1], w.shape[2] * packing::float_bytes(w.dtype), &bytes);
  else if (!overflow)
    overflow = detail::mul_overflows(packing::panels(w.shape[1]), packing::panel_bytes(w.dtype, w.shape[2]), &bytes);
  if (overflow || bytes != w.bytes) {
    fail(w.name, bytes, w.bytes, "weight %u (%s) has %llu bytes, but its shape %llu x %llu takes %s%llu", i, label, ull(w.bytes), ull(w.shape[1]),
         ull(w.shape[2]), overflow ? "more than " : "", ull(overflow ? UINT64_MAX : bytes));
  }
  if (w.dtype == LINNET_I4) {
    if (!w.levels) fail(w.name, packing::kLevels, 0, "weight %u (%s) is i4 and has no table of levels", i, label);
    for (uint64_t l = 0; ok() && l < packing::kLevels; ++l) {
      if (!(w.levels[l] >= -127.0f && w.levels[l] <= 127.0f) || w.levels[l] != static_cast<float>(static_cast<int>(w.levels[l])))
        fail(w.name, 127, l, "weight %u (%s): level %llu is %g; levels are whole numbers from -127 to 127", i, label, ull(l), static_cast<double>(w.levels[l]));
    }
  }
  return w;
}

const linnet_tensor& Check::matrix(uint32_t i, const char* label, uint64_t rows, uint64_t columns, bool plain_too) {
  return sized_matrix(i, label, rows, columns, 1u << LINNET_R16 | 1u << LINNET_R16K4 | (plain_too ? 1u << LINNET_PLAIN : 0u));
}
const linnet_tensor& Check::plain_matrix(uint32_t i, const char* label, uint64_t rows, uint64_t columns) {
  return sized_matrix(i, label, rows, columns, 1u << LINNET_PLAIN);
}

const linnet_tensor& Check::vector(uint32_t i, const char* label, uint64_t n) {
  const linnet_tensor& w = weight(i, label);
  if (!ok()) return w;
  if (w.dtype != LINNET_F32 || w.layout != LINNET_PLAIN || w.layout_version != 0 || w.rank != 1 || w.shape[0] != 1 || w.shape[1] != 1) {
    fail(w.name, 1, w.rank, "weight %u (%s) is %s of rank %u, layout %s, and must be a plain f32 vector", i, label, dtype_name(w.dtype), w.rank,
         layout_name(w.layout));
  } else if (w.shape[2] != n || w.bytes != n * sizeof(float)) {
    fail(w.name, n, w.shape[2], "weight %u (%s) has %llu elements in %llu bytes, and must have %llu", i, label, ull(w.shape[2]), ull(w.bytes),
         ull(n));
  }
  return w;
}

void Check::absent_weight(uint32_t i, const char* label, const char* why) {
  if (const linnet_tensor* w = optional_weight(i)) fail(w->name, 0, 1, "weight %u (%s) is given, but %s", i, label, why);
}

const linnet_state& Check::state(uint32_t i, const char* label) {
  const linnet_state* s = i < node_->state_count ? node_->states[i] : nullptr;
  if (!s) {
    fail(label, 1, 0, "state %u (%s) is missing", i, label);
    return kNoState;
  }
  if (s->kind != LINNET_APPEND && s->kind != LINNET_WINDOW)
    fail(s->name, LINNET_APPEND, s->kind, "state %u (%s) must be of kind append or window", i, label);
  if (s->kind == LINNET_WINDOW && s->window == 0) fail(s->name, 1, 0, "state %u (%s) has a window of 0 positions", i, label);
  return ok() ? *s : kNoState;
}

void Check::state_tensor(const linnet_state& s, uint32_t t, const char* label, uint64_t width, uint32_t heads) {
  if (!ok()) return;
  if (t >= s.tensor_count) {
    fail(s.name, t + 1, s.tensor_count, "the state has %u tensors, and needs tensor %u (%s)", s.tensor_count, t, label);
    return;
  }
  const linnet_state_tensor& tensor = s.tensors[t];
  if (tensor.dtype != LINNET_F32 && tensor.dtype != LINNET_F16 && tensor.dtype != LINNET_I8) {
    fail(s.name, LINNET_F16, tensor.dtype, "state tensor %u (%s) is %s; this build keeps f32, f16 and i8", t, label, dtype_name(tensor.dtype));
    unsupported();
  } else if (tensor.layout > LINNET_STATE_PANELS) {
    fail(s.name, LINNET_STATE_PANELS, tensor.layout, "state tensor %u (%s) has an unknown layout", t, label);
  } else if (tensor.width != width) {
    fail(s.name, width, tensor.width, "state tensor %u (%s) is %u wide, and must be %llu", t, label, tensor.width, ull(width));
  } else if (heads && tensor.heads != heads) {
    fail(s.name, heads, tensor.heads, "state tensor %u (%s) has %u heads, and must have %u", t, label, tensor.heads, heads);
  }
}

}  // namespace linnet::ops
