// Qwen2: Llama with biases on q, k and v.
#include "converter/architectures/architecture.h"
#include "converter/architectures/llama.h"
#include "converter/message.h"

namespace linnet::converter {

namespace {

void build(ModelBuilder& b) {
  if (b.config.boolean_or("use_sliding_window", false))
    fail(LINNET_UNSUPPORTED, b.config.file(), ": use_sliding_window is true; windows are not supported yet");
  refuse_unknown_settings(b.config, true, {"sliding_window"});  // left over where use_sliding_window is false
  build_llama(b, {.default_context = 32768, .qkv_bias = true});
}

}  // namespace

Family qwen2() { return {"qwen2", {}, build, is_llama_buffer}; }

}  // namespace linnet::converter
