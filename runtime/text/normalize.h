// The normalizer: what happens to text before it is cut. Shared with the converter, which looks for added tokens in normalized text.
#pragma once
#include <cstring>
#include <string_view>

#include "runtime/memory.h"
#include "runtime/text/section.h"

namespace linnet::detail {

// Runs the steps over `text`. *out points at `text` itself or into one of the two buffers. False: out of memory.
inline bool normalize(const NormalizerStep* steps, uint32_t count, std::string_view text, Vec<char> buffers[2], std::string_view* out) {
  uint32_t next = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const NormalizerStep& step = steps[i];
    Vec<char>& to = buffers[next];
    to.clear();
    if (text.empty()) break;  // nothing to put anything before
    if (step.prepend) {
      if (!to.append(step.content.data(), step.content.size()) || !to.append(text.data(), text.size())) return false;
    } else {
      size_t at = 0;
      for (size_t hit; (hit = text.find(step.text, at)) != std::string_view::npos; at = hit + step.text.size())
        if (!to.append(text.data() + at, hit - at) || !to.append(step.content.data(), step.content.size())) return false;
      if (at == 0) continue;  // nothing found
      if (!to.append(text.data() + at, text.size() - at)) return false;
    }
    text = {to.data(), to.size()};
    next ^= 1;
  }
  *out = text;
  return true;
}

}  // namespace linnet::detail
