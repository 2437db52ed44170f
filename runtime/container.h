// The fixed header of a .linnet file: the one description, read by the loader and the writer. schema/FORMAT.md says it in words.
#pragma once
#include <bit>
#include <cstdint>

namespace linnet::detail {

static_assert(std::endian::native == std::endian::little, "the file is little-endian and read as it lies");

inline constexpr unsigned char kMagic[8] = {0x89, 'L', 'I', 'N', 'N', 'E', 'T', '\n'};
inline constexpr uint16_t kFormatMajor = 0, kFormatMinor = 1;
inline constexpr uint16_t kNumerics = 0;                       // revision of the numerics contract
inline constexpr uint64_t kSectionCap = uint64_t{64} << 20;    // of the graph and of the tokenizer section
inline constexpr uint64_t kWeightsAlign = uint64_t{64} << 10;  // where the weights section starts
inline constexpr uint64_t kTensorAlign = 64;
inline constexpr uint32_t kMaxSections = 4;

enum class SectionKind : uint32_t { graph = 1, tokenizer = 2, weights = 3 };

struct Section {
  uint32_t kind;
  uint32_t reserved;
  uint64_t offset;  // from the start of the file; a multiple of 64
  uint64_t bytes;
  uint64_t xxh3[2];  // XXH3-128 of the section: low64, high64
  uint64_t reserved2;
};
static_assert(sizeof(Section) == 48);

struct Header {
  unsigned char magic[8];
  uint16_t major, minor;
  uint32_t header_bytes;  // 256
  uint64_t file_bytes;
  uint32_t section_count;
  uint32_t reserved;
  Section sections[kMaxSections];
  uint64_t reserved2[3];
  uint64_t xxh3;  // XXH3-64 of the 248 bytes before it
};
static_assert(sizeof(Header) == 256);

}  // namespace linnet::detail
