// How the converter's insides report failure. convert() turns it into a linnet_error: nothing is thrown across the public API.
#pragma once
#include <stdexcept>
#include <string>

#include "linnet/types.h"

namespace linnet {

struct ConvertError : std::runtime_error {
  linnet_code code;
  ConvertError(linnet_code c, std::string message) : std::runtime_error(std::move(message)), code(c) {}
};

}  // namespace linnet
