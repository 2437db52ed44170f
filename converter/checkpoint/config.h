// Reads fields of config.json and its kin. Each reader says whether the field must be there, what it may be, and, in its error, the
// file, the field and the value found. null counts as absent, except to `present`.
#pragma once
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace linnet::converter {

class Config {
 public:
  // `file` is the name that errors use.
  static Config parse(std::string_view text, std::string file);
  static Config read(const std::string& path, std::string file);

  bool present(std::string_view key) const;  // null or not
  bool has(std::string_view key) const;      // and not null

  uint64_t integer(std::string_view key, uint64_t least, uint64_t most) const;
  uint64_t integer_or(std::string_view key, uint64_t least, uint64_t most, uint64_t fallback) const;
  double real(std::string_view key, double least, double most) const;
  double real_or(std::string_view key, double least, double most, double fallback) const;
  bool boolean_or(std::string_view key, bool fallback) const;
  std::string text(std::string_view key) const;
  std::string text_or(std::string_view key, std::string fallback) const;
  std::vector<std::string> texts(std::string_view key) const;   // a list of strings; empty if absent
  std::vector<int64_t> integers(std::string_view key) const;    // one integer or a list of them; empty if absent
  Config object(std::string_view key) const;                    // must be there and be an object

  // For rules about keys that need not be known: whether the value is null, false, "", [], {} or the number `neutral`.
  bool neutral(std::string_view key, double neutral) const;
  std::string value_text(std::string_view key) const;  // as JSON, shortened
  const std::string& file() const { return file_; }
  const nlohmann::json& raw() const { return *json_; }

 private:
  Config(std::shared_ptr<const nlohmann::json> object, std::string file, std::string prefix);
  const nlohmann::json* find(std::string_view key) const;
  const nlohmann::json& need(std::string_view key) const;
  [[noreturn]] void refuse(std::string_view key, std::string_view must_be) const;

  std::shared_ptr<const nlohmann::json> json_;
  std::string file_;
  std::string prefix_;  // of a nested object: "rope_parameters."
};

}  // namespace linnet::converter
