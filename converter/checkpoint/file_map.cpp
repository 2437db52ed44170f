#include "converter/checkpoint/file_map.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "converter/message.h"

namespace linnet::converter {

namespace {

// Opened without blocking, so that a FIFO named model.safetensors cannot hang the converter.
int open_regular(const std::string& path, struct stat* status) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) fail(LINNET_IO, shown(path), ": ", std::strerror(errno));
  const bool known = ::fstat(fd, status) == 0;
  const int error = errno;
  if (known && S_ISREG(status->st_mode)) return fd;
  ::close(fd);
  if (!known) fail(LINNET_IO, shown(path), ": ", std::strerror(error));
  fail(LINNET_BAD_FILE, shown(path), " is not a regular file");
}

}  // namespace

FileMap::FileMap(const std::string& path) : path_(path) {
  struct stat status {};
  const int fd = open_regular(path, &status);
  bytes_ = static_cast<uint64_t>(status.st_size);
  device_ = status.st_dev;
  inode_ = status.st_ino;
  if (bytes_) {
    void* data = ::mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE, fd, 0);
    const int error = errno;
    ::close(fd);
    if (data == MAP_FAILED) fail(LINNET_IO, shown(path), ": mapping ", bytes_, " bytes: ", std::strerror(error));
    data_ = static_cast<std::byte*>(data);
  } else {
    ::close(fd);
  }
}

FileMap::FileMap(FileMap&& other) noexcept
    : path_(std::move(other.path_)), data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_), device_(other.device_), inode_(other.inode_) {}

FileMap::~FileMap() {
  if (data_) ::munmap(data_, bytes_);
}

bool FileMap::is_file(const std::string& path) const {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
}

void FileMap::drop(uint64_t begin, uint64_t end) const {
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  begin = begin / page * page;  // a page shared with a neighbour may go too: it is read again from the file
  end = end / page * page;
  if (data_ && begin < end) ::madvise(data_ + begin, end - begin, MADV_DONTNEED);
}

namespace {

std::string read_and_close(int fd, const std::string& path, size_t n) {
  std::string text(n, '\0');
  size_t at = 0;
  int error = 0;
  while (at < n && !error) {
    const ssize_t got = ::read(fd, text.data() + at, n - at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) error = errno;
    if (got <= 0) break;
    at += static_cast<size_t>(got);
  }
  ::close(fd);
  if (error) fail(LINNET_IO, shown(path), ": ", std::strerror(error));
  text.resize(at);
  return text;
}

}  // namespace

std::string read_text_file(const std::string& path, uint64_t cap) {
  struct stat status {};
  const int fd = open_regular(path, &status);
  const auto size = static_cast<uint64_t>(status.st_size);
  if (size <= cap) return read_and_close(fd, path, size);
  ::close(fd);
  fail(LINNET_BAD_FILE, shown(path), " has ", size, " bytes; more than ", cap, " are not read");
}

std::string read_start(const std::string& path, size_t n) {
  struct stat status {};
  const int fd = open_regular(path, &status);
  return read_and_close(fd, path, n);
}

}  // namespace linnet::converter
