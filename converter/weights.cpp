#include "converter/weights.h"

#include <algorithm>
#include <cstring>

#include "converter/floats.h"
#include "converter/message.h"
#include "converter/quantize/panel.h"
#include "converter/quantize/split.h"
#include "ops/packing.h"

namespace linnet::converter {

namespace {

constexpr uint64_t kBlockBytes = uint64_t{1} << 20;  // of output, at least one panel

// n elements of type E, `stride` elements apart, from bytes that need not be aligned: a safetensors header may have any length.
template <typename E>
void gather(const std::byte* from, uint64_t stride, uint64_t n, E* to) {
  if (stride == 1) std::memcpy(to, from, n * sizeof(E));
  else
    for (uint64_t i = 0; i < n; ++i) std::memcpy(to + i, from + i * stride * sizeof(E), sizeof(E));
}

float decode(ElementType type, uint16_t bits) { return type == ElementType::f16 ? f16_to_f32(bits) : bf16_to_f32(bits); }

// Reads rows of a checkpoint's tensor as the target dtype wants them.
class RowReader {
 public:
  RowReader(const TensorSpec& spec, const Checkpoint& checkpoint, const TensorInfo& source)
      : spec_(spec),
        source_(source),
        target_(packing::is_integer(spec.dtype) ? LINNET_F32 : spec.dtype),
        data_(checkpoint.data(source)),
        columns_(spec.columns()),
        row_elements_(source.shape.empty() ? 1 : source.shape.back()) {
    same_ = (target_ == LINNET_F32 && source.type == ElementType::f32) || (target_ == LINNET_F16 && source.type == ElementType::f16) ||
            (target_ == LINNET_BF16 && source.type == ElementType::bf16);
    // The last number that will be read: shapes were checked when the graph was built, so this fails for a bug only.
    const uint64_t first = spec.recipe.first_row, rows = spec.rows();
    const uint64_t last = spec.recipe.transpose ? (columns_ - 1) * row_elements_ + first + rows - 1
                          : spec.rank == 1      ? first + columns_ - 1
                                                : (first + rows) * columns_ - 1;
    if (last >= source.elements) fail(LINNET_INTERNAL, "tensor ", spec.name, " reads number ", last, " of ", source.elements);
  }

  // Row `row` of the tensor to be made, as bit patterns of spec.dtype, or of f32 where that is an integer format.
  template <typename E>
  void read(uint64_t row, E* to) {
    const uint64_t at = row + spec_.recipe.first_row;
    const uint64_t first = spec_.recipe.transpose || spec_.rank == 1 ? at : at * columns_, stride = spec_.recipe.transpose ? row_elements_ : 1;
    const std::byte* from = data_ + first * element_bytes(source_.type);
    if (same_) return gather(from, stride, columns_, to);
    floats_.resize(columns_);
    if (source_.type == ElementType::f32) {
      gather(from, stride, columns_, floats_.data());
    } else {
      halves_.resize(columns_);
      gather(from, stride, columns_, halves_.data());
      for (uint64_t i = 0; i < columns_; ++i) floats_[i] = decode(source_.type, halves_[i]);
    }
    for (uint64_t i = 0; i < columns_; ++i) to[i] = encode<E>(floats_[i], row, i);
  }

 private:
  template <typename E>
  E encode(float x, uint64_t row, uint64_t column) const {
    if constexpr (sizeof(E) == 4) return std::bit_cast<E>(x);
    if (target_ == LINNET_F16) {
      if (std::fabs(x) > 65504.0f) out_of_range(x, row, column, "f16 ends at 65504; convert to bf16 or f32");
      return static_cast<E>(f32_to_f16(x));
    }
    const uint16_t bits = f32_to_bf16(x);
    if ((bits & 0x7fff) == 0x7f80 && std::isfinite(x)) out_of_range(x, row, column, "bf16 ends at 3.3895e38; convert to f32");
    return static_cast<E>(bits);
  }
  [[noreturn]] void out_of_range(float x, uint64_t row, uint64_t column, std::string_view what) const {
    fail(LINNET_UNSUPPORTED, "tensor ", shown(spec_.name), " holds ", x, " at row ", row, ", column ", column, "; ", what);
  }

  const TensorSpec& spec_;
  const TensorInfo& source_;
  const linnet_dtype target_;
  const std::byte* data_;
  const uint64_t columns_, row_elements_;
  bool same_ = false;
  std::vector<float> floats_;
  std::vector<uint16_t> halves_;
};

using Sink = std::function<void(std::span<const std::byte>)>;

// Rows that have been read, where they lie together.
void drop_rows(const TensorSpec& spec, const Checkpoint& checkpoint, const TensorInfo& source, uint64_t begin, uint64_t end) {
  if (spec.recipe.transpose) return;
  const uint64_t row_bytes = spec.columns() * element_bytes(source.type), start = spec.rank == 1 ? 0 : spec.recipe.first_row;
  checkpoint.drop(source, (start + begin) * row_bytes, (start + end) * row_bytes);
}

template <typename E>
void make(const TensorSpec& spec, const Checkpoint& checkpoint, const TensorInfo& source, const Sink& sink) {
  const uint64_t k = spec.columns(), rows = spec.rows(), panel = spec.layout == LINNET_R16 ? packing::kPanelRows : 1;
  const uint64_t panels = (rows + panel - 1) / panel, a_block = std::clamp<uint64_t>(kBlockBytes / (panel * k * sizeof(E)), 1, panels);
  std::vector<E> block(a_block * panel * k), row(panel == 1 ? 0 : k);
  RowReader reader(spec, checkpoint, source);
  for (uint64_t first = 0; first < panels; first += a_block) {
    const uint64_t count = std::min(a_block, panels - first), end_row = std::min((first + count) * panel, rows);
    if (panel == 1) {
      for (uint64_t r = first; r < end_row; ++r) reader.read(r, block.data() + (r - first) * k);
    } else {
      std::fill(block.begin(), block.end(), E{0});  // rows that pad the last panel
      for (uint64_t r = first * panel; r < end_row; ++r) {
        reader.read(r, row.data());
        E* lane = block.data() + packing::r16_index(r - first * panel, 0, k);
        for (uint64_t c = 0; c < k; ++c) lane[c * packing::kPanelRows] = row[c];
      }
    }
    sink(std::as_bytes(std::span(block.data(), count * panel * k)));
    drop_rows(spec, checkpoint, source, first * panel, end_row);
  }
  if (spec.recipe.transpose) checkpoint.drop(source, 0, source.end - source.begin);
}

[[noreturn]] void misfit(const TensorSpec& spec, uint64_t first_row, const Misfit& m) {
  const auto where = cat("tensor ", shown(spec.name), " holds ", m.value, " at row ", first_row + m.row, ", column ", m.column, "; ");
  const char* name = spec.dtype == LINNET_I8 ? "i8" : "i4";
  if (std::isfinite(m.value))
    fail(LINNET_UNSUPPORTED, where, "the scale of a group in ", name,
         " is an f16, which ends at 65504: 127 times that is the largest weight; convert to bf16 or f32");
  fail(LINNET_UNSUPPORTED, where, name, " has no such number, and a model with it computes nothing but NaN; repair the checkpoint");
}

// Each thread reads and quantizes panels of its own.
void make_integer(const TensorSpec& spec, const Checkpoint& checkpoint, const TensorInfo& source, unsigned threads, const float* factor,
                  const Sink& sink) {
  const uint64_t k = spec.columns(), rows = spec.shape[1], experts = spec.shape[0];
  const uint64_t panels = packing::panels(rows), bytes = packing::panel_bytes(spec.dtype, k);
  const uint64_t a_block = std::clamp<uint64_t>(kBlockBytes / bytes, std::min<uint64_t>(threads, panels), panels);
  const Levels* levels = spec.levels ? &*spec.levels : nullptr;
  std::vector<std::byte> block(a_block * bytes);
  for (uint64_t e = 0; e < experts; ++e) {
    for (uint64_t first = 0; first < panels; first += a_block) {
      const uint64_t count = std::min(a_block, panels - first), top = e * rows;
      split(threads, count, [&](uint64_t begin, uint64_t end) {
        RowReader reader(spec, checkpoint, source);
        std::vector<float> panel(packing::kPanelRows * k);
        for (uint64_t p = begin; p < end; ++p) {
          const uint64_t row = (first + p) * packing::kPanelRows, n = std::min(packing::kPanelRows, rows - row);
          for (uint64_t r = 0; r < n; ++r) reader.read(top + row + r, panel.data() + r * k);
          if (const auto m = pack_panel(spec.dtype, levels, panel.data(), n, k, block.data() + p * bytes, factor)) misfit(spec, top + row, *m);
        }
      });
      sink(std::span(block.data(), count * bytes));
      drop_rows(spec, checkpoint, source, top + first * packing::kPanelRows, top + std::min((first + count) * packing::kPanelRows, rows));
    }
  }
  if (spec.recipe.transpose) checkpoint.drop(source, 0, source.end - source.begin);
}

}  // namespace

void make_tensor(const TensorSpec& spec, const Checkpoint& checkpoint, unsigned threads, const float* factor, const Sink& sink) {
  if (spec.recipe.source.empty()) return sink(std::as_bytes(std::span(spec.recipe.values)));
  const TensorInfo* source = checkpoint.find(spec.recipe.source);
  if (!source || source->type == ElementType::other) fail(LINNET_INTERNAL, "tensor ", spec.name, " has no source that can be read");
  if (packing::is_integer(spec.dtype)) make_integer(spec, checkpoint, *source, threads, factor, sink);
  else if (spec.dtype == LINNET_F32) make<uint32_t>(spec, checkpoint, *source, sink);
  else make<uint16_t>(spec, checkpoint, *source, sink);
}

}  // namespace linnet::converter
