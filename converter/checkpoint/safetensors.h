// The header of a safetensors file: u64 length, that many bytes of JSON, then the data. Everything in it is checked before it is used:
// the file may come from anyone.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "converter/checkpoint/file_map.h"

namespace linnet::converter {

// What Linnet can read as weights, and everything else.
enum class ElementType : uint8_t { f32, f16, bf16, other };

struct TensorInfo {
  std::string name;
  std::string dtype;  // as the file spells it
  ElementType type = ElementType::other;
  std::vector<uint64_t> shape;
  uint64_t elements = 0;
  uint64_t begin = 0, end = 0;  // bytes of the file
  uint32_t file = 0;            // which of the checkpoint's files
};

inline uint64_t element_bytes(ElementType type) { return type == ElementType::f32 ? 4 : 2; }  // not for `other`

// Tensors in the order of their bytes. Throws ConvertError.
std::vector<TensorInfo> read_safetensors(const FileMap& file);

}  // namespace linnet::converter
