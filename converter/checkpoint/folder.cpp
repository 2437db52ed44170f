#include "converter/checkpoint/folder.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <vector>

#include "converter/checkpoint/file_map.h"
#include "converter/checkpoint/shards.h"
#include "converter/message.h"

namespace linnet::converter {

namespace fs = std::filesystem;

namespace {

constexpr char kWanted[] = "a Hugging Face folder has config.json, model.safetensors (or shards and their index) and, for text, tokenizer.json";

// "organisation/model", as the hub names its repositories, and nothing else that a path could be.
bool looks_like_hub_name(std::string_view s) {
  const size_t slash = s.find('/');
  if (slash == 0 || slash == s.npos || slash + 1 == s.size() || s.find('/', slash + 1) != s.npos || s[0] == '.' || s[0] == '~') return false;
  return std::all_of(s.begin(), s.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c && std::strchr("/-_.", c));
  });
}

std::string extension(const fs::path& path) {
  std::string e = path.extension().string();
  for (char& c : e)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 32);
  return e;
}

[[noreturn]] void refuse_pickle(const std::string& file, const std::string& folder) {
  fail(LINNET_UNSUPPORTED, shown(file),
       " holds pickled weights, which can run code and are not read. Save them as safetensors: python3 -c \"from transformers import "
       "AutoModelForCausalLM as M; M.from_pretrained('",
       shown(folder), "').save_pretrained('", shown(folder), "-safetensors')\", copy tokenizer.json there, and convert that folder");
}

[[noreturn]] void refuse_gguf(const std::string& file) {
  fail(LINNET_UNSUPPORTED, shown(file), ": GGUF is not read yet by this version; convert the Hugging Face folder that it was made from");
}

[[noreturn]] void refuse_file(const std::string& source) {
  const std::string kind = extension(source), folder = fs::path(source).parent_path().empty() ? "." : fs::path(source).parent_path().string();
  if (kind == ".gguf" || read_start(source, 4) == "GGUF") refuse_gguf(source);
  if (kind == ".safetensors" || kind == ".json")
    fail(LINNET_INVALID_ARGUMENT, shown(source), " is one file of a checkpoint; give the folder that holds it: ", shown(folder));
  if (kind == ".bin" || kind == ".pt" || kind == ".pth" || kind == ".ckpt") refuse_pickle(source, folder);
  if (kind == ".linnet") fail(LINNET_INVALID_ARGUMENT, shown(source), " is converted already; run it with linnet-run");
  fail(LINNET_INVALID_ARGUMENT, shown(source), " is a file, not a checkpoint's folder: ", kWanted);
}

// Sorted, so that the same folder gives the same message.
std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) names.push_back(it->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

// Fit to be the model's name and part of a file's: valid UTF-8, no control characters, room for an extension.
std::string as_name(std::string name) {
  bool utf8 = true;
  try {
    (void)nlohmann::json(name).dump();
  } catch (const nlohmann::json::exception&) {
    utf8 = false;
  }
  for (char& c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f || (byte > 0x7f && !utf8)) c = '_';
  }
  size_t end = std::min<size_t>(name.size(), 200);
  while (end < name.size() && (name[end] & 0xc0) == 0x80) --end;
  return name.substr(0, end);
}

std::string first_with(const std::vector<std::string>& names, std::initializer_list<const char*> extensions) {
  for (const auto& name : names)
    for (const char* e : extensions)
      if (extension(name) == e) return name;
  return "";
}

}  // namespace

bool is_there(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0;
}

std::string checkpoint_folder(const std::string& source) {
  if (source.empty()) fail(LINNET_INVALID_ARGUMENT, "no source was given: ", kWanted);
  struct stat status {};
  if (::stat(source.c_str(), &status) != 0) {
    const int error = errno;
    if (error == ENOENT && looks_like_hub_name(source)) {
      const std::string name = source.substr(source.find('/') + 1);
      fail(LINNET_INVALID_ARGUMENT, "there is no folder ", source, " here. If it is a model of the Hugging Face hub, download it first: hf download ",
           source, " --local-dir ", name, ", then convert the folder ", name);
    }
    fail(LINNET_IO, shown(source), ": ", std::strerror(error));
  }
  if (!S_ISDIR(status.st_mode)) refuse_file(source);
  std::string folder = source;
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  return folder;
}

std::string checkpoint_name(const std::string& folder) {
  std::error_code error;
  fs::path path = fs::absolute(folder, error).lexically_normal();
  if (path.filename().empty()) path = path.parent_path();  // "x/."
  std::string name = path.filename().string();
  // .../models--organisation--name/snapshots/<commit>
  if (path.parent_path().filename() == "snapshots") {
    const std::string repository = path.parent_path().parent_path().filename().string();
    const size_t last = repository.rfind("--");
    if (repository.starts_with("models--") && last + 2 < repository.size()) name = repository.substr(last + 2);
  }
  return name.empty() || name == "/" ? "model" : as_name(std::move(name));
}

void check_config_folder(const std::string& folder) {
  if (is_there(folder + "/config.json")) return refuse_lfs_pointer(folder, "config.json");
  const auto names = files_in(folder);
  if (const auto gguf = first_with(names, {".gguf"}); !gguf.empty()) refuse_gguf(folder + "/" + gguf);
  if (is_there(folder + "/adapter_config.json"))
    fail(LINNET_UNSUPPORTED, shown(folder), " holds an adapter (LoRA), not a model; merge it into its base model and convert that");
  if (is_there(folder + "/params.json"))
    fail(LINNET_UNSUPPORTED, shown(folder),
         " is in its author's own format (params.json); download the model's Hugging Face version, which has config.json");
  fail(LINNET_BAD_FILE, shown(folder), " has no config.json: ", kWanted);
}

void check_weights_folder(const std::string& folder) {
  if (is_there(folder + "/" + kIndexFile)) return;
  const auto names = files_in(folder);
  if (const auto other = first_with(names, {".safetensors"}); !other.empty())
    fail(LINNET_BAD_FILE, shown(folder), " has ", shown(other), " but neither model.safetensors nor ", kIndexFile,
         ": the index that says what is where is missing; download it too");
  if (const auto pickle = first_with(names, {".bin", ".pt", ".pth", ".ckpt"}); !pickle.empty()) refuse_pickle(folder + "/" + pickle, folder);
  if (const auto gguf = first_with(names, {".gguf"}); !gguf.empty()) refuse_gguf(folder + "/" + gguf);
  fail(LINNET_BAD_FILE, shown(folder), " has config.json but no weights: ", kWanted);
}

void refuse_lfs_pointer(const std::string& folder, const std::string& file) {
  constexpr std::string_view mark = "version https://git-lfs";
  if (read_start(folder + "/" + file, mark.size()) == mark)
    fail(LINNET_BAD_FILE, shown(folder), "/", shown(file), " is a Git LFS pointer, not the file itself; fetch it: cd ", shown(folder),
         " && git lfs pull");
}

void refuse_quantized_config(const Config& config) {
  for (const char* key : {"quantization_config", "compression_config"}) {
    if (config.neutral(key, 0)) continue;
    std::string method = "an unnamed method";
    const Config settings = config.object(key);
    if (settings.has("quant_method")) method = settings.text("quant_method");
    else if (!settings.neutral("load_in_4bit", 0) || !settings.neutral("load_in_8bit", 0)) method = "bitsandbytes";
    fail(LINNET_UNSUPPORTED, config.file(), ": the checkpoint is quantized already (", key, ": ", shown(method, 40),
         "); convert the original, unquantized checkpoint");
  }
}

}  // namespace linnet::converter
