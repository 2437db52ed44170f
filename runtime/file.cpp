// Bringing a file into memory: mapped, or copied for hosts whose files may change under them.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>

#include "runtime/model.h"
#include "runtime/status.h"

namespace linnet::detail {

namespace {
linnet_code copy_file(int fd, const char* path, uint64_t bytes, const linnet_allocator& allocator, FileBytes* out, linnet_error* error) {
  auto* data = static_cast<uint8_t*>(allocator.alloc(allocator.context, bytes, 64));
  if (!data) return no_memory(error, bytes, path);
  *out = {data, bytes, FileBytes::Kind::copied, allocator};
  for (uint64_t at = 0; at < bytes;) {
    const ssize_t n = ::read(fd, data + at, bytes - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      out->release();
      return fail(error, LINNET_IO, path, {bytes, at}, "%s: reading stopped after %llu of %llu bytes: %s", path, static_cast<unsigned long long>(at),
                  static_cast<unsigned long long>(bytes), n < 0 ? std::strerror(errno) : "the file became shorter");
    }
    at += static_cast<uint64_t>(n);
  }
  return succeed(error);
}
}  // namespace

void FileBytes::release() {
  if (kind == Kind::mapped) ::munmap(const_cast<uint8_t*>(data), bytes);
  if (kind == Kind::copied) allocator.free(allocator.context, const_cast<uint8_t*>(data), bytes, 64);
  *this = FileBytes{};
}

linnet_code read_file(const char* path, bool copy, const linnet_allocator& allocator, FileBytes* out, linnet_error* error) {
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fail(error, LINNET_IO, path, {}, "%s: %s", path, std::strerror(errno));
  struct stat status {};
  linnet_code code = LINNET_OK;
  if (::fstat(fd, &status) != 0) code = fail(error, LINNET_IO, path, {}, "%s: %s", path, std::strerror(errno));
  else if (!S_ISREG(status.st_mode))
    code = fail(error, LINNET_IO, path, {}, "%s is not a regular file%s", path,
                S_ISDIR(status.st_mode) ? "; a checkpoint folder is converted first: linnet-convert" : "");
  else if (status.st_size < static_cast<off_t>(sizeof(Header)))
    code = fail(error, LINNET_BAD_FILE, path, {sizeof(Header), static_cast<uint64_t>(status.st_size)},
                "%s has %lld bytes; a .linnet file has at least %zu: it is cut or not one", path, static_cast<long long>(status.st_size),
                sizeof(Header));
  else if (copy) code = copy_file(fd, path, static_cast<uint64_t>(status.st_size), allocator, out, error);
  else {
    void* data = ::mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED)
      code = fail(error, LINNET_IO, path, {}, "%s: mapping %lld bytes: %s", path, static_cast<long long>(status.st_size), std::strerror(errno));
    else *out = {static_cast<const uint8_t*>(data), static_cast<uint64_t>(status.st_size), FileBytes::Kind::mapped, allocator};
  }
  ::close(fd);
  return code;
}

}  // namespace linnet::detail
