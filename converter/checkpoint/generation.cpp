#include "converter/checkpoint/generation.h"

#include <algorithm>

#include "converter/message.h"

namespace linnet::converter {

namespace {

constexpr size_t kMaxEndTokens = 256;

struct Ids {
  std::vector<int64_t> ids;
  std::string where;  // "config.json: eos_token_id"
};

struct Reader {
  const Config& config;
  const std::optional<Config>& generation;
  const uint32_t vocabulary;
  std::vector<std::string>* notes;

  bool inside(int64_t id) const { return id >= 0 && id < int64_t{vocabulary}; }

  Ids find(std::string_view key, std::optional<uint32_t> fallback) const {
    if (generation && generation->has(key)) return {generation->integers(key), cat(generation->file(), ": ", key)};
    if (config.present(key)) return {config.integers(key), cat(config.file(), ": ", key)};
    if (fallback && inside(*fallback)) return {{*fallback}, cat("the default ", key)};
    return {};
  }

  std::optional<uint32_t> one(std::string_view key, std::optional<uint32_t> fallback) const {
    const Ids found = find(key, fallback);
    if (found.ids.empty()) return {};
    if (found.ids.size() > 1) fail(LINNET_BAD_FILE, found.where, " is a list of ", found.ids.size(), " ids; it must be one");
    if (inside(found.ids[0])) return static_cast<uint32_t>(found.ids[0]);
    notes->push_back(cat(found.where, " is ", found.ids[0], ", outside the vocabulary of ", vocabulary, ": the file has no such token"));
    return {};
  }

  std::vector<uint32_t> ends(std::optional<uint32_t> fallback) const {
    const Ids found = find("eos_token_id", fallback);
    std::vector<uint32_t> out;
    for (const int64_t id : found.ids) {
      if (!inside(id)) {
        if (!fallback || id != int64_t{*fallback})
          fail(LINNET_BAD_FILE, found.where, " is ", id, ", outside the vocabulary of ", vocabulary, " (ids 0 to ", vocabulary - 1,
               "); correct it, or remove it if the model has no end token");
        notes->push_back(cat(found.where, " is ", id, ", the default of its model_type, outside the vocabulary of ", vocabulary, ": ignored"));
      } else if (std::find(out.begin(), out.end(), static_cast<uint32_t>(id)) == out.end()) {
        out.push_back(static_cast<uint32_t>(id));
      }
      if (out.size() > kMaxEndTokens) fail(LINNET_BAD_FILE, found.where, " has more than ", kMaxEndTokens, " ids");
    }
    return out;
  }

  std::optional<float> real(std::string_view key, double least, double most) const {
    if (!generation || !generation->has(key)) return {};
    return static_cast<float>(generation->real(key, least, most));
  }
};

}  // namespace

Generation read_generation(const Config& config, const std::optional<Config>& generation_config, const TokenDefaults& defaults, uint32_t vocabulary,
                           std::vector<std::string>* notes) {
  const Reader reader{config, generation_config, vocabulary, notes};
  Generation out;
  out.bos = reader.one("bos_token_id", defaults.bos);
  out.pad = reader.one("pad_token_id", {});
  out.eos = reader.ends(defaults.eos);
  // transformers samples only where do_sample is true; elsewhere these keys are left over. The penalty acts on greedy decoding too.
  if (generation_config && generation_config->boolean_or("do_sample", false)) {
    out.temperature = reader.real("temperature", 0, 1e6);
    out.top_p = reader.real("top_p", 0, 1);
    if (generation_config->has("top_k")) out.top_k = static_cast<uint32_t>(generation_config->integer("top_k", 0, INT32_MAX));
  }
  out.repetition_penalty = reader.real("repetition_penalty", 1e-6, 1e6);
  return out;
}

}  // namespace linnet::converter
