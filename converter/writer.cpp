#include "converter/writer.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "converter/message.h"

namespace linnet::converter {

namespace {

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

[[noreturn]] void exists(const std::string& path) {
  fail(LINNET_INVALID_ARGUMENT, shown(path), " exists; remove it, choose another name (-o), or replace it (--force)");
}

#ifndef RENAME_NOREPLACE
constexpr unsigned RENAME_NOREPLACE = 1;
#endif

// Renames unless something has appeared at `to` meanwhile. Where the system cannot do that in one step, the check comes just before.
int rename_new(const char* from, const char* to) {
#if defined(__linux__) && defined(_GNU_SOURCE)
  if (::renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return -1;
#endif
  struct stat status {};
  if (::lstat(to, &status) == 0) {
    errno = EEXIST;
    return -1;
  }
  return std::rename(from, to);
}

}  // namespace

void check_output(const std::string& path, bool force) {
  struct stat status {};
  if (path.empty() || path.back() == '/') fail(LINNET_INVALID_ARGUMENT, "the output \"", shown(path), "\" is not the name of a file");
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT && ::stat(folder_of(path).c_str(), &status) == 0 && S_ISDIR(status.st_mode)) return;
    const int error = errno;
    fail(LINNET_IO, "cannot write ", shown(path), ": ", error == ENOENT ? cat("there is no folder ", shown(folder_of(path))) : std::strerror(error));
  }
  if (S_ISDIR(status.st_mode)) fail(LINNET_INVALID_ARGUMENT, shown(path), " is a folder; give the name of a file in it");
  if (!S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode)) fail(LINNET_INVALID_ARGUMENT, shown(path), " is not a regular file");
  if (!force) exists(path);
}

OutputFile::OutputFile(std::string path, bool force) : path_(std::move(path)), force_(force) {
  static std::atomic<unsigned> count{0};
  check_output(path_, force);
  const std::string folder = folder_of(path_);
  for (int tries = 0; fd_ < 0 && tries < 100; ++tries) {
    temporary_ = cat(folder, "/.linnet-convert-", static_cast<long>(::getpid()), "-", count++, ".tmp");
    fd_ = ::open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);  // less the umask
    if (fd_ < 0 && errno != EEXIST) break;
  }
  if (fd_ < 0) fail(LINNET_IO, "cannot write into ", shown(folder), ": ", std::strerror(errno));
}

OutputFile::~OutputFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void OutputFile::write(uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail(LINNET_IO, "writing ", shown(path_), " at byte ", offset, ": ", n < 0 ? std::strerror(errno) : "nothing was written");
    offset += static_cast<uint64_t>(n);
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
}

void OutputFile::resize(uint64_t bytes) {
  if (::ftruncate(fd_, static_cast<off_t>(bytes)) != 0) fail(LINNET_IO, "writing ", shown(path_), ": ", std::strerror(errno));
}

void OutputFile::sync() {
  if (::fsync(fd_) != 0) fail(LINNET_IO, "writing ", shown(path_), " to disk: ", std::strerror(errno));
}

void OutputFile::commit() {
  const int error = ::close(fd_) != 0 ? errno : 0;
  fd_ = -1;
  if (error) fail(LINNET_IO, "writing ", shown(path_), ": ", std::strerror(error));
  const int renamed = force_ ? std::rename(temporary_.c_str(), path_.c_str()) : rename_new(temporary_.c_str(), path_.c_str());
  if (renamed != 0) {
    if (errno == EEXIST) exists(path_);
    fail(LINNET_IO, "naming ", shown(path_), ": ", std::strerror(errno));
  }
  temporary_.clear();
  // The name, too, goes to the disk. The file is complete; a folder that cannot be synced is no reason to take it back.
  const int folder = ::open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  ::fsync(folder);
  ::close(folder);
}

}  // namespace linnet::converter
