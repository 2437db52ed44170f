#include "converter/checkpoint/shards.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "converter/checkpoint/config.h"
#include "converter/checkpoint/folder.h"
#include "converter/message.h"

#include <nlohmann/json.hpp>

namespace linnet::converter {

namespace {

constexpr uint64_t kIndexCap = uint64_t{64} << 20;
constexpr size_t kMaxShards = 4096;

using WeightMap = std::map<std::string, std::string>;  // tensor -> shard

WeightMap read_index(const std::string& folder) {
  const Config map_of_names = Config::parse(read_text_file(folder + "/" + kIndexFile, kIndexCap), kIndexFile).object("weight_map");
  WeightMap map;
  for (const auto& [tensor, shard] : map_of_names.raw().items()) {
    if (!shard.is_string()) fail(LINNET_BAD_FILE, kIndexFile, ": weight_map.", shown(tensor), " is not the name of a file");
    map.emplace(tensor, shard.get<std::string>());
  }
  if (map.empty()) fail(LINNET_BAD_FILE, kIndexFile, ": weight_map is empty");
  return map;
}

}  // namespace

void check_shard_name(std::string_view name) {
  const auto refuse = [&](std::string_view why) {
    fail(LINNET_BAD_FILE, kIndexFile, ": shard \"", shown(name), "\" ", why, "; shards are files inside the checkpoint's folder");
  };
  if (name.empty()) refuse("has an empty name");
  if (name.front() == '/') refuse("is an absolute path");
  // A backslash or a drive letter is an ordinary character here, but leaves the folder elsewhere.
  if (name.find('\\') != name.npos || name.find(':') != name.npos) refuse("has a backslash or colon in its name");
  if (std::any_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }))
    refuse("has a control character in its name");
  for (size_t at = 0; at <= name.size();) {
    const size_t end = std::min(name.find('/', at), name.size());
    const std::string_view part = name.substr(at, end - at);
    if (part.empty() || part == "." || part == "..") refuse("leaves the folder or is not a plain path");
    at = end + 1;
  }
}

void read_shards(const std::string& folder, std::vector<FileMap>* files, std::vector<TensorInfo>* tensors) {
  const WeightMap map = read_index(folder);
  std::map<std::string, uint32_t> shards;  // name -> number, in order of name
  for (const auto& [tensor, shard] : map) {
    check_shard_name(shard);
    shards.emplace(shard, 0);
    if (shards.size() > kMaxShards) fail(LINNET_BAD_FILE, kIndexFile, " names more than ", kMaxShards, " shards");
  }
  for (auto& [shard, number] : shards) {
    if (!is_there(folder + "/" + shard)) {
      const auto first = std::find_if(map.begin(), map.end(), [&name = shard](const auto& entry) { return entry.second == name; });
      fail(LINNET_BAD_FILE, "shard ", shown(shard), ", which ", kIndexFile, " names for tensor ", shown(first->first), ", is missing from ",
           shown(folder), ": download the checkpoint again");
    }
    refuse_lfs_pointer(folder, shard);
    number = static_cast<uint32_t>(files->size());
    files->emplace_back(folder + "/" + shard);
  }
  std::unordered_map<std::string, const std::string*> seen;  // tensor -> the shard it was found in
  for (const auto& [shard, number] : shards) {
    for (TensorInfo& t : read_safetensors((*files)[number])) {
      const auto [at, fresh] = seen.emplace(t.name, &shard);
      if (!fresh) fail(LINNET_BAD_FILE, "tensor ", shown(t.name), " is in two shards: ", shown(*at->second), " and ", shown(shard));
      const auto entry = map.find(t.name);
      if (entry == map.end()) fail(LINNET_BAD_FILE, "tensor ", shown(t.name), " of shard ", shown(shard), " is not in ", kIndexFile);
      t.file = number;
      tensors->push_back(std::move(t));
    }
  }
  for (const auto& [tensor, shard] : map) {
    const auto at = seen.find(tensor);
    if (at == seen.end())
      fail(LINNET_BAD_FILE, "tensor ", shown(tensor), " is not in shard ", shown(shard), ", where ", kIndexFile, " says it is, nor in another");
    if (*at->second != shard)
      fail(LINNET_BAD_FILE, "tensor ", shown(tensor), " is in shard ", shown(*at->second), "; ", kIndexFile, " says ", shown(shard));
  }
}

}  // namespace linnet::converter
