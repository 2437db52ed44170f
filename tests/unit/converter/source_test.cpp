// What is not a checkpoint, or not one that is ready: each refusal names the next step (CASES A19, A20, B6).
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include "checkpoints.h"
#include "converter/checkpoint/folder.h"
#include "converter/checkpoint/shards.h"

#include <sys/stat.h>

namespace bdata = boost::unit_test::data;
using namespace linnet;
using namespace linnet::tests;

namespace {

constexpr char kLfs[] = "version https://git-lfs.github.com/spec/v1\noid sha256:0123\nsize 548105171\n";
constexpr char kIndex[] = "model.safetensors.index.json";

// The tiny Llama in two shards, as a person would have it after a good download.
struct Sharded {
  TempDir folder;
  Tensors tensors[2];
  Json index;
  Sharded() {
    int i = 0;
    for (const auto& [name, t] : tiny_llama_tensors()) {
      index["weight_map"][name] = i % 2 ? "b.safetensors" : "a.safetensors";
      tensors[i++ % 2][name] = t;
    }
  }
  void write() {
    spill(folder / "config.json", tiny_llama_config().dump());
    spill(folder / kIndex, index.dump());
    spill(folder / "a.safetensors", safetensors(tensors[0]));
    spill(folder / "b.safetensors", safetensors(tensors[1]));
  }
};

struct BadShards {
  const char* what;
  void (*damage)(Sharded& s);  // before or after s.write()
  std::vector<std::string> words;
};
std::ostream& operator<<(std::ostream& out, const BadShards& b) { return out << b.what; }

const std::string kNorm = "model.norm.weight";
int norm_shard(const Sharded& s) { return s.tensors[0].count(kNorm) ? 0 : 1; }

const std::vector<BadShards> kBadShards = {
    {"the index names the wrong shard",
     [](Sharded& s) {
       s.index["weight_map"][kNorm] = norm_shard(s) ? "a.safetensors" : "b.safetensors";
       s.write();
     },
     {kNorm, "a.safetensors", "b.safetensors"}},
    {"a shard is missing",
     [](Sharded& s) {
       s.write();
       fs::remove(s.folder / "b.safetensors");
     },
     {"shard b.safetensors", "missing"}},
    {"a tensor in two shards",
     [](Sharded& s) {
       s.tensors[1 - norm_shard(s)][kNorm] = s.tensors[norm_shard(s)][kNorm];
       s.write();
     },
     {kNorm, "two shards", "a.safetensors", "b.safetensors"}},
    {"a shard's tensor is not in the index",
     [](Sharded& s) {
       s.index["weight_map"].erase(kNorm);
       s.write();
     },
     {kNorm, "is not in model.safetensors.index.json"}},
    {"a tensor of the index is in no shard",
     [](Sharded& s) {
       s.tensors[norm_shard(s)].erase(kNorm);
       s.write();
     },
     {kNorm, "nor in another"}},
    {"no weight_map",
     [](Sharded& s) {
       s.index = Json::object();
       s.write();
     },
     {"weight_map is missing"}},
    {"an empty weight_map",
     [](Sharded& s) {
       s.index["weight_map"] = Json::object();
       s.write();
     },
     {"weight_map is empty"}},
    {"a shard that is a number",
     [](Sharded& s) {
       s.index["weight_map"][kNorm] = 7;
       s.write();
     },
     {kNorm, "not the name of a file"}},
    {"the index is a list",
     [](Sharded& s) {
       s.index = Json::array();
       s.write();
     },
     {"not a JSON object"}},
    {"the index names a tensor twice",
     [](Sharded& s) {
       s.write();
       spill(s.folder / kIndex, R"({"weight_map":{"a":"a.safetensors","a":"b.safetensors"}})");
     },
     {"stands twice"}},
    {"a shard is a Git LFS pointer",
     [](Sharded& s) {
       s.write();
       spill(s.folder / "b.safetensors", kLfs);
     },
     {"b.safetensors", "git lfs pull"}},
    {"a shard was cut",
     [](Sharded& s) {
       s.write();
       fs::resize_file(s.folder / "b.safetensors", fs::file_size(s.folder / "b.safetensors") - 1);
     },
     {"b.safetensors", "cut"}},
};

}  // namespace

BOOST_AUTO_TEST_SUITE(source)

BOOST_AUTO_TEST_CASE(shards_give_the_same_file_as_one) {
  Sharded s;
  s.write();
  const Converted many = convert_folder(s.folder.path());
  BOOST_REQUIRE_MESSAGE(!many.code, many.message);
  const std::string bytes = slurp(many.output);
  spill(s.folder / "model.safetensors", safetensors(tiny_llama_tensors()));  // a single file wins, as in transformers
  fs::remove(s.folder / "a.safetensors");
  ConvertOptions options;
  options.force = true;
  const Converted one = convert_folder(s.folder.path(), options);
  BOOST_REQUIRE_MESSAGE(!one.code, one.message);
  BOOST_TEST((slurp(one.output) == bytes));
}

BOOST_DATA_TEST_CASE(index_and_shards_must_agree, bdata::make(kBadShards), bad) {
  Sharded s;
  bad.damage(s);
  expect_refused(s.folder.path(), LINNET_BAD_FILE, bad.words);
}

BOOST_DATA_TEST_CASE(a_shard_stays_in_its_folder,
                     bdata::make({"", "../x.safetensors", "/etc/x.safetensors", "a\\..\\b.safetensors", "a/../../x", "a//b", "./a", "a/", "..", "C:x",
                                  "a\nb"}),
                     name) {
  BOOST_TEST(error_of([&] { converter::check_shard_name(name); }) != "");
  Sharded s;
  s.index["weight_map"][kNorm] = name;
  s.write();
  expect_refused(s.folder.path(), LINNET_BAD_FILE, {"shard"});
}

BOOST_AUTO_TEST_CASE(a_shard_may_lie_deeper_or_behind_a_symlink) {
  for (const char* name : {"model-00001-of-00002.safetensors", "parts/1.safetensors", "a..b"})
    BOOST_TEST(error_of([&] { converter::check_shard_name(name); }) == "");
  Sharded s;  // as in a hub cache: the files of a snapshot are links to blobs beside it
  s.write();
  fs::create_directories(s.folder / "blobs");
  fs::rename(s.folder / "b.safetensors", s.folder / "blobs/0123");
  fs::create_symlink("blobs/0123", s.folder / "b.safetensors");
  const Converted c = convert_folder(s.folder.path());
  BOOST_TEST(c.code == LINNET_OK, c.message);
}

BOOST_AUTO_TEST_CASE(what_is_not_a_checkpoint_gets_the_next_step) {
  const TempDir t;
  const auto refused = [&](const std::string& source, linnet_code code, const std::vector<std::string>& words) {
    ConvertOptions options;
    options.output = t / "out.linnet";
    expect_refused(source, code, words, options);
    BOOST_TEST(!fs::exists(options.output));
  };
  const auto folder = [&](const std::string& name, const std::vector<std::pair<std::string, std::string>>& files) {
    fs::create_directories(t / name);
    for (const auto& [file, bytes] : files) spill(t.path() / name / file, bytes);
    return t / name;
  };
  const std::string config = tiny_llama_config().dump();
  refused("", LINNET_INVALID_ARGUMENT, {"no source"});
  refused("no-such-org/Some.Model-1B", LINNET_INVALID_ARGUMENT, {"hf download no-such-org/Some.Model-1B --local-dir Some.Model-1B"});
  for (const char* path : {"./no-such/folder", "/no-such-org/model", "no-such/a/b", "no-such/", "~/no-such"})
    refused(path, LINNET_IO, {"No such file"});
  refused(folder("empty", {}), LINNET_BAD_FILE, {"has no config.json"});
  refused(folder("no-weights", {{"config.json", config}}), LINNET_BAD_FILE, {"no weights", "model.safetensors"});
  refused(folder("pickled", {{"config.json", config}, {"pytorch_model.bin", "PK"}}), LINNET_UNSUPPORTED,
          {"pytorch_model.bin", "save_pretrained", "safetensors"});
  refused(folder("pt", {{"config.json", config}, {"model.pt", "PK"}}), LINNET_UNSUPPORTED, {"model.pt", "save_pretrained"});
  refused(folder("no-index", {{"config.json", config}, {"model-00001-of-00002.safetensors", ""}}), LINNET_BAD_FILE,
          {"model-00001-of-00002.safetensors", "index"});
  refused(folder("adapter", {{"adapter_config.json", "{}"}}), LINNET_UNSUPPORTED, {"LoRA"});
  refused(folder("meta", {{"params.json", "{}"}}), LINNET_UNSUPPORTED, {"params.json"});
  refused(folder("gguf", {{"model.gguf", "GGUF"}}), LINNET_UNSUPPORTED, {"GGUF is not read yet"});
  refused(folder("lfs", {{"config.json", config}, {"model.safetensors", kLfs}}), LINNET_BAD_FILE, {"model.safetensors", "git lfs pull"});
  refused(folder("lfs-config", {{"config.json", kLfs}}), LINNET_BAD_FILE, {"config.json", "git lfs pull"});
  refused(t / "gguf/model.gguf", LINNET_UNSUPPORTED, {"GGUF is not read yet"});
  refused(t / "pickled/pytorch_model.bin", LINNET_UNSUPPORTED, {"save_pretrained"});
  refused(t / "lfs/model.safetensors", LINNET_INVALID_ARGUMENT, {"give the folder", "lfs"});
  spill(t / "disguised", "GGUF and more");
  refused(t / "disguised", LINNET_UNSUPPORTED, {"GGUF is not read yet"});
  spill(t / "old.linnet", "");
  ConvertOptions options;
  options.output = t / "out.linnet";
  expect_refused(t / "old.linnet", LINNET_INVALID_ARGUMENT, {"converted already"}, options);
  fs::create_directories(t / "fifo");
  spill(t / "fifo/config.json", config);
  BOOST_REQUIRE(::mkfifo((t / "fifo/model.safetensors").c_str(), 0600) == 0);
  // Nothing may wait for a writer that never comes.
  ::alarm(20);
  refused(t / "fifo", LINNET_BAD_FILE, {"not a regular file"});
  ::alarm(0);
}

struct Quantized {
  const char* what;
  Json config;           // merged into a good one
  std::string tensor, dtype;
  const char* method;
};
std::ostream& operator<<(std::ostream& out, const Quantized& q) { return out << q.what; }

const std::vector<Quantized> kQuantized = {
    {"GPTQ", {{"quantization_config", {{"bits", 4}, {"quant_method", "gptq"}}}}, "", "", "gptq"},
    {"AWQ", {{"quantization_config", {{"quant_method", "awq"}}}}, "", "", "awq"},
    {"FP8", {{"quantization_config", {{"quant_method", "fp8"}}}}, "", "", "fp8"},
    {"bitsandbytes before it had a name", {{"quantization_config", {{"load_in_8bit", true}}}}, "", "", "bitsandbytes"},
    {"compressed-tensors", {{"compression_config", {{"quant_method", "compressed-tensors"}}}}, "", "", "compressed-tensors"},
    {"no method given", {{"quantization_config", {{"bits", 4}}}}, "", "", "unnamed"},
    {"U8 weights and nothing in config.json", Json::object(), "model.layers.0.mlp.up_proj.weight", "U8", "packed"},
    {"names of GPTQ", Json::object(), "model.layers.0.mlp.up_proj.qweight", "I32", "GPTQ"},
    {"names of bitsandbytes", Json::object(), "model.layers.0.mlp.up_proj.weight.absmax", "U8", "bitsandbytes"},
    {"F8 weights", Json::object(), "model.layers.0.mlp.up_proj.weight", "F8_E4M3", "FP8"},
    {"F64 weights", Json::object(), "model.layers.0.mlp.up_proj.weight", "F64", "F32, F16 and BF16"},
};

BOOST_DATA_TEST_CASE(a_quantized_checkpoint_is_refused_by_method, bdata::make(kQuantized), q) {
  const TempDir folder;
  Json config = tiny_llama_config();
  config.update(q.config);
  Tensors tensors = tiny_llama_tensors();
  if (!q.tensor.empty()) {
    const size_t bits = q.dtype == "F64" ? 64 : q.dtype == "I32" ? 32 : 8;
    tensors[q.tensor] = {q.dtype, {5, 6}, std::string(30 * bits / 8, '\1')};
  }
  write_checkpoint(folder.path(), config, tensors);
  expect_refused(folder.path(), LINNET_UNSUPPORTED, {q.method});
}

BOOST_AUTO_TEST_CASE(a_name_is_the_folders_or_the_repositorys) {
  using converter::checkpoint_name;
  BOOST_TEST(checkpoint_name("/a/TinyLlama-1.1B") == "TinyLlama-1.1B");
  BOOST_TEST(checkpoint_name("/a/b/.") == "b");
  BOOST_TEST(checkpoint_name("/a/b/..") == "a");
  BOOST_TEST(checkpoint_name("/") == "model");
  BOOST_TEST(checkpoint_name("/home/x/.cache/huggingface/hub/models--karpathy--tinyllamas/snapshots/0123abcd") == "tinyllamas");
  BOOST_TEST(checkpoint_name("/a/models--org--gpt2/snapshots/0123abcd") == "gpt2");
  BOOST_TEST(checkpoint_name("/a/hist\xc3\xb3ria") == "hist\xc3\xb3ria");
  BOOST_TEST(checkpoint_name("/a/bad\xff\nname") == "bad__name");
  BOOST_TEST(checkpoint_name("/a/" + std::string(198, 'x') + "\xe2\x82\xac\xe2\x82\xac") == std::string(198, 'x'));
  const fs::path before = fs::current_path();
  const TempDir t;
  fs::create_directory(t / "here");
  fs::current_path(t / "here");
  BOOST_TEST(checkpoint_name(".") == "here");
  fs::current_path(before);
}

BOOST_AUTO_TEST_SUITE_END()
