// Which tensor of a model becomes i8 or i4, what the file says of it, and the memory it takes to make one (CASES I6).
#include "converter/quantize/recipe.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include "converter/architectures/architecture.h"
#include "converter/model_file.h"
#include "converter/quantize/levels.h"
#include "model.h"
#include "ops/packing.h"

namespace bdata = boost::unit_test::data;
using namespace linnet;
using namespace linnet::tests;
using namespace linnet::converter;

namespace {

Graph build(const Checkpoint& checkpoint, linnet_dtype dtype, bool pure) {
  ModelBuilder b(checkpoint, stored_dtype(checkpoint, find_family(checkpoint.config())), LINNET_F16);
  find_family(checkpoint.config()).build(b);
  choose_formats(b.graph, dtype, pure);
  b.graph.name = "m";
  return std::move(b.graph);
}

// Writes what linnet-convert would, but does not ask this build's ops whether they run it.
void write(const std::string& path, const Graph& graph, const Checkpoint& checkpoint, unsigned threads) {
  OutputFile file(path, true);
  write_model(graph, {}, checkpoint, threads, &file, [](uint64_t, uint64_t, std::string_view) {});
  file.sync();
  file.commit();
}

// A checkpoint of 1.1 thousand million weights in F16 (sparse, all zeros).
void streams(linnet_dtype dtype) {
  const TempDir t;
  Json config = tiny_llama_config();
  config.update(Json{{"hidden_size", 8192}, {"num_hidden_layers", 1}, {"vocab_size", 67000}, {"tie_word_embeddings", false}});
  write_sparse_llama(t / "m", config);
  const pid_t child = ::fork();  // starts with all that the tests hold; what is added to it counts
  BOOST_REQUIRE(child >= 0);
  if (child == 0) {
    const auto most = [] {
      rusage usage{};
      ::getrusage(RUSAGE_SELF, &usage);
      return usage.ru_maxrss;
    };
    const long before = most();
    try {
      const Checkpoint checkpoint(t / "m");
      write(t / "m/out.linnet", build(checkpoint, dtype, true), checkpoint, 2);
    } catch (...) { ::_exit(255); }
    ::_exit(static_cast<int>(std::min(254L, (most() - before) / 1024)));
  }
  int status = 0;
  BOOST_REQUIRE(::waitpid(child, &status, 0) == child);
  BOOST_REQUIRE((WIFEXITED(status) && WEXITSTATUS(status) != 255));
  BOOST_TEST(WEXITSTATUS(status) < 32, WEXITSTATUS(status) << " MiB");
  BOOST_TEST(fs::file_size(t / "m/out.linnet") > uint64_t{67000} * 2 * 8192 * (dtype == LINNET_I8 ? 17 : 9) / 16);
}

const linnet_dtype kIntegers[] = {LINNET_I8, LINNET_I4};
const bool kBoth[] = {false, true};

}  // namespace

BOOST_AUTO_TEST_SUITE(recipe)

BOOST_DATA_TEST_CASE(every_matrix_and_nothing_else, bdata::make(kIntegers) * bdata::make(kBoth), dtype, pure) {
  const TempDir t;
  Tensors tied = tiny_llama_tensors("BF16");
  tied.erase("lm_head.weight");
  Json tied_config = tiny_llama_config();
  tied_config["tie_word_embeddings"] = true;
  write_checkpoint(t / "untied", tiny_llama_config(), tiny_llama_tensors("F16"));
  write_checkpoint(t / "tied", tied_config, tied);
  write_checkpoint(t / "gpt2", tiny_gpt2_config(), tiny_gpt2_tensors());
  for (const char* folder : {"untied", "tied", "gpt2"}) {
    const Checkpoint checkpoint(t / folder);
    const Graph g = build(checkpoint, dtype, pure);
    for (const TensorSpec& s : g.tensors) {
      BOOST_TEST_CONTEXT(folder << " " << s.name) {
        const auto named = [&](auto... parts) { return ((s.name.find(parts) != s.name.npos) || ...); };
        const bool stays = s.rank < 2 || named("wpe");
        // One kv head serves three query heads in the Llamas here, one in the GPT-2, whose only layer is the first and the last.
        const bool better = named("embed_tokens", "wte", "lm_head", "v_proj", "k_proj", "#v", "down_proj", "mlp.c_proj");
        if (stays) {
          BOOST_TEST((s.dtype == LINNET_F32 && s.layout == LINNET_PLAIN && s.note.empty() && !s.levels));
          continue;
        }
        const linnet_dtype wanted = better && !pure ? LINNET_I8 : dtype;
        BOOST_TEST((s.dtype == wanted && s.layout == LINNET_R16K4));
        BOOST_TEST((s.levels == (wanted == LINNET_I4 ? std::optional<Levels>(kLevels) : std::nullopt)));
        BOOST_TEST(!s.note.empty());
        BOOST_TEST((s.note.find("--pure") != s.note.npos) == pure, s.note);
      }
    }
    for (const StateSpec& s : g.states)
      for (const linnet_state_tensor& kv : s.tensors) BOOST_TEST(kv.dtype == LINNET_F16);
  }
}

BOOST_DATA_TEST_CASE(the_file_says_what_each_tensor_got, bdata::make(kIntegers), dtype) {
  const TempDir t;
  write_checkpoint(t / "m", tiny_llama_config(), tiny_llama_tensors("F16"));
  const Checkpoint checkpoint(t / "m");
  const Graph g = build(checkpoint, dtype, false);
  std::string first;
  for (const unsigned threads : {1u, 2u, 3u}) {
    write(t / "out.linnet", g, checkpoint, threads);
    const std::string bytes = slurp(t / "out.linnet");
    if (first.empty()) first = bytes;
    BOOST_TEST((bytes == first));
  }
  const Opened m(t / "out.linnet");  // verifies every byte
  for (const TensorSpec& s : g.tensors) {
    const linnet_tensor* w = m.tensor(s.name);
    BOOST_TEST_CONTEXT(s.name) {
      BOOST_REQUIRE(w);
      BOOST_TEST((w->dtype == s.dtype && w->layout == s.layout && w->layout_version == 0 && w->bytes == s.bytes() && w->note == s.note));
      BOOST_TEST((w->levels != nullptr) == s.levels.has_value());
      for (size_t i = 0; w->levels && i < 16; ++i) BOOST_TEST(w->levels[i] == static_cast<float>(kLevels[i]));
    }
  }
  const linnet_tensor* q = m.tensor("model.layers.0.self_attn.q_proj.weight");
  BOOST_TEST(q->bytes == (dtype == LINNET_I8 ? 64u + 512 : 64u + 256));  // 12 x 6: one panel, one group
}

// Need 2 GB of disk: run_test=@large.
BOOST_AUTO_TEST_CASE(a_large_checkpoint_becomes_i8, *boost::unit_test::label("large") * boost::unit_test::disabled()) { streams(LINNET_I8); }
BOOST_AUTO_TEST_CASE(a_large_checkpoint_becomes_i4, *boost::unit_test::label("large") * boost::unit_test::disabled()) { streams(LINNET_I4); }

BOOST_AUTO_TEST_SUITE_END()
