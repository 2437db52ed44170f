// The 16 levels of i4.
#pragma once
#include "converter/graph.h"

namespace linnet::converter {

// Found by find_levels.py; README.md says from what, and what else was tried.
inline constexpr Levels kLevels = {-127, -101, -78, -61, -46, -33, -21, -9, 2, 13, 24, 36, 49, 64, 83, 105};

}  // namespace linnet::converter
