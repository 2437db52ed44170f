// A checkpoint in several safetensors files, and the index that says which tensor is where. Index and files must agree entirely.
#pragma once
#include <string>
#include <vector>

#include "converter/checkpoint/file_map.h"
#include "converter/checkpoint/safetensors.h"

namespace linnet::converter {

inline constexpr char kIndexFile[] = "model.safetensors.index.json";

void read_shards(const std::string& folder, std::vector<FileMap>* files, std::vector<TensorInfo>* tensors);

// Throws unless `name`, as an index gives it, stays inside the checkpoint's folder.
void check_shard_name(std::string_view name);

}  // namespace linnet::converter
