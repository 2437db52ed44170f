#include "converter/checkpoint/checkpoint.h"

#include <algorithm>

#include "converter/checkpoint/folder.h"
#include "converter/checkpoint/shards.h"
#include "converter/message.h"

namespace linnet::converter {

namespace {

Config read_config(const std::string& folder) {
  check_config_folder(folder);
  return Config::read(folder + "/config.json", "config.json");
}

}  // namespace

Checkpoint::Checkpoint(const std::string& source)
    : folder_(checkpoint_folder(source)), name_(checkpoint_name(folder_)), config_(read_config(folder_)) {
  if (is_there(folder_ + "/generation_config.json")) {
    refuse_lfs_pointer(folder_, "generation_config.json");
    generation_config_ = Config::read(folder_ + "/generation_config.json", "generation_config.json");
  }
  refuse_quantized_config(config_);  // before the weights, which may be in a format of that method's own

  const bool sharded = !is_there(folder_ + "/model.safetensors");  // a single file wins over an index, as in transformers
  if (!sharded) {
    refuse_lfs_pointer(folder_, "model.safetensors");
    files_.emplace_back(folder_ + "/model.safetensors");
    tensors_ = read_safetensors(files_.back());
  } else {
    check_weights_folder(folder_);
    refuse_lfs_pointer(folder_, kIndexFile);
    read_shards(folder_, &files_, &tensors_);
  }
  std::sort(tensors_.begin(), tensors_.end(), [](const TensorInfo& a, const TensorInfo& b) { return a.name < b.name; });
}

const TensorInfo* Checkpoint::find(std::string_view name) const {
  const auto it = std::lower_bound(tensors_.begin(), tensors_.end(), name, [](const TensorInfo& t, std::string_view n) { return t.name < n; });
  return it != tensors_.end() && it->name == name ? &*it : nullptr;
}

bool Checkpoint::has_file(const std::string& path) const {
  return std::any_of(files_.begin(), files_.end(), [&](const FileMap& f) { return f.is_file(path); });
}

}  // namespace linnet::converter
