// Linnet for C++20: a thin header over c.h. Start here.
//
//   auto model  = linnet::Model::open("story.linnet");                  // mapped, verified, shareable between threads
//   if (!model) return report(model.error());
//   auto runner = linnet::Runner::create(*model, {.context = 2048, .threads = 2});
//   if (!runner) return report(runner.error());
//   linnet::Writer writer(*runner);
//   auto reply = writer.complete("Once upon a time", {.max_tokens = 200, .seed = 7});
//   while (auto text = reply.next()) std::cout << *text << std::flush;   // whole characters only
//   if (reply.finish() == linnet::Finish::error) return report(reply.error());
//
// Nothing here throws, allocates behind your back or prints. A call that can fail returns Status or Result<T>; dereferencing a failed
// Result is a bug of the caller's (asserted in debug builds), as with std::expected. Objects are movable handles that release what they
// hold; a Runner keeps its Model alive; Sessions and Writers must go before their Runner. Threads: see the top of c.h.
#pragma once
#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "linnet/c.h"

namespace linnet {

// A failed call's diagnostic; also the success of a call that returns nothing.
class [[nodiscard]] Status {
 public:
  Status() : error_{} { error_.node = -1; }
  explicit Status(const linnet_error& error) : error_(error) {}
  bool ok() const { return error_.code == LINNET_OK; }
  explicit operator bool() const { return ok(); }
  linnet_code code() const { return error_.code; }
  const char* message() const { return error_.message; }
  const char* subject() const { return error_.subject; }
  const linnet_error& details() const { return error_; }

 private:
  linnet_error error_;
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Status error) : error_(std::move(error)) { assert(!error_.ok()); }
  explicit operator bool() const { return value_.has_value(); }
  T& operator*() & {
    assert(value_);
    return *value_;
  }
  const T& operator*() const& {
    assert(value_);
    return *value_;
  }
  T&& operator*() && {
    assert(value_);
    return std::move(*value_);
  }
  T* operator->() {
    assert(value_);
    return &*value_;
  }
  const T* operator->() const {
    assert(value_);
    return &*value_;
  }
  const Status& error() const { return error_; }

 private:
  std::optional<T> value_;
  Status error_;
};

namespace detail {
template <typename Handle, void (*Release)(Handle*)>
class Owned {
 public:
  Owned() = default;
  explicit Owned(Handle* h) : handle_(h) {}
  Owned(Owned&& o) noexcept : handle_(std::exchange(o.handle_, nullptr)) {}
  Owned& operator=(Owned&& o) noexcept {
    if (this != &o) {
      Release(handle_);
      handle_ = std::exchange(o.handle_, nullptr);
    }
    return *this;
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() { Release(handle_); }
  Handle* get() const { return handle_; }

 private:
  Handle* handle_ = nullptr;
};

// Calls f(&error) and turns its code into a Status.
template <typename F>
Status status(F&& f) {
  linnet_error error{};
  return f(&error) == LINNET_OK ? Status() : Status(error);
}
inline const volatile int* flag(const std::atomic<int>* f) {
  static_assert(sizeof(std::atomic<int>) == sizeof(int) && std::atomic<int>::is_always_lock_free);
  return reinterpret_cast<const volatile int*>(f);
}
}  // namespace detail

// ---- Model ----

struct ModelOptions {
  linnet_load load = LINNET_LOAD_MAP;
  linnet_verify verify = LINNET_VERIFY_STRUCTURE;
  linnet_registry* registry = nullptr;          // null: the built-in ops
  const linnet_allocator* allocator = nullptr;  // null: malloc
  std::optional<linnet_dtype> kv_dtype = {};    // how keys and values are kept: f32, f16, i8; none: as the file says
};

class Model {
 public:
  static Result<Model> open(const char* path, const ModelOptions& options = {}) {
    const linnet_model_options o = convert(options);
    return make([&](linnet_model** out, linnet_error* e) { return linnet_model_open(path, &o, out, e); });
  }
  static Result<Model> open(const std::string& path, const ModelOptions& options = {}) { return open(path.c_str(), options); }
  // Bytes that outlive the model, 64-byte aligned.
  static Result<Model> open(std::span<const std::byte> file, const ModelOptions& options = {}) {
    const linnet_model_options o = convert(options);
    return make([&](linnet_model** out, linnet_error* e) { return linnet_model_open_memory(file.data(), file.size(), &o, out, e); });
  }
  linnet_model_info info() const {
    linnet_model_info out{};
    out.size = sizeof out;
    linnet_model_get_info(get(), &out);
    return out;
  }
  Status verify() const {
    return detail::status([&](linnet_error* e) { return linnet_model_verify(get(), e); });
  }
  linnet_model* get() const { return handle_.get(); }

 private:
  explicit Model(linnet_model* m) : handle_(m) {}
  static linnet_model_options convert(const ModelOptions& options) {
    linnet_model_options o;
    linnet_model_options_init(&o);
    o.load = options.load;
    o.verify = options.verify;
    o.registry = options.registry ? options.registry : linnet_builtin_registry();
    o.allocator = options.allocator;
    if (options.kv_dtype) o.kv_dtype = *options.kv_dtype;
    return o;
  }
  template <typename F>
  static Result<Model> make(F&& f) {
    linnet_model* out = nullptr;
    if (auto s = detail::status([&](linnet_error* e) { return f(&out, e); }); !s.ok()) return s;
    return Model(out);
  }
  detail::Owned<linnet_model, linnet_model_release> handle_;
};

// ---- Runner ----

struct RunnerOptions {  // 0 means the default; c.h says which
  uint64_t context = 0;
  uint32_t max_rows = 0, sessions = 0, pages = 0, wanted_rows = 0, threads = 0;
  std::span<std::byte> buffer = {};          // your memory instead of the allocator's
  const linnet_thread_pool* pool = nullptr;  // your threads instead of its own
  const linnet_allocator* allocator = nullptr;

  linnet_runner_options c() const {
    linnet_runner_options o;
    linnet_runner_options_init(&o);
    o.context = context;
    o.max_rows = max_rows;
    o.sessions = sessions;
    o.pages = pages;
    o.wanted_rows = wanted_rows;
    o.threads = threads;
    o.buffer = buffer.data();
    o.buffer_bytes = buffer.size();
    o.pool = pool;
    o.allocator = allocator;
    return o;
  }
};

// Exact bytes, before any weight is read.
inline Result<linnet_plan> plan(const Model& model, const RunnerOptions& options = {}) {
  const linnet_runner_options o = options.c();
  linnet_plan out{};
  if (auto s = detail::status([&](linnet_error* e) { return linnet_model_plan(model.get(), &o, &out, e); }); !s.ok()) return s;
  return out;
}

class Runner {
 public:
  static Result<Runner> create(const Model& model, const RunnerOptions& options = {}) {
    const linnet_runner_options o = options.c();
    linnet_runner* out = nullptr;
    if (auto s = detail::status([&](linnet_error* e) { return linnet_runner_create(model.get(), &o, &out, e); }); !s.ok()) return s;
    return Runner(out);
  }
  linnet_plan plan() const {
    linnet_plan out{};
    linnet_runner_get_plan(get(), &out);
    return out;
  }
  uint32_t free_pages() const { return linnet_runner_free_pages(get()); }
  void cancel_on(const std::atomic<int>* flag) { linnet_runner_set_cancel(get(), detail::flag(flag)); }
  Status step(std::span<const linnet_step_entry> entries) {
    return detail::status([&](linnet_error* e) { return linnet_step(get(), entries.data(), static_cast<uint32_t>(entries.size()), e); });
  }
  Status begin(std::span<const linnet_step_entry> entries) {
    return detail::status([&](linnet_error* e) { return linnet_step_begin(get(), entries.data(), static_cast<uint32_t>(entries.size()), e); });
  }
  // true: the step is done and can be committed.
  Result<bool> advance(uint64_t budget_ns) {
    int done = 0;
    if (auto s = detail::status([&](linnet_error* e) { return linnet_step_advance(get(), budget_ns, &done, e); }); !s.ok()) return s;
    return done != 0;
  }
  Status commit(std::span<const uint32_t> keep = {}) {
    return detail::status([&](linnet_error* e) { return linnet_step_commit(get(), keep.empty() ? nullptr : keep.data(), e); });
  }
  void abort() { linnet_step_abort(get()); }
  // Row i of the last step's logits is [i * stride, i * stride + vocabulary).
  Result<std::span<const float>> logits(uint64_t* stride) const {
    const float* data = nullptr;
    uint32_t rows = 0;
    if (auto s = detail::status([&](linnet_error* e) { return linnet_step_logits(get(), &data, &rows, stride, e); }); !s.ok()) return s;
    return std::span<const float>(data, rows * *stride);
  }
  linnet_runner* get() const { return handle_.get(); }

 private:
  explicit Runner(linnet_runner* r) : handle_(r) {}
  detail::Owned<linnet_runner, linnet_runner_release> handle_;
};

// ---- Session ----

struct Sampling : linnet_sampling {
  Sampling() { linnet_sampling_init(this); }
};

class Session {
 public:
  static Result<Session> create(Runner& runner) {
    return make([&](linnet_session** out, linnet_error* e) { return linnet_session_create(runner.get(), out, e); });
  }
  Result<Session> fork() {
    return make([&](linnet_session** out, linnet_error* e) { return linnet_session_fork(get(), out, e); });
  }
  Status prefill(std::span<const int32_t> tokens) {
    return detail::status([&](linnet_error* e) { return linnet_session_prefill(get(), tokens.data(), tokens.size(), e); });
  }
  Result<std::span<const float>> logits() {
    const float* data = nullptr;
    if (auto s = detail::status([&](linnet_error* e) { return linnet_session_logits(get(), &data, e); }); !s.ok()) return s;
    linnet_model_info info{};
    info.size = sizeof info;
    linnet_model_get_info(linnet_runner_model(runner_of()), &info);
    return std::span<const float>(data, info.vocabulary);
  }
  // One token from the logits; feeds it.
  Result<linnet_sampled> next(const linnet_sampling& sampling) {
    linnet_sampled out{};
    if (auto s = detail::status([&](linnet_error* e) { return linnet_session_next(get(), &sampling, &out, e); }); !s.ok()) return s;
    return out;
  }
  // One token from the logits; the session does not move.
  Result<linnet_sampled> sample(const linnet_sampling& sampling) {
    linnet_sampled out{};
    if (auto s = detail::status([&](linnet_error* e) { return linnet_session_sample(get(), &sampling, &out, e); }); !s.ok()) return s;
    return out;
  }
  Status truncate(uint64_t n) {
    return detail::status([&](linnet_error* e) { return linnet_session_truncate(get(), n, e); });
  }
  void reset() { linnet_session_reset(get()); }
  uint64_t position() const { return linnet_session_position(get()); }
  std::span<const int32_t> tokens() const { return {linnet_session_tokens(get()), static_cast<size_t>(position())}; }
  linnet_session* get() const { return handle_.get(); }

 private:
  explicit Session(linnet_session* s) : handle_(s) {}
  template <typename F>
  static Result<Session> make(F&& f) {
    linnet_session* out = nullptr;
    if (auto s = detail::status([&](linnet_error* e) { return f(&out, e); }); !s.ok()) return s;
    return Session(out);
  }
  linnet_runner* runner_of() const { return linnet_session_runner(get()); }
  detail::Owned<linnet_session, linnet_session_release> handle_;
};

// ---- Text ----

class Tokenizer {
 public:
  static Result<Tokenizer> create(const Model& model) {
    linnet_tokenizer* out = nullptr;
    if (auto s = detail::status([&](linnet_error* e) { return linnet_tokenizer_create(model.get(), &out, e); }); !s.ok()) return s;
    return Tokenizer(out);
  }
  // flags: linnet_encode_flags
  Result<std::vector<int32_t>> encode(std::string_view text, uint32_t flags = LINNET_ADD_SPECIAL) const {
    std::vector<int32_t> ids(text.size() + 16);
    for (;;) {
      size_t count = 0;
      linnet_error error{};
      const linnet_code code = linnet_tokenizer_encode(get(), text.data(), text.size(), flags, ids.data(), ids.size(), &count, &error);
      if (code == LINNET_OK || code == LINNET_BUFFER_TOO_SMALL) ids.resize(count);
      if (code == LINNET_OK) return ids;
      if (code != LINNET_BUFFER_TOO_SMALL) return Status(error);
    }
  }
  Result<std::string> decode(std::span<const int32_t> ids, bool skip_special = false) const {
    std::string text(ids.size() * 8 + 16, '\0');
    for (;;) {
      size_t bytes = 0;
      linnet_error error{};
      const linnet_code code = linnet_tokenizer_decode(get(), ids.data(), ids.size(), skip_special, text.data(), text.size(), &bytes, &error);
      if (code == LINNET_OK || code == LINNET_BUFFER_TOO_SMALL) text.resize(bytes);
      if (code == LINNET_OK) return text;
      if (code != LINNET_BUFFER_TOO_SMALL) return Status(error);
    }
  }
  linnet_tokenizer* get() const { return handle_.get(); }

 private:
  explicit Tokenizer(linnet_tokenizer* t) : handle_(t) {}
  detail::Owned<linnet_tokenizer, linnet_tokenizer_release> handle_;
};

enum class Finish {
  none = LINNET_FINISH_NONE,
  stop = LINNET_FINISH_STOP,
  length = LINNET_FINISH_LENGTH,
  context_full = LINNET_FINISH_CONTEXT_FULL,
  cancelled = LINNET_FINISH_CANCELLED,
  error = LINNET_FINISH_ERROR
};

struct WriteOptions {
  int64_t max_tokens = -1;                // -1: until an end token or a full context
  std::optional<float> temperature = {};  // none: 0, the most likely token each time; c.h, linnet_sampling, has the ranges
  uint32_t top_k = 0;
  std::optional<float> top_p = {}, min_p = {}, repetition_penalty = {};
  uint32_t penalty_window = 0;
  uint64_t seed = 0;
  std::span<const linnet_logit_bias> biases = {};
  std::span<const linnet_logits_processor> processors = {};
  std::span<const char* const> stop = {};  // the text ends before the first of these
  bool parse_special = false;              // "<s>" in the prompt becomes the control token
  bool add_special = true;                 // what the tokenizer adds by itself, such as a beginning-of-sequence token
  bool skip_special = true, ignore_eos = false;
  const std::atomic<int>* cancel = nullptr;

  linnet_write_options c() const {
    linnet_write_options o;
    linnet_write_options_init(&o);
    o.encode_flags = (parse_special ? uint32_t{LINNET_PARSE_SPECIAL} : 0u) | (add_special ? uint32_t{LINNET_ADD_SPECIAL} : 0u);
    o.max_tokens = max_tokens;
    if (temperature) o.sampling.temperature = *temperature;
    o.sampling.top_k = top_k;
    if (top_p) o.sampling.top_p = *top_p;
    if (min_p) o.sampling.min_p = *min_p;
    if (repetition_penalty) o.sampling.repetition_penalty = *repetition_penalty;
    o.sampling.penalty_window = penalty_window;
    o.sampling.seed = seed;
    o.sampling.biases = biases.data();
    o.sampling.bias_count = static_cast<uint32_t>(biases.size());
    o.sampling.processors = processors.data();
    o.sampling.processor_count = static_cast<uint32_t>(processors.size());
    o.stop = stop.data();
    o.stop_count = static_cast<uint32_t>(stop.size());
    o.skip_special = skip_special;
    o.ignore_eos = ignore_eos;
    o.cancel = detail::flag(cancel);
    return o;
  }
};

// A reply in the making: pull it with next().
class Reply {
 public:
  // The next piece of whole characters, valid until the next call; nothing when the reply is finished (finish() says why).
  std::optional<std::string_view> next() {
    if (!writer_) return std::nullopt;
    const char* text = nullptr;
    size_t bytes = 0;
    linnet_finish finish = LINNET_FINISH_NONE;
    linnet_error error{};
    if (linnet_writer_next(writer_, &text, &bytes, &finish, &error) != LINNET_OK) error_ = Status(error);
    finish_ = static_cast<Finish>(finish);
    if (!text) {
      writer_ = nullptr;
      return std::nullopt;
    }
    return std::string_view(text, bytes);
  }
  Finish finish() const { return finish_; }
  const Status& error() const { return error_; }

 private:
  friend class Writer;
  Reply(linnet_writer* w, Status e) : writer_(w), finish_(w ? Finish::none : Finish::error), error_(std::move(e)) {}
  linnet_writer* writer_;
  Finish finish_;
  Status error_;
};

class Writer {
 public:
  explicit Writer(Runner& runner) {
    linnet_writer* out = nullptr;
    created_ = detail::status([&](linnet_error* e) { return linnet_writer_create(runner.get(), &out, e); });
    handle_ = decltype(handle_)(out);
  }
  // A writer that could not be made (no free session) says why in each reply.
  const Status& status() const { return created_; }
  Reply complete(std::string_view prompt, const WriteOptions& options = {}) {
    return begin(options,
                 [&](const linnet_write_options* o, linnet_error* e) { return linnet_writer_begin(get(), prompt.data(), prompt.size(), o, e); });
  }
  Reply complete_ids(std::span<const int32_t> ids, const WriteOptions& options = {}) {
    return begin(options,
                 [&](const linnet_write_options* o, linnet_error* e) { return linnet_writer_begin_ids(get(), ids.data(), ids.size(), o, e); });
  }
  // The tokens of the reply so far, end token not included.
  std::span<const int32_t> tokens() const {
    const int32_t* ids = nullptr;
    size_t count = 0;
    if (get()) linnet_writer_tokens(get(), &ids, &count);
    return {ids, count};
  }
  void reset() {
    if (get()) linnet_writer_reset(get());
  }
  linnet_writer* get() const { return handle_.get(); }

 private:
  template <typename F>
  Reply begin(const WriteOptions& options, F&& f) {
    if (!created_.ok()) return Reply(nullptr, created_);
    const linnet_write_options o = options.c();
    Status s = detail::status([&](linnet_error* e) { return f(&o, e); });
    const bool ok = s.ok();
    return Reply(ok ? get() : nullptr, std::move(s));
  }
  detail::Owned<linnet_writer, linnet_writer_release> handle_;
  Status created_;
};

}  // namespace linnet
