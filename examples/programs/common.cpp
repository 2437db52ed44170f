#include "common.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>

#ifdef LINNET_MIMALLOC
#include <mimalloc.h>
#endif

namespace linnet::programs {

std::atomic<int> interrupted{0};

void fail(std::string message, int status) { throw Failure{std::move(message), status}; }

void fail(const Status& error) { fail(error.message(), error.code() == LINNET_CANCELLED ? kInterrupted : kFailed); }

std::string refuse_number(const std::string& text, uint64_t most) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc{} && end == text.data() + text.size() && number <= most;
  return whole ? "" : "\"" + text + "\" is not a whole number up to " + std::to_string(most);
}

namespace {

// To the end of the file. Ctrl-C ends the wait: a signal can come between the look at the flag and a read, so that waiting is cut in pieces.
std::string read_all(int fd, const std::string& name) {
  std::string text;
  char block[65536];
  for (;;) {
    if (interrupted) fail("", kInterrupted);
    pollfd ready{fd, POLLIN, 0};
    if (::poll(&ready, 1, 100) <= 0) continue;
    const ssize_t n = ::read(fd, block, sizeof block);
    if (n == 0) return text;
    if (n > 0) text.append(block, static_cast<size_t>(n));
    else if (errno != EINTR && errno != EAGAIN) fail(name + ": " + std::strerror(errno));
  }
}

}  // namespace

int run(CLI::App& app, int argc, char** argv, int (*body)()) {
  const std::string name = app.get_name();
  signal(SIGPIPE, SIG_IGN);  // write_stdout sees it
  for (CLI::Option* option : app.get_options([](const CLI::Option* o) { return o->get_type_name().starts_with("UINT"); }))
    option->check(CLI::Validator([](std::string& text) { return refuse_number(text, UINT64_MAX); }, ""));
  try {
    app.parse(argc, argv);
    return body();
  } catch (const CLI::Success& e) { return app.exit(e); } catch (const CLI::ParseError& e) {
    std::cerr << name << ": " << e.what() << " (see " << name << " --help)\n";
    return kUsage;
  } catch (const Failure& e) {
    if (!e.message.empty()) std::cerr << name << ": " << printable(e.message) << "\n";
    return e.status;
  } catch (const std::exception& e) {
    std::cerr << name << ": " << printable(e.what()) << "\n";
    return kFailed;
  }
}

std::string printable(std::string text) {
  for (char& c : text)
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7f) c = '?';
  return text;
}

void describe(CLI::App& app, const std::string& examples) {
  app.set_version_flag("--version", app.get_name() + " " + linnet_version());
  app.footer("Examples:\n" + examples);
  app.get_formatter()->column_width(36);
}

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = [](int) { interrupted.store(1, std::memory_order_relaxed); };
  action.sa_flags = static_cast<int>(SA_RESETHAND);  // the second one kills
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool terminal(int fd) { return isatty(fd) == 1; }

std::string read_stdin() { return read_all(STDIN_FILENO, "standard input"); }

std::string read_file(const std::string& path) {
  struct Closing {
    int fd;
    ~Closing() { ::close(fd); }
  };
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) fail(path + ": " + std::strerror(errno));
  const Closing closing{fd};
  return read_all(fd, path);
}

void write_stdout(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(STDOUT_FILENO, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(errno == EPIPE ? "" : std::string("standard output: ") + std::strerror(errno));
    text.remove_prefix(static_cast<size_t>(n));
  }
}

std::vector<int32_t> parse_ids(const std::string& given) {
  const std::string text = given == "-" ? read_stdin() : given;
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return {};
  try {
    const auto json = nlohmann::json::parse(text[first] == '[' ? text : "[" + text + "]");
    std::vector<int32_t> ids;
    for (const auto& id : json) {
      if (!id.is_number_integer() || id < INT32_MIN || id > INT32_MAX) fail("token ids are integers; " + id.dump() + " is not one", kUsage);
      ids.push_back(id.get<int32_t>());
    }
    return ids;
  } catch (const nlohmann::json::exception&) {
    fail("token ids are given as 1,2,3 or as a JSON array; could not read \"" + text.substr(0, 60) + "\"", kUsage);
  }
}

std::string ids_to_json(const int32_t* ids, size_t count) {
  std::string out = "[";
  for (size_t i = 0; i < count; ++i) out += (i ? ", " : "") + std::to_string(ids[i]);
  return out + "]";
}

namespace {
#ifdef LINNET_MIMALLOC
const linnet_allocator kAllocator{[](void*, size_t size, size_t alignment) { return mi_malloc_aligned(size, alignment); },
                                  [](void*, void* p, size_t, size_t alignment) { mi_free_aligned(p, alignment); }, nullptr};
const linnet_allocator* const kPrograms = &kAllocator;
#else
const linnet_allocator* const kPrograms = nullptr;
#endif
}  // namespace

namespace {
const char* const kDtypes[] = {"f32", "f16", "bf16", "i8", "i4", "i32"};
}

const char* dtype_name(uint8_t dtype) { return dtype < std::size(kDtypes) ? kDtypes[dtype] : "?"; }

void add_model(CLI::App& app, ModelChoice& choice) { app.add_option("MODEL", choice.path, "a .linnet file")->required(); }

void add_kernels(CLI::App& app, ModelChoice& choice) {
  app.add_option("--isa", choice.isa,
#ifdef __aarch64__
                 "kernels to use: scalar, neon or neon_dot"
#else
                 "kernels to use: scalar, avx2, avxvnni or avx512"
#endif
                 "; default: the best for this processor. The results are the same");
}

void add_kv_dtype(CLI::App& app, ModelChoice& choice) {
  app.add_option("--kv-dtype", choice.kv_dtype, "keep keys and values in f32, f16 or i8 (about half of f16's memory); default: as the file says")
      ->check(CLI::IsMember({"f32", "f16", "i8"}));
}

Model open_model(const ModelChoice& choice) {
  ModelOptions options;
  options.allocator = kPrograms;
  for (const linnet_dtype dtype : {LINNET_F32, LINNET_F16, LINNET_I8})
    if (choice.kv_dtype == dtype_name(dtype)) options.kv_dtype = dtype;
  linnet_registry* registry = nullptr;
  if (!choice.isa.empty()) {
    check(detail::status([&](linnet_error* e) { return linnet_registry_create(kPrograms, &registry, e); }));
    const Status s = detail::status([&](linnet_error* e) { return linnet_register_builtin_ops(registry, choice.isa.c_str(), e); });
    if (!s.ok()) {
      linnet_registry_release(registry);
      fail(s);
    }
    options.registry = registry;
  }
  auto model = Model::open(choice.path, options);
  linnet_registry_release(registry);  // the model keeps it
  return check(std::move(model));
}

std::string human_bytes(uint64_t bytes) {
  char text[32];
  if (bytes < 1024) std::snprintf(text, sizeof text, "%llu B", static_cast<unsigned long long>(bytes));
  else if (bytes < (1u << 20)) std::snprintf(text, sizeof text, "%.1f KiB", static_cast<double>(bytes) / 1024);
  else if (bytes < (1u << 30)) std::snprintf(text, sizeof text, "%.1f MiB", static_cast<double>(bytes) / (1 << 20));
  else std::snprintf(text, sizeof text, "%.2f GiB", static_cast<double>(bytes) / (1 << 30));
  return text;
}

}  // namespace linnet::programs
