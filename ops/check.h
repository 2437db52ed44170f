// Reads and checks a node in plan. Files come from strangers, so every argument, shape and attribute is checked here, and nothing later.
//
// Errors stick: the first one is kept, later calls return harmless values, and plan ends with `return check.code()`. So a plan reads as
// the list of what the op requires.
#pragma once
#include <cstdint>

#include "linnet/op.h"

namespace linnet::ops {

class Check {
 public:
  Check(const linnet_node* node, linnet_error* error) : node_(node), error_(error) {}
  linnet_code code() const { return code_; }
  bool ok() const { return code_ == LINNET_OK; }

  // Arguments beyond these numbers are errors; missing ones count as absent.
  void counts(uint32_t inputs, uint32_t outputs, uint32_t weights, uint32_t states);
  // All attributes the op knows, separated by spaces. Another, or one twice, is an error.
  void attributes(const char* known);

  bool has(const char* name) const { return find(name) != nullptr; }
  int64_t integer(const char* name, int64_t low, int64_t high);  // required
  int64_t integer(const char* name, int64_t absent, int64_t low, int64_t high);
  float real(const char* name, double low, double high);  // required; finite
  float real(const char* name, float absent, double low, double high);

  const linnet_value* optional_input(uint32_t i) const { return i < node_->input_count ? node_->inputs[i] : nullptr; }
  const linnet_tensor* optional_weight(uint32_t i) const { return i < node_->weight_count ? node_->weights[i] : nullptr; }

  // f32 rows of a fixed width of at least 1.
  const linnet_value& input(uint32_t i, const char* label);
  const linnet_value& output(uint32_t i, const char* label);
  // Any value of that type, its width not looked at.
  const linnet_value& input_of(uint32_t i, const char* label, uint8_t dtype);
  const linnet_value& output_of(uint32_t i, const char* label, uint8_t dtype);
  void width(const linnet_value& value, const char* label, uint64_t width, uint64_t width_s = 0);
  void leading(const linnet_value& value, const char* label, uint8_t leading);
  void same_leading(const linnet_value& a, const char* a_label, const linnet_value& b, const char* b_label);

  // A matrix [any, columns]: floats in R16 or integers in R16K4, or where `plain_too` row-major. Checks shape and bytes. rows: rows_any or the number it must have.
  static constexpr uint64_t rows_any = 0;
  const linnet_tensor& matrix(uint32_t i, const char* label, uint64_t rows, uint64_t columns, bool plain_too = false);
  const linnet_tensor& plain_matrix(uint32_t i, const char* label, uint64_t rows, uint64_t columns);
  // f32 [n], plain.
  const linnet_tensor& vector(uint32_t i, const char* label, uint64_t n);
  void optional_vector(uint32_t i, const char* label, uint64_t n) { if (optional_weight(i)) vector(i, label, n); }
  void absent_weight(uint32_t i, const char* label, const char* why);

  const linnet_state& state(uint32_t i, const char* label);
  // Tensor t of a paged state: positions of `width` elements, a vector a head, f32, f16 or i8. heads 0: whatever the state says.
  void state_tensor(const linnet_state& state, uint32_t t, const char* label, uint64_t width, uint32_t heads = 0);

  // Bytes of `rows` f32 rows of that width, each starting at a multiple of 16 elements, and sums of bytes; overflow is an error.
  uint64_t row_bytes(uint64_t rows, uint64_t width);
  uint64_t sum(uint64_t a, uint64_t b);
  uint64_t product(uint64_t a, uint64_t b);

  // The error of the caller's own making; returns the code. subject may be null. The host puts node and op before the message.
  linnet_code fail(const char* subject, uint64_t expected, uint64_t actual, const char* format, ...) __attribute__((format(printf, 5, 6)));
  void unsupported();  // after fail: well-formed, but not something this build can do

  const linnet_node* node() const { return node_; }

 private:
  const linnet_attr* find(const char* name) const;
  const linnet_attr* required(const char* name, uint32_t kind);
  const linnet_attr* of_kind(const linnet_attr* a, uint32_t kind);
  int64_t in_range(const linnet_attr* a, int64_t low, int64_t high);
  float real_in_range(const linnet_attr* a, double low, double high);
  const linnet_value& value(const linnet_value* v, const char* what, uint32_t i, const char* label, uint8_t dtype);
  const linnet_tensor& weight(uint32_t i, const char* label);
  const linnet_tensor& sized_matrix(uint32_t i, const char* label, uint64_t rows, uint64_t columns, unsigned layouts);

  const linnet_node* node_;
  linnet_error* error_;
  linnet_code code_ = LINNET_OK;
};

}  // namespace linnet::ops
