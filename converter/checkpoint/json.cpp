#include "converter/checkpoint/json.h"

#include <set>
#include <vector>

#include "converter/message.h"

namespace linnet::converter {

using nlohmann::json;

json parse_json(std::string_view text, std::string_view file) {
  constexpr int kMaxDepth = 100;
  const CLocale locale;
  std::vector<std::set<std::string>> keys;
  const auto check = [&](int depth, json::parse_event_t event, json& parsed) {
    if (depth > kMaxDepth) fail(LINNET_BAD_FILE, file, ": nested deeper than ", kMaxDepth, " levels");
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end) keys.pop_back();
    if (event == json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second)
      fail(LINNET_BAD_FILE, file, ": the key \"", shown(parsed.get<std::string>()), "\" stands twice in one object");
    return true;
  };
  if (text.find('\0') != text.npos) fail(LINNET_BAD_FILE, file, " is not valid JSON: it holds a NUL");  // which the parser takes for the end
  try {
    return json::parse(text.begin(), text.end(), check);
  } catch (const json::parse_error& e) {
    fail(LINNET_BAD_FILE, file, " is not valid JSON: error at byte ", e.byte);
  } catch (const json::exception& e) {  // a number beyond any double
    fail(LINNET_BAD_FILE, file, " is not valid JSON: ", shown(e.what()));
  }
}

}  // namespace linnet::converter
