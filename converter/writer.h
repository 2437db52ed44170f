// Writing a file so that it is either whole, under its name, or not there: a temporary file in the same folder, synced, renamed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace linnet::converter {

class OutputFile {
 public:
  // Refuses what must not be replaced: an existing file unless `force`, and always a folder, a device or the like.
  OutputFile(std::string path, bool force);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();  // removes the temporary file, unless it was committed

  const std::string& temporary_path() const { return temporary_; }
  void write(uint64_t offset, std::span<const std::byte> bytes);
  void resize(uint64_t bytes);  // so that the file ends there, whatever was written
  void sync();                  // to the disk: after it, an error can no longer come late
  void commit();                // gives the file its name

 private:
  std::string path_, temporary_;
  bool force_;
  int fd_ = -1;
};

// Throws unless a file may be written at `path` (as the constructor does, but before any work is done).
void check_output(const std::string& path, bool force);

}  // namespace linnet::converter
