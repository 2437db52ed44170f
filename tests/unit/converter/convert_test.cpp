// A conversion from end to end: the container's bytes, dtypes, names, and what remains of one that fails (CASES A17, B12, J5).
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <csignal>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "converter/writer.h"
#include "model.h"
#include "runtime/container.h"

namespace bdata = boost::unit_test::data;
using namespace linnet;
using namespace linnet::tests;
using detail::Header;

namespace {

Tensors mixed_tensors(const std::vector<std::pair<std::string, std::string>>& dtypes, const std::string& rest) {
  Tensors out = tiny_llama_tensors(rest);
  for (const auto& [part, dtype] : dtypes)
    for (const auto& [name, t] : tiny_llama_tensors(dtype))
      if (name.find(part) != name.npos) out[name] = t;
  return out;
}

void set_limit(rlim_t bytes) {
  rlimit limit;
  BOOST_REQUIRE(getrlimit(RLIMIT_FSIZE, &limit) == 0);
  limit.rlim_cur = bytes == RLIM_INFINITY ? limit.rlim_max : bytes;
  BOOST_REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(conversion)

BOOST_AUTO_TEST_CASE(the_container_is_what_FORMAT_says) {
  const Made m(tiny_llama_config(), tiny_llama_tensors());
  const std::string file = slurp(m.converted.output);
  Header h;
  BOOST_REQUIRE(file.size() >= sizeof h);
  std::memcpy(&h, file.data(), sizeof h);
  BOOST_TEST(std::memcmp(h.magic, "\x89LINNET\n", 8) == 0);
  BOOST_TEST((h.major == detail::kFormatMajor && h.minor == detail::kFormatMinor && h.header_bytes == 256 && h.file_bytes == file.size() &&
              h.section_count == 2 && h.reserved == 0));
  BOOST_TEST(h.xxh3 == XXH3_64bits(file.data(), 248));
  const detail::Section &graph = h.sections[0], &weights = h.sections[1];
  BOOST_TEST((graph.kind == 1 && graph.offset == 256 && weights.kind == 3 && weights.offset == 65536 &&
              weights.offset + weights.bytes == file.size() && weights.bytes % 64 == 0));
  for (const auto* s : {&graph, &weights}) {
    const XXH128_hash_t hash = XXH3_128bits(file.data() + s->offset, s->bytes);
    BOOST_TEST((s->xxh3[0] == hash.low64 && s->xxh3[1] == hash.high64));
  }
  for (uint32_t i = 2; i < detail::kMaxSections; ++i) BOOST_TEST((h.sections[i].kind == 0 && h.sections[i].bytes == 0));
  // Between sections and between tensors there are zeros; tensors follow each other on 64 bytes.
  BOOST_TEST(file.find_first_not_of('\0', graph.offset + graph.bytes) >= weights.offset);
  uint64_t at = 0, numbers = 0;
  const char* base = nullptr;
  for (uint32_t i = 0; i < m->info.tensors; ++i) {
    const linnet_tensor* t = linnet_model_tensor(m->get(), i);
    if (!base) base = static_cast<const char*>(t->data);
    BOOST_TEST(static_cast<uint64_t>(static_cast<const char*>(t->data) - base) == at);
    BOOST_TEST(t->xxh3 == XXH3_64bits(file.data() + weights.offset + at, t->bytes));
    const uint64_t end = (at + t->bytes + 63) / 64 * 64;
    for (uint64_t b = at + t->bytes; b < end; ++b) BOOST_TEST(file[weights.offset + b] == '\0');
    at = end;
    numbers += t->shape[0] * t->shape[1] * t->shape[2];
  }
  BOOST_TEST((at == weights.bytes && m.converted.report.parameters == numbers && m.converted.report.bytes == file.size() &&
              m.converted.report.output == m.converted.output));
}

BOOST_AUTO_TEST_CASE(the_same_source_gives_the_same_bytes) {
  const TempDir t;
  write_checkpoint(t / "m", tiny_gpt2_config(), tiny_gpt2_tensors());
  fs::create_directories(t / "elsewhere");
  fs::copy(t / "m", t / "elsewhere/m", fs::copy_options::recursive);
  ConvertOptions a, b;
  a.output = t / "a.linnet";
  b.output = t / "b.linnet";
  const Converted first = convert_folder(t / "m", a), second = convert_folder((t / "elsewhere/m") + "/", b);
  BOOST_REQUIRE_MESSAGE(!first.code && !second.code, first.message << second.message);
  const std::string bytes = slurp(a.output);
  BOOST_TEST((bytes == slurp(b.output)));
  BOOST_TEST(bytes.find(t.path().string()) == bytes.npos);
}

// Scripts that compare formats say --pure of each.
BOOST_AUTO_TEST_CASE(pure_of_a_float_format_is_that_format) {
  const TempDir t;
  write_checkpoint(t / "m", tiny_llama_config(), tiny_llama_tensors());
  ConvertOptions plain, pure;
  plain.dtype = pure.dtype = LINNET_F16;
  plain.output = t / "plain.linnet";
  pure.output = t / "pure.linnet";
  pure.pure = true;
  const Converted first = convert_folder(t / "m", plain), second = convert_folder(t / "m", pure);
  BOOST_REQUIRE_MESSAGE(!first.code && !second.code, first.message << second.message);
  BOOST_TEST((slurp(plain.output) == slurp(pure.output)));
}

struct Stored {
  const char* what;
  Tensors tensors;
  linnet_dtype expected;
};
std::ostream& operator<<(std::ostream& out, const Stored& s) { return out << s.what; }

const std::vector<Stored> kStored = {
    {"all F32", tiny_llama_tensors("F32"), LINNET_F32},
    {"all F16", tiny_llama_tensors("F16"), LINNET_F16},
    {"all BF16", tiny_llama_tensors("BF16"), LINNET_BF16},
    {"F16 with norms in F32", mixed_tensors({{"norm", "F32"}}, "F16"), LINNET_F16},
    {"F16 and BF16", mixed_tensors({{"mlp", "BF16"}}, "F16"), LINNET_F32},
    {"one F32 matrix among F16", mixed_tensors({{"lm_head", "F32"}}, "F16"), LINNET_F32},
};

BOOST_DATA_TEST_CASE(the_default_dtype_is_the_checkpoints, bdata::make(kStored), s) {
  Json config = tiny_llama_config();
  config["torch_dtype"] = "float64";  // what config.json says of it is often wrong; the tensors decide
  const Made m(config, s.tensors);
  BOOST_TEST(m.converted.report.dtype == s.expected);
  const bool f32 = s.expected == LINNET_F32;
  BOOST_TEST((m->tensor("lm_head.weight")->dtype == s.expected && m->tensor("model.embed_tokens.weight")->dtype == s.expected &&
              m->tensor("model.norm.weight")->dtype == LINNET_F32));
  BOOST_TEST(linnet_model_state(m->get(), 0)->tensors[0].dtype == (f32 ? LINNET_F32 : LINNET_F16));
  // All numbers of these checkpoints are exact in every format.
  const Made other(config, tiny_llama_tensors("F32"));
  BOOST_TEST((m->floats("model.layers.1.input_layernorm.weight") == other->floats("model.layers.1.input_layernorm.weight")));
  ConvertOptions options;
  options.dtype = LINNET_F32;
  const Made as_f32(config, s.tensors, options);
  BOOST_TEST((as_f32->floats("model.layers.1.mlp.down_proj.weight") == other->floats("model.layers.1.mlp.down_proj.weight")));
}

BOOST_AUTO_TEST_CASE(dtypes_that_cannot_be_written) {
  const TempDir t;
  write_checkpoint(t / "m", tiny_llama_config(), tiny_llama_tensors());
  ConvertOptions i32;
  i32.dtype = LINNET_I32;
  expect_refused(t / "m", LINNET_UNSUPPORTED, {"i32", "f32, f16, bf16, i8 and i4"}, i32);
  Tensors large = tiny_llama_tensors();
  large["model.layers.1.mlp.down_proj.weight"] = tensor("F32", {6, 5}, std::vector<float>(30, 70000));
  write_checkpoint(t / "m", tiny_llama_config(), large);
  ConvertOptions options;
  options.dtype = LINNET_F16;
  expect_refused(t / "m", LINNET_UNSUPPORTED, {"model.layers.1.mlp.down_proj.weight", "70000", "65504"}, options);
}

BOOST_AUTO_TEST_CASE(outputs) {
  const TempDir t;
  write_checkpoint(t / "tiny", tiny_llama_config(), tiny_llama_tensors("F16"));
  const fs::path before = fs::current_path();
  fs::current_path(t.path());
  ConvertOptions options;
  options.source = "./tiny/";
  ConvertReport report;
  linnet_error error;
  linnet_code code = convert(options, &report, &error);
  fs::current_path(before);
  BOOST_TEST(code == LINNET_OK, error.message);
  BOOST_TEST((report.output == "tiny-f16.linnet" && report.architecture == "llama" && report.tokenizer == "none" && report.notes.empty()));
  const std::string made = t / "tiny-f16.linnet", bytes = slurp(made);
  BOOST_TEST(bytes.size() == report.bytes);
  struct stat status;
  BOOST_REQUIRE(::stat(made.c_str(), &status) == 0);
  const mode_t mask = ::umask(0);
  ::umask(mask);
  BOOST_TEST((status.st_mode & 0777) == (0666 & ~mask));

  const auto refused = [&](const std::string& output, bool force, linnet_code wanted, const std::vector<std::string>& words) {
    ConvertOptions o;
    o.output = output;
    o.force = force;
    expect_refused(t / "tiny", wanted, words, o);
  };
  refused(made, false, LINNET_INVALID_ARGUMENT, {"exists", "--force"});
  BOOST_TEST((slurp(made) == bytes));
  refused(t.path().string(), true, LINNET_INVALID_ARGUMENT, {"is a folder"});
  refused((t / "x") + "/", true, LINNET_INVALID_ARGUMENT, {"not the name of a file"});
  refused(t / "no/such/x.linnet", false, LINNET_IO, {"there is no folder"});
  refused("/dev/null", true, LINNET_INVALID_ARGUMENT, {"not a regular file"});
  refused(t / "tiny/model.safetensors", true, LINNET_INVALID_ARGUMENT, {"of the checkpoint itself"});
  BOOST_TEST((slurp(t / "tiny/model.safetensors") == safetensors(tiny_llama_tensors("F16"))));
  spill(made, "old");
  ConvertOptions force;
  force.output = made;
  force.force = true;
  BOOST_TEST(convert_folder(t / "tiny", force).code == LINNET_OK);
  BOOST_TEST((slurp(made) == bytes));
}

BOOST_AUTO_TEST_CASE(a_file_that_appears_meanwhile_is_kept) {
  const TempDir t;
  {
    converter::OutputFile file(t / "x", false);
    spill(t / "x", "somebody else's");
    BOOST_TEST(error_of([&] { file.commit(); }).find("exists") != std::string::npos);
  }
  BOOST_TEST(slurp(t / "x") == "somebody else's");
  BOOST_TEST(std::distance(fs::directory_iterator(t.path()), fs::directory_iterator()) == 1);
}

// Stops at each step of a conversion in turn, the last included; then nothing is there, and an old file is whole.
BOOST_DATA_TEST_CASE(a_cancelled_conversion_leaves_nothing, bdata::make({false, true}), old_file) {
  const TempDir t;
  write_checkpoint(t / "m", tiny_llama_config(), tiny_llama_tensors());
  ConvertOptions options;
  options.output = t / "out.linnet";
  options.force = old_file;
  int steps = 0, last_percent = 0;
  bool finished = false;
  for (int stop_at = 1; !finished && stop_at < 1000; ++stop_at) {
    if (old_file) spill(options.output, "old");
    volatile int cancel = 0;
    options.cancel = &cancel;
    steps = 0;
    options.progress = [&](uint64_t done, uint64_t total, std::string_view) {
      BOOST_TEST(done <= total);
      last_percent = static_cast<int>(done * 100 / total);
      if (++steps == stop_at) cancel = 1;
    };
    const Converted c = convert_folder(t / "m", options);
    finished = c.code == LINNET_OK;
    if (finished) break;
    BOOST_TEST(c.code == LINNET_CANCELLED, c.message);
    BOOST_TEST((left_over(t.path()) == (old_file ? std::vector<std::string>{"out.linnet"} : std::vector<std::string>{})));
    if (old_file) BOOST_TEST(slurp(options.output) == "old");
  }
  BOOST_TEST((finished && steps >= 20 && last_percent == 100));
}

BOOST_AUTO_TEST_CASE(a_callback_that_throws_is_an_error) {
  const TempDir t;
  write_checkpoint(t / "m", tiny_llama_config(), tiny_llama_tensors());
  ConvertOptions options;
  options.progress = [](uint64_t, uint64_t, std::string_view) { throw 7; };
  expect_refused(t / "m", LINNET_INTERNAL, {"callback"}, options);
  options.progress = [](uint64_t, uint64_t, std::string_view) { throw std::runtime_error("from the host"); };
  expect_refused(t / "m", LINNET_INTERNAL, {"from the host"}, options);
}

// The disk is full at any point of the file: the limit on a file's size stands for it.
BOOST_AUTO_TEST_CASE(a_full_disk_leaves_nothing) {
  const TempDir t;
  write_checkpoint(t / "m", tiny_llama_config(), tiny_llama_tensors());
  const uint64_t size = convert_folder(t / "m").report.bytes;
  fs::remove(t / "m/out.linnet");
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  for (const uint64_t limit : {uint64_t{0}, uint64_t{100}, uint64_t{65536}, uint64_t{65536 + 1000}, size - 1}) {
    set_limit(limit);
    const Converted c = convert_folder(t / "m");
    set_limit(RLIM_INFINITY);
    BOOST_TEST(c.code == LINNET_IO, "limit " << limit << ": " << c.message);
    BOOST_TEST(c.message.find("writing") != std::string::npos);
    BOOST_TEST(left_over(t / "m").empty());
  }
  set_limit(size);
  const Converted c = convert_folder(t / "m");
  set_limit(RLIM_INFINITY);
  std::signal(SIGXFSZ, before);
  BOOST_TEST(c.code == LINNET_OK, c.message);
}

BOOST_AUTO_TEST_CASE(a_cut_source_leaves_nothing) {
  const TempDir t;
  write_checkpoint(t / "m", tiny_llama_config(), tiny_llama_tensors());
  fs::resize_file(t / "m/model.safetensors", fs::file_size(t / "m/model.safetensors") - 1024);
  expect_refused(t / "m", LINNET_BAD_FILE, {"model.safetensors", "cut"});
}

// Needs 5 GB of disk: run_test=@large. A checkpoint over 2 GiB (sparse, all zeros) converts in little memory, opens, and its last tensor
// lies beyond 2 GiB.
BOOST_AUTO_TEST_CASE(a_file_over_2_GiB, *boost::unit_test::label("large") * boost::unit_test::disabled()) {
  const TempDir t;
  Json config = tiny_llama_config();
  config.update(Json{{"hidden_size", 8192}, {"num_hidden_layers", 1}, {"vocab_size", 140000}, {"tie_word_embeddings", true}});
  write_sparse_llama(t / "m", config);

  const pid_t child = ::fork();
  BOOST_REQUIRE(child >= 0);
  if (child == 0) {
    ConvertOptions options;
    options.source = t / "m";
    options.output = t / "m/out.linnet";
    ::_exit(convert(options, nullptr, nullptr) == LINNET_OK ? 0 : 1);
  }
  int status = 0;
  rusage usage{};
  BOOST_REQUIRE(::wait4(child, &status, 0, &usage) == child);
  BOOST_REQUIRE((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  BOOST_TEST(usage.ru_maxrss < 64 * 1024, usage.ru_maxrss << " KiB");  // of which this program's own pages are a part
  const Opened m(t / "m/out.linnet");
  BOOST_TEST(m.info.file_bytes > uint64_t{2} << 30);
  const linnet_tensor* last = m.tensor("model.norm.weight");
  BOOST_TEST(static_cast<const char*>(last->data) - static_cast<const char*>(m.tensor("model.embed_tokens.weight")->data) > int64_t{2} << 30);
  BOOST_TEST(static_cast<const float*>(last->data)[8191] == 0.0f);
}

BOOST_AUTO_TEST_SUITE_END()
