// A trained checkpoint: its settings and its tensors, wherever they lie. Today a Hugging Face folder with one safetensors file or
// several; another source fills the same members.
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "converter/checkpoint/config.h"
#include "converter/checkpoint/file_map.h"
#include "converter/checkpoint/safetensors.h"

namespace linnet::converter {

class Checkpoint {
 public:
  explicit Checkpoint(const std::string& source);  // throws ConvertError, with the next step where the source is not ready

  const std::string& folder() const { return folder_; }
  const std::string& name() const { return name_; }      // for people: the folder's, or the repository's in a hub cache
  const Config& config() const { return config_; }
  const std::optional<Config>& generation_config() const { return generation_config_; }

  std::span<const TensorInfo> tensors() const { return tensors_; }  // sorted by name
  const TensorInfo* find(std::string_view name) const;
  const std::byte* data(const TensorInfo& tensor) const { return files_[tensor.file].data() + tensor.begin; }
  // Bytes [begin, end) of the tensor have been read and may leave memory.
  void drop(const TensorInfo& tensor, uint64_t begin, uint64_t end) const { files_[tensor.file].drop(tensor.begin + begin, tensor.begin + end); }
  bool has_file(const std::string& path) const;   // whether `path` is one of the weight files

 private:
  std::string folder_, name_;
  Config config_;
  std::optional<Config> generation_config_;
  std::vector<FileMap> files_;
  std::vector<TensorInfo> tensors_;
};

}  // namespace linnet::converter
