// Special tokens and sampling defaults: what config.json and generation_config.json say of them, checked against the vocabulary.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "converter/checkpoint/config.h"

namespace linnet::converter {

struct TokenDefaults {  // what transformers' config class takes where config.json does not have the key
  std::optional<uint32_t> bos, eos;
};

struct Generation {
  std::optional<uint32_t> bos, pad, top_k;
  std::vector<uint32_t> eos;
  std::optional<float> temperature, top_p, repetition_penalty;
};

// The rules, where the two files disagree or an id lies outside [0, vocabulary):
//   - A key of generation_config.json that is not null wins over config.json's, as in transformers; else config.json's counts; else the
//     class default. null in config.json means none.
//   - bos or pad outside the vocabulary (transformers writes GPT2Config's bos 50256 for any vocabulary, Llama 1 has pad -1) cannot be
//     fed to the model: dropped, with a note.
//   - eos outside the vocabulary is an error, because a model that never ends is noticed late. One exception: the class default, in
//     either file. A GPT-2 trained on a small vocabulary carries 50256 unless its author set another; no token can ever be that,
//     so dropping it, with a note, is what transformers does in effect.
Generation read_generation(const Config& config, const std::optional<Config>& generation_config, const TokenDefaults& defaults, uint32_t vocabulary,
                           std::vector<std::string>* notes);

}  // namespace linnet::converter
