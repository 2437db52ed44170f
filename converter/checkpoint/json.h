// JSON as strangers write it: duplicate keys and deep nesting are refused, and no locale changes a number.
#pragma once
#include <clocale>
#include <locale.h>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace linnet::converter {

// The "C" locale for this thread while it lives: the JSON reader's strtod follows the locale.
class CLocale {
 public:
  CLocale() : c_(newlocale(LC_ALL_MASK, "C", nullptr)), before_(c_ ? uselocale(c_) : nullptr) {}
  CLocale(const CLocale&) = delete;
  CLocale& operator=(const CLocale&) = delete;
  ~CLocale() {
    if (!c_) return;
    uselocale(before_);
    freelocale(c_);
  }

 private:
  locale_t c_, before_;
};

// Parses `text`, which errors call `file`. Throws ConvertError.
nlohmann::json parse_json(std::string_view text, std::string_view file);

}  // namespace linnet::converter
