#include "converter/checkpoint/safetensors.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "converter/checkpoint/json.h"
#include "converter/message.h"
#include "runtime/status.h"

namespace linnet::converter {

namespace {

constexpr uint64_t kHeaderCap = 100'000'000;  // the format's own limit

struct DType {
  std::string_view name;
  uint32_t bits;
  ElementType type;
};
constexpr DType kDTypes[] = {
    {"F32", 32, ElementType::f32},      {"F16", 16, ElementType::f16},       {"BF16", 16, ElementType::bf16},     {"F64", 64, ElementType::other},
    {"I64", 64, ElementType::other},    {"I32", 32, ElementType::other},     {"I16", 16, ElementType::other},     {"I8", 8, ElementType::other},
    {"U64", 64, ElementType::other},    {"U32", 32, ElementType::other},     {"U16", 16, ElementType::other},     {"U8", 8, ElementType::other},
    {"BOOL", 8, ElementType::other},    {"F8_E4M3", 8, ElementType::other},  {"F8_E5M2", 8, ElementType::other},  {"F8_E8M0", 8, ElementType::other},
    {"C64", 64, ElementType::other},    {"F6_E2M3", 6, ElementType::other},  {"F6_E3M2", 6, ElementType::other},  {"F4", 4, ElementType::other},
    {"F8_E4M3FNUZ", 8, ElementType::other}, {"F8_E5M2FNUZ", 8, ElementType::other},
};

// Reads the header without building a tree of it: a hundred megabytes of JSON cost the tensors they describe, no more.
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  HeaderReader(const std::string& file, uint64_t data_start, uint64_t data_bytes, std::vector<TensorInfo>* out)
      : file_(file), data_start_(data_start), data_bytes_(data_bytes), out_(out) {}

  bool start_object(std::size_t) override {
    if (in_metadata()) return ++metadata_depth_, true;
    if (depth_ == 0) return depth_ = 1, true;
    if (depth_ != 1) misplaced("an object");
    depth_ = 2;
    fields_ = 0;
    current_ = {};
    current_.name = tensor_;
    return true;
  }
  bool end_object() override {
    if (in_metadata()) {
      --metadata_depth_;
      return true;
    }
    if (depth_ == 2) finish();
    --depth_;
    return true;
  }
  bool key(string_t& text) override {
    if (metadata_depth_) return true;
    if (depth_ == 1) {
      tensor_ = text;
      if (!names_.insert(text).second) bad("stands twice in the header");
      metadata_ = text == "__metadata__";
      return true;
    }
    field_ = text == "dtype" ? dtype : text == "shape" ? shape : text == "data_offsets" ? offsets : unknown;
    if (field_ == unknown) bad("has a field \"", shown(text), "\" that safetensors does not know");
    if (fields_ & field_) bad("has two fields \"", shown(text), "\"");
    fields_ |= field_;
    return true;
  }
  bool start_array(std::size_t) override {
    if (in_metadata()) return ++metadata_depth_, true;
    if (depth_ != 2 || field_ == dtype) misplaced("a list");
    depth_ = 3;
    return true;
  }
  bool end_array() override {
    if (in_metadata()) --metadata_depth_;
    else depth_ = 2;
    return true;
  }
  bool string(string_t& text) override {
    if (in_metadata()) return true;
    if (depth_ != 2 || field_ != dtype) misplaced("text");
    current_.dtype = text;
    return true;
  }
  bool number_unsigned(number_unsigned_t n) override {
    if (in_metadata()) return true;
    if (depth_ != 3) misplaced("a number");
    if (field_ == shape) current_.shape.push_back(n);
    else if (offset_count_ < 2) offsets_[offset_count_++] = n;
    else bad("has more than two data_offsets");
    return true;
  }
  bool number_integer(number_integer_t n) override { return in_metadata() || not_a_size(cat(n)); }
  bool number_float(number_float_t, const string_t& raw) override { return in_metadata() || not_a_size(raw); }
  bool null() override { return in_metadata() || (misplaced("null"), false); }
  bool boolean(bool) override { return in_metadata() || (misplaced("true or false"), false); }
  bool binary(binary_t&) override { return false; }
  bool parse_error(std::size_t at, const std::string&, const nlohmann::detail::exception&) override {
    fail(LINNET_BAD_FILE, shown(file_), ": the header is not valid JSON: error at byte ", at);
  }

 private:
  enum Field { unknown = 0, dtype = 1, shape = 2, offsets = 4 };

  bool in_metadata() const { return metadata_depth_ > 0 || (depth_ == 1 && metadata_); }

  template <typename... Parts>
  [[noreturn]] void bad(const Parts&... parts) const {
    fail(LINNET_BAD_FILE, shown(file_), ": tensor ", shown(tensor_), " ", parts...);
  }
  [[noreturn]] void misplaced(std::string_view what) const {
    if (depth_ == 0) fail(LINNET_BAD_FILE, shown(file_), ": the header is not a JSON object");
    bad("has ", what, " where ",
        depth_ == 1       ? "an object with dtype, shape and data_offsets"
        : field_ == dtype ? "the name of a dtype"
                          : "a list of whole numbers",
        " belongs");
  }
  bool not_a_size(std::string_view raw) const {
    if (depth_ != 3) misplaced("a number");
    bad("has ", shown(raw), " in its ", field_ == shape ? "shape" : "data_offsets", "; only whole numbers from 0 to 2^64 - 1 are sizes");
  }

  void finish() {
    if (fields_ != (dtype | shape | offsets)) bad("lacks ", !(fields_ & dtype) ? "dtype" : !(fields_ & shape) ? "shape" : "data_offsets");
    if (offset_count_ != 2) bad("has ", offset_count_, " data_offsets instead of two");
    offset_count_ = 0;
    // Bounds before anything that depends on the dtype, so that an unknown dtype cannot skip them.
    if (offsets_[0] > offsets_[1] || offsets_[1] > data_bytes_)
      bad("lies at bytes [", offsets_[0], ", ", offsets_[1], ") of the data, which has ", data_bytes_,
          ": the file is cut or damaged; download it again");
    const auto* known = std::find_if(std::begin(kDTypes), std::end(kDTypes), [&](const DType& d) { return d.name == current_.dtype; });
    if (known == std::end(kDTypes))
      fail(LINNET_UNSUPPORTED, shown(file_), ": tensor ", shown(tensor_), " has the unsupported dtype ", shown(current_.dtype, 32));
    current_.type = known->type;
    uint64_t elements = 1, bits = 0;
    bool fits = true;
    for (const uint64_t n : current_.shape) fits = fits && !detail::mul_overflows(elements, n, &elements);
    if (!fits || detail::mul_overflows(elements, known->bits, &bits)) bad("has shape ", shown(current_.shape), ": its size overflows 64 bits");
    if (bits % 8 || bits / 8 != offsets_[1] - offsets_[0])
      bad("of shape ", shown(current_.shape), " and dtype ", known->name, " needs ", (bits + 7) / 8, " bytes; its data_offsets give it ",
          offsets_[1] - offsets_[0]);
    current_.elements = elements;
    current_.begin = data_start_ + offsets_[0];
    current_.end = data_start_ + offsets_[1];
    out_->push_back(std::move(current_));
  }

  const std::string& file_;
  const uint64_t data_start_, data_bytes_;
  std::vector<TensorInfo>* out_;
  std::unordered_set<std::string> names_;
  std::string tensor_;
  TensorInfo current_;
  Field field_ = unknown;
  int fields_ = 0, depth_ = 0, metadata_depth_ = 0, offset_count_ = 0;
  bool metadata_ = false;
  uint64_t offsets_[2] = {0, 0};
};

// The data must be covered by tensors from its first byte to its last, as the format demands: what lies between or behind is damage.
void check_cover(const FileMap& file, const std::vector<TensorInfo>& tensors, uint64_t data_start) {
  uint64_t at = data_start;
  std::string_view before = "the header";
  for (const TensorInfo& t : tensors) {
    if (t.begin < at)
      fail(LINNET_BAD_FILE, shown(file.path()), ": tensors ", shown(before), " and ", shown(t.name), " overlap at byte ", t.begin - data_start,
           " of the data");
    if (t.begin > at) fail(LINNET_BAD_FILE, shown(file.path()), ": ", t.begin - at, " bytes before tensor ", shown(t.name), " belong to no tensor");
    at = t.end;
    before = t.name;
  }
  if (at != file.bytes()) fail(LINNET_BAD_FILE, shown(file.path()), ": ", file.bytes() - at, " bytes after the last tensor belong to no tensor");
}

}  // namespace

std::vector<TensorInfo> read_safetensors(const FileMap& file) {
  const uint64_t size = file.bytes();
  if (size < 8) fail(LINNET_BAD_FILE, shown(file.path()), " has ", size, " bytes; a safetensors file begins with a length of 8: the file is cut");
  uint64_t length = 0;
  std::memcpy(&length, file.data(), 8);  // little-endian, as the host is (runtime/container.h)
  if (length > size - 8)
    fail(LINNET_BAD_FILE, shown(file.path()), ": the header's length is ", length, ", but only ", size - 8,
         " bytes follow: the file is cut or not safetensors");
  if (length > kHeaderCap)
    fail(LINNET_BAD_FILE, shown(file.path()), ": the header's length is ", length, ", more than the format's limit of ", kHeaderCap);
  if (length < 2) fail(LINNET_BAD_FILE, shown(file.path()), ": the header's length is ", length, "; there is no JSON that short");
  std::vector<TensorInfo> tensors;
  {
    const CLocale locale;
    HeaderReader reader(file.path(), 8 + length, size - 8 - length, &tensors);
    const auto* text = reinterpret_cast<const char*>(file.data()) + 8;
    // The JSON reader takes a NUL for the end of its input; whatever stood behind it would go unread.
    if (std::memchr(text, 0, length)) fail(LINNET_BAD_FILE, shown(file.path()), ": the header is not valid JSON: it holds a NUL");
    nlohmann::json::sax_parse(text, text + length, &reader);
  }
  std::sort(tensors.begin(), tensors.end(), [](const TensorInfo& a, const TensorInfo& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end != b.end ? a.end < b.end : a.name < b.name;
  });
  check_cover(file, tensors, 8 + length);
  return tensors;
}

}  // namespace linnet::converter
