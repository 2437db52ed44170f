#include "converter/checkpoint/config.h"

#include "converter/checkpoint/file_map.h"
#include "converter/checkpoint/json.h"
#include "converter/message.h"

namespace linnet::converter {

using nlohmann::json;

namespace {
constexpr uint64_t kConfigCap = uint64_t{16} << 20;

std::string range_text(double least, double most) { return cat("a number from ", least, " to ", most); }
}  // namespace

Config::Config(std::shared_ptr<const json> object, std::string file, std::string prefix)
    : json_(std::move(object)), file_(std::move(file)), prefix_(std::move(prefix)) {}

Config Config::parse(std::string_view text, std::string file) {
  auto object = std::make_shared<const json>(parse_json(text, file));
  if (!object->is_object()) fail(LINNET_BAD_FILE, file, " is not a JSON object");
  return Config(std::move(object), std::move(file), "");
}

Config Config::read(const std::string& path, std::string file) { return parse(read_text_file(path, kConfigCap), std::move(file)); }

const json* Config::find(std::string_view key) const {
  const auto it = json_->find(std::string(key));
  return it == json_->end() ? nullptr : &*it;
}

bool Config::present(std::string_view key) const { return find(key) != nullptr; }

bool Config::has(std::string_view key) const {
  const json* v = find(key);
  return v && !v->is_null();
}

const json& Config::need(std::string_view key) const {
  const json* v = find(key);
  if (!v) fail(LINNET_BAD_FILE, file_, ": ", prefix_, key, " is missing");
  if (v->is_null()) fail(LINNET_BAD_FILE, file_, ": ", prefix_, key, " is null");
  return *v;
}

std::string Config::value_text(std::string_view key) const {
  const json* v = find(key);
  const CLocale locale;
  return v ? shown(v->dump(-1, ' ', false, json::error_handler_t::replace), 60) : "absent";
}

void Config::refuse(std::string_view key, std::string_view must_be) const {
  fail(LINNET_BAD_FILE, file_, ": ", prefix_, key, " is ", value_text(key), "; it must be ", must_be);
}

uint64_t Config::integer(std::string_view key, uint64_t least, uint64_t most) const {
  const json& v = need(key);
  // A whole number as Python writes one: 64.0 is not.
  if (!v.is_number_unsigned() || v.get<uint64_t>() < least || v.get<uint64_t>() > most) refuse(key, cat("a whole number from ", least, " to ", most));
  return v.get<uint64_t>();
}

uint64_t Config::integer_or(std::string_view key, uint64_t least, uint64_t most, uint64_t fallback) const {
  return has(key) ? integer(key, least, most) : fallback;
}

double Config::real(std::string_view key, double least, double most) const {
  const json& v = need(key);
  if (!v.is_number()) refuse(key, range_text(least, most));
  const auto number = v.get<double>();
  if (!(number >= least && number <= most)) refuse(key, range_text(least, most));
  return number;
}

double Config::real_or(std::string_view key, double least, double most, double fallback) const {
  return has(key) ? real(key, least, most) : fallback;
}

bool Config::boolean_or(std::string_view key, bool fallback) const {
  if (!has(key)) return fallback;
  if (!need(key).is_boolean()) refuse(key, "true or false");
  return need(key).get<bool>();
}

std::string Config::text(std::string_view key) const {
  if (!need(key).is_string()) refuse(key, "a string");
  return need(key).get<std::string>();
}

std::string Config::text_or(std::string_view key, std::string fallback) const { return has(key) ? text(key) : std::move(fallback); }

std::vector<std::string> Config::texts(std::string_view key) const {
  std::vector<std::string> out;
  if (!has(key)) return out;
  const json& v = need(key);
  if (!v.is_array()) refuse(key, "a list of strings");
  for (const json& one : v) {
    if (!one.is_string()) refuse(key, "a list of strings");
    out.push_back(one.get<std::string>());
  }
  return out;
}

std::vector<int64_t> Config::integers(std::string_view key) const {
  std::vector<int64_t> out;
  if (!has(key)) return out;
  const json& v = need(key);
  const auto add = [&](const json& one) {
    if (!one.is_number_integer() || (one.is_number_unsigned() && one.get<uint64_t>() > INT64_MAX)) refuse(key, "a whole number or a list of them");
    out.push_back(one.get<int64_t>());
  };
  if (v.is_array())
    for (const json& one : v) add(one);
  else
    add(v);
  return out;
}

Config Config::object(std::string_view key) const {
  if (!need(key).is_object()) refuse(key, "an object");
  return Config(std::make_shared<const json>(need(key)), file_, cat(prefix_, key, "."));
}

bool Config::neutral(std::string_view key, double number) const {
  const json* v = find(key);
  if (!v || v->is_null()) return true;
  if (v->is_boolean()) return !v->get<bool>();
  if (v->is_number()) return v->get<double>() == number;
  if (v->is_string()) return v->get_ref<const std::string&>().empty();
  return v->empty();
}

}  // namespace linnet::converter
