// The 16 levels of i4.
#pragma once
#include "converter/graph.h"

namespace linnet::converter {

// Found by find_levels.py; README.md says from what, and what else was tried.
inline constexpr Levels kLevels = {-127, -99, -79, -63, -48, -35, -23, -11, 0, 12, 24, 36, 49, 64, 83, 106};

}  // namespace linnet::converter
