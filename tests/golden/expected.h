// What Hugging Face transformers computed for a golden checkpoint.
#pragma once
#include <nlohmann/json.hpp>

#include "support.h"

namespace linnet::tests {

using Json = nlohmann::json;

// Kept for the whole run, so that a loop over a part of it cannot outlive it.
inline const Json& expected(const std::string& name) {
  static std::map<std::string, Json> all;
  const auto [found, added] = all.try_emplace(name);
  if (added) found->second = Json::parse(slurp(golden(name) / "expected.json"));
  return found->second;
}

inline std::vector<int32_t> ids_of(const Json& json) { return json.get<std::vector<int32_t>>(); }

}  // namespace linnet::tests
