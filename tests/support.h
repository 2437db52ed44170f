// What the tests share: temporary folders, converted golden checkpoints, runs and hashes of logits.
#pragma once
#include <unistd.h>
#include <xxhash.h>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "linnet/convert.h"
#include "linnet/linnet.h"

namespace linnet::tests {

namespace fs = std::filesystem;

class TempDir {
 public:
  TempDir() {
    std::string pattern = (fs::temp_directory_path() / "linnet-test-XXXXXX").string();
    if (!mkdtemp(pattern.data())) throw std::runtime_error("no temporary folder");
    path_ = pattern;
  }
  ~TempDir() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  const fs::path& path() const { return path_; }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

inline std::string slurp(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}
inline void spill(const fs::path& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

// Names in a folder, sorted.
inline std::vector<std::string> files_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& e : fs::directory_iterator(folder)) names.push_back(e.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

inline fs::path golden(const std::string& name) { return fs::path(LINNET_SOURCE_DIR) / "tests/golden" / name; }
inline std::vector<std::string> golden_names() {
  std::vector<std::string> names;
  for (const auto& e : fs::directory_iterator(golden("")))
    if (fs::exists(e.path() / "expected.json")) names.push_back(e.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

// Converts into `folder`, once a name and dtype; returns the path of the .linnet file.
inline std::string convert_golden(const std::string& name, std::optional<linnet_dtype> dtype = LINNET_F32) {
  static TempDir folder;
  const std::string out = folder / (name + (dtype ? "-" + std::to_string(*dtype) : "") + ".linnet");
  if (fs::exists(out)) return out;
  ConvertOptions options;
  options.source = golden(name).string();
  options.output = out;
  options.dtype = dtype;
  linnet_error error{};
  BOOST_REQUIRE_MESSAGE(convert(options, nullptr, &error) == LINNET_OK, name << ": " << error.message);
  return out;
}

struct RegistryDeleter {
  void operator()(linnet_registry* r) const { linnet_registry_release(r); }
};
using Registry = std::unique_ptr<linnet_registry, RegistryDeleter>;
inline Registry registry_for(const char* isa) {
  linnet_registry* r = nullptr;
  linnet_error error{};
  BOOST_REQUIRE_EQUAL(linnet_registry_create(nullptr, &r, &error), LINNET_OK);
  Registry owned(r);
  BOOST_REQUIRE_MESSAGE(linnet_register_builtin_ops(r, isa, &error) == LINNET_OK, error.message);
  return owned;
}

// The best set without these ops, so that their bodies run.
inline Registry registry_without(std::initializer_list<const char*> ops) {
  Registry r = registry_for(nullptr);
  linnet_error error{};
  for (const char* op : ops) BOOST_REQUIRE_MESSAGE(linnet_registry_remove(r.get(), op, &error) == LINNET_OK, error.message);
  return r;
}

template <typename T>
T need(Result<T> result) {
  BOOST_REQUIRE_MESSAGE(bool(result), result.error().message());
  return std::move(*result);
}
inline void need(const Status& s) { BOOST_REQUIRE_MESSAGE(s.ok(), s.message()); }

// Every row's logits, fed in chunks of max_rows.
inline std::vector<std::vector<float>> all_logits(Runner& runner, Session& session, std::span<const int32_t> ids) {
  const uint32_t rows = runner.plan().max_rows;
  std::vector<std::vector<float>> out;
  for (size_t at = 0; at < ids.size();) {
    const auto n = static_cast<uint32_t>(std::min<size_t>(rows, ids.size() - at));
    const linnet_step_entry entry{session.get(), ids.data() + at, n, LINNET_WANT_ALL};
    need(runner.step({&entry, 1}));
    uint64_t stride = 0;
    const auto logits = need(runner.logits(&stride));
    linnet_model_info info{};
    info.size = sizeof info;
    linnet_model_get_info(linnet_runner_model(runner.get()), &info);
    for (uint32_t i = 0; i < n; ++i) out.emplace_back(logits.data() + i * stride, logits.data() + i * stride + info.vocabulary);
    at += n;
  }
  return out;
}
inline std::vector<std::vector<float>> all_logits(const Model& model, std::span<const int32_t> ids, uint32_t threads = 1, uint32_t chunk = 64) {
  Runner runner = need(Runner::create(model, {.context = ids.size(), .max_rows = chunk, .wanted_rows = chunk, .threads = threads}));
  Session session = need(Session::create(runner));
  return all_logits(runner, session, ids);
}

inline uint64_t hash(const std::vector<std::vector<float>>& rows) {
  uint64_t h = 0;
  for (const auto& row : rows) h = XXH3_64bits_withSeed(row.data(), row.size() * sizeof(float), h);
  return h;
}

inline std::vector<int32_t> random_ids(size_t n, uint32_t vocabulary, uint32_t seed = 1) {
  std::mt19937 rng(seed);
  std::vector<int32_t> ids(n);
  for (auto& id : ids) id = static_cast<int32_t>(rng() % vocabulary);
  return ids;
}

inline std::vector<int32_t> greedy(Session& session, size_t n) {
  std::vector<int32_t> out;
  const Sampling sampling;
  for (size_t i = 0; i < n; ++i) out.push_back(need(session.next(sampling)).token);
  return out;
}

}  // namespace linnet::tests
