#include "converter/architectures/rope.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "converter/message.h"

namespace linnet::converter {

namespace {

// 1 / theta^(2i / dim). transformers works in float32; the power is taken here in double from the float32 exponent and rounded once, which
// is within one unit in the last place of torch's float32 pow on every machine. The other roundings are torch's own.
std::vector<float> default_frequencies(double theta, uint64_t dim) {
  std::vector<float> out;
  for (uint64_t i = 0; i < dim; i += 2) {
    const float exponent = static_cast<float>(i) / static_cast<float>(dim);
    out.push_back(1.0f / static_cast<float>(std::pow(static_cast<double>(static_cast<float>(theta)), static_cast<double>(exponent))));
  }
  return out;
}

// Low frequencies are slowed by `factor`, high ones kept, and those between blended. Each step is a float32 operation, as in torch,
// where a number over a tensor is the tensor's reciprocal times the number.
void scale_llama3(const Config& c, uint64_t original, std::vector<float>* frequencies) {
  const double factor = c.real("factor", 1e-6, 1e9), low = c.real("low_freq_factor", 1e-6, 1e9), high = c.real("high_freq_factor", 1e-6, 1e9);
  if (high <= low) fail(LINNET_BAD_FILE, c.file(), ": rope high_freq_factor is ", high, ", not above low_freq_factor ", low);
  const auto context = static_cast<double>(original);
  const auto low_wavelength = static_cast<float>(context / low), high_wavelength = static_cast<float>(context / high);
  const auto f = static_cast<float>(factor);
  for (float& frequency : *frequencies) {
    const float wavelength = 1.0f / frequency * static_cast<float>(2 * M_PI);
    const float slow = wavelength > low_wavelength ? frequency / f : frequency;
    const float blend = (1.0f / wavelength * static_cast<float>(context) - static_cast<float>(low)) / static_cast<float>(high - low);
    const float kept = blend * slow;
    const float smooth = (1.0f - blend) * slow / f + kept;
    frequency = !(wavelength < high_wavelength) && !(wavelength > low_wavelength) ? smooth : slow;
  }
}

}  // namespace

Rope read_rope(const Config& config, uint64_t rotary_dim, uint64_t context) {
  // transformers: a rope_scaling that says something wins over rope_parameters; theta inside wins over theta at top level.
  std::optional<Config> settings;
  for (const char* key : {"rope_scaling", "rope_parameters"})
    if (!settings && !config.neutral(key, 0)) settings = config.object(key);
  constexpr double kLeast = 1e-6, kMost = 1e15;
  double theta = config.real_or("rope_theta", kLeast, kMost, 10000);
  std::string type = "default";
  double partial = config.real_or("partial_rotary_factor", 0, 1, 1);
  if (settings) {
    for (const auto& [key, value] : settings->raw().items())
      if (value.is_object()) fail(LINNET_UNSUPPORTED, config.file(), ": rope settings by kind of layer (", shown(key, 40), ") are not supported");
    theta = settings->real_or("rope_theta", kLeast, kMost, theta);
    partial = settings->real_or("partial_rotary_factor", 0, 1, partial);
    type = settings->text_or("rope_type", settings->text_or("type", type));
  }
  if (partial != 1) fail(LINNET_UNSUPPORTED, config.file(), ": partial_rotary_factor is ", partial, "; this model_type rotates whole heads");
  Rope rope{default_frequencies(theta, rotary_dim), 1};
  if (type == "linear") {
    const auto factor = static_cast<float>(settings->real("factor", 1e-6, 1e9));
    for (float& frequency : rope.inverse_frequencies) frequency /= factor;
  } else if (type == "llama3") {
    const uint64_t inside = settings->integer_or("original_max_position_embeddings", 1, UINT32_MAX, context);
    scale_llama3(*settings, config.integer_or("original_max_position_embeddings", 1, UINT32_MAX, inside), &rope.inverse_frequencies);
  } else if (type != "default") {
    fail(LINNET_UNSUPPORTED, config.file(), ": rope_type \"", shown(type, 40), "\" is not supported; default, linear and llama3 are");
  }
  return rope;
}

}  // namespace linnet::converter
