// Memory that says when there is none: the standard containers can only throw, and the runtime never does.
#pragma once
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#include "linnet/types.h"

namespace linnet::detail {

inline void* malloc_alloc(void*, size_t size, size_t alignment) {
  void* p = nullptr;
  return posix_memalign(&p, alignment < sizeof(void*) ? sizeof(void*) : alignment, size ? size : 1) ? nullptr : p;
}
inline void malloc_free(void*, void* p, size_t, size_t) { std::free(p); }

inline linnet_allocator allocator_or_malloc(const linnet_allocator* a) {
  return a && a->alloc ? *a : linnet_allocator{malloc_alloc, malloc_free, nullptr};
}

// A growable array of trivially copyable elements over a linnet_allocator. Growing returns false where there is no memory.
template <typename T>
class Vec {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Vec() : allocator_(allocator_or_malloc(nullptr)) {}
  explicit Vec(const linnet_allocator& allocator) : allocator_(allocator) {}
  Vec(Vec&& other) noexcept { take(other); }
  Vec& operator=(Vec&& other) noexcept {
    if (this != &other) {
      release();
      take(other);
    }
    return *this;
  }
  Vec(const Vec&) = delete;
  Vec& operator=(const Vec&) = delete;
  ~Vec() { release(); }

  [[nodiscard]] bool reserve(size_t n) {
    if (n <= capacity_) return true;
    if (n > SIZE_MAX / sizeof(T)) return false;
    void* p = allocator_.alloc(allocator_.context, n * sizeof(T), kAlign);
    if (!p) return false;
    if (size_) std::memcpy(p, data_, size_ * sizeof(T));
    free_block();
    data_ = static_cast<T*>(p);
    capacity_ = n;
    return true;
  }
  // New elements are zero bytes.
  [[nodiscard]] bool resize(size_t n) {
    if (n > capacity_ && !reserve(n)) return false;
    if (n > size_) std::memset(static_cast<void*>(data_ + size_), 0, (n - size_) * sizeof(T));
    size_ = n;
    return true;
  }
  [[nodiscard]] bool push(const T& value) {
    if (size_ == capacity_ && !reserve(capacity_ ? capacity_ * 2 : 16)) return false;
    data_[size_++] = value;
    return true;
  }
  [[nodiscard]] bool append(const T* values, size_t n) {
    if (size_ + n > capacity_) {
      const size_t doubled = capacity_ * 2;
      if (!reserve(doubled > size_ + n ? doubled : size_ + n)) return false;
    }
    if (n) std::memcpy(static_cast<void*>(data_ + size_), values, n * sizeof(T));
    size_ += n;
    return true;
  }
  void clear() { size_ = 0; }
  void pop() { --size_; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T& back() { return data_[size_ - 1]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }

 private:
  static constexpr size_t kAlign = alignof(T) > 16 ? alignof(T) : 16;
  void free_block() {
    if (data_) allocator_.free(allocator_.context, data_, capacity_ * sizeof(T), kAlign);
  }
  void release() {
    free_block();
    data_ = nullptr;
    size_ = capacity_ = 0;
  }
  void take(Vec& other) {
    allocator_ = other.allocator_;
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, 0);
  }
  linnet_allocator allocator_;
  T* data_ = nullptr;
  size_t size_ = 0, capacity_ = 0;
};

// One object from an allocator; null where there is no memory.
template <typename T, typename... Args>
T* make(const linnet_allocator& allocator, Args&&... args) {
  void* p = allocator.alloc(allocator.context, sizeof(T), alignof(T));
  return p ? new (p) T(std::forward<Args>(args)...) : nullptr;
}
template <typename T>
void destroy(const linnet_allocator& allocator, T* object) {
  if (!object) return;
  const linnet_allocator copy = allocator;  // it may live inside the object
  object->~T();
  copy.free(copy.context, object, sizeof(T), alignof(T));
}

}  // namespace linnet::detail
