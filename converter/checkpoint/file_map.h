// A file of the checkpoint, mapped for reading. Symlinks are followed: a hub cache is made of them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace linnet::converter {

class FileMap {
 public:
  explicit FileMap(const std::string& path);  // throws ConvertError
  FileMap(FileMap&& other) noexcept;
  FileMap& operator=(FileMap&&) = delete;
  ~FileMap();

  const std::string& path() const { return path_; }
  const std::byte* data() const { return data_; }
  uint64_t bytes() const { return bytes_; }
  // Whether `path` names this same file (by device and inode).
  bool is_file(const std::string& path) const;
  // Gives the pages of [begin, end) back, so that a checkpoint larger than memory can be read through. Reading them again is allowed.
  void drop(uint64_t begin, uint64_t end) const;

 private:
  std::string path_;
  std::byte* data_ = nullptr;
  uint64_t bytes_ = 0, device_ = 0, inode_ = 0;
};

// A whole small text file; more than `cap` bytes is an error.
std::string read_text_file(const std::string& path, uint64_t cap);
// The first n bytes of a file, or all it has.
std::string read_start(const std::string& path, size_t n);

}  // namespace linnet::converter
