// Where a checkpoint lies, and what to say when the source is something else: each error names the next step.
#pragma once
#include <string>

#include "converter/checkpoint/config.h"

namespace linnet::converter {

bool is_there(const std::string& path);  // symlinks followed

// The folder that `source` names; throws if it is not one.
std::string checkpoint_folder(const std::string& source);
// The folder's own name; the repository's if it is a snapshot in a hub cache.
std::string checkpoint_name(const std::string& folder);

void check_config_folder(const std::string& folder);   // config.json is there
void check_weights_folder(const std::string& folder);  // there is an index, given that there is no model.safetensors
// Throws if the file is the placeholder that git leaves for a file kept by Git LFS.
void refuse_lfs_pointer(const std::string& folder, const std::string& file);
// Throws if the checkpoint was quantized by another program; says by which method.
void refuse_quantized_config(const Config& config);

}  // namespace linnet::converter
