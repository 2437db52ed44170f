// The way of a conversion: find the checkpoint, build the graph, write the file, open it as a host would, give it its name.
#include "linnet/convert.h"

#include <filesystem>
#include <memory>
#include <new>
#include <thread>

#include "converter/architectures/architecture.h"
#include "converter/checkpoint/checkpoint.h"
#include "converter/checkpoint/folder.h"
#include "converter/message.h"
#include "converter/model_file.h"
#include "converter/quantize/calibrate.h"
#include "converter/quantize/recipe.h"
#include "converter/tokenizer/tokenizer.h"
#include "linnet/c.h"
#include "ops/packing.h"
#include "runtime/status.h"

namespace linnet {

using namespace converter;

namespace {

void check_dtype(const ConvertOptions& options) {
  const bool integer = options.dtype && packing::is_integer(static_cast<uint8_t>(*options.dtype));
  if (options.dtype && !integer && *options.dtype != LINNET_F32 && *options.dtype != LINNET_F16 && *options.dtype != LINNET_BF16)
    fail(LINNET_UNSUPPORTED, "dtype ", dtype_name(*options.dtype), " is not for weights; f32, f16, bf16, i8 and i4 are");
  if (!options.calibrate.empty() && !integer)
    fail(LINNET_INVALID_ARGUMENT, "calibrating (--calibrate) makes i8 and i4 better; choose one of them as dtype (--dtype)");
}

// floats: gets the graph as it is before integer formats are chosen.
Graph build_graph(const Checkpoint& checkpoint, const ConvertOptions& options, ConvertReport* report, std::optional<Graph>* floats) {
  const Family& family = find_family(checkpoint.config());
  refuse_quantized_tensors(checkpoint, family);
  const linnet_dtype stored = stored_dtype(checkpoint, family);
  report->dtype = options.dtype.value_or(stored);
  report->architecture = family.model_type;
  const bool integer = packing::is_integer(static_cast<uint8_t>(report->dtype));
  ModelBuilder b(checkpoint, integer ? stored : report->dtype, report->dtype == LINNET_F32 ? LINNET_F32 : LINNET_F16);
  family.build(b);
  check_all_used(b, family);
  Graph& g = b.graph;
  g.name = checkpoint.name();
  g.architecture = family.model_type;
  const Generation tokens = read_generation(checkpoint.config(), checkpoint.generation_config(), family.tokens, g.vocabulary, &report->notes);
  g.bos = tokens.bos;
  g.pad = tokens.pad;
  g.eos = tokens.eos;
  g.temperature = tokens.temperature;
  g.top_k = tokens.top_k;
  g.top_p = tokens.top_p;
  g.repetition_penalty = tokens.repetition_penalty;
  if (!options.calibrate.empty()) *floats = g;
  if (integer) choose_formats(g, report->dtype, options.pure);
  return std::move(b.graph);
}

// The tokenizer section, or nothing where the checkpoint has no tokenizer.json.
std::string compile_tokenizer_of(const Checkpoint& checkpoint, const Graph& graph, ConvertReport* report) {
  constexpr uint64_t cap = uint64_t{256} << 20;
  const std::string& folder = checkpoint.folder();
  const auto read = [&](const char* file) {
    if (!is_there(folder + "/" + file)) return std::string();
    refuse_lfs_pointer(folder, file);
    return read_text_file(folder + "/" + file, cap);
  };
  const std::string tokenizer = read("tokenizer.json");
  if (tokenizer.empty()) {
    for (const char* file : {"tokenizer.model", "vocab.json", "vocab.txt"})
      if (is_there(folder + "/" + file)) {
        report->notes.push_back(cat(
            file, " is not read; for text, write tokenizer.json first: python3 -c \"from transformers import AutoTokenizer as T; T.from_pretrained('",
            shown(folder), "').save_pretrained('", shown(folder), "')\""));
        break;
      }
    return {};
  }
  try {
    TokenizerReport made;
    std::string section = compile_tokenizer(tokenizer, read("tokenizer_config.json"), {read("chat_template.jinja")}, &made);
    report->tokenizer = made.kind;
    if (made.vocabulary > graph.vocabulary)
      report->notes.push_back(
          cat("the tokenizer has ", made.vocabulary, " ids, the model only ", graph.vocabulary, ": text that needs the others cannot be fed to it"));
    return section;
  } catch (const ConvertError& e) {
    fail(e.code, e.what(), "; with --no-tokenizer the checkpoint converts without its tokenizer, to run on ids");
  }
}

// What was written must load and plan: a file that a host would refuse never gets its name.
void try_open(const std::string& path, ConvertReport* report) {
  linnet_model_options options;
  linnet_model_options_init(&options);
  options.registry = linnet_builtin_registry();
  linnet_model* model = nullptr;
  linnet_error error;
  linnet_code code = linnet_model_open(path.c_str(), &options, &model, &error);
  if (!code) {
    linnet_model_info info;
    info.size = sizeof info;
    linnet_model_get_info(model, &info);
    report->bytes = info.file_bytes;
    report->parameters = info.parameters;
    linnet_runner_options runner;
    linnet_runner_options_init(&runner);
    linnet_plan plan;
    plan.size = sizeof plan;
    code = linnet_model_plan(model, &runner, &plan, &error);
    linnet_model_release(model);
  }
  if (code) fail(LINNET_INTERNAL, "the file just written does not load (", error.message, "); please report this with the checkpoint's config.json");
}

void run(const ConvertOptions& options, ConvertReport* report) {
  check_dtype(options);
  const auto cancelled = [&] {
    if (options.cancel && *options.cancel) fail(LINNET_CANCELLED, "the conversion was cancelled; nothing was written");
  };
  const Checkpoint checkpoint(options.source);
  std::optional<Graph> floats;
  Graph graph = build_graph(checkpoint, options, report, &floats);
  report->output = options.output.empty() ? cat(checkpoint.name(), "-", dtype_name(report->dtype), ".linnet") : options.output;
  check_output(report->output, options.force);
  if (checkpoint.has_file(report->output))
    fail(LINNET_INVALID_ARGUMENT, shown(report->output), " is a file of the checkpoint itself; choose another output");

  report->tokenizer = "none";
  const std::string tokenizer = options.tokenizer ? compile_tokenizer_of(checkpoint, graph, report) : "";
  cancelled();

  OutputFile file(report->output, options.force);
  const unsigned threads = options.threads ? options.threads : std::max(1u, std::thread::hardware_concurrency());
  const std::span<const std::byte> tokenizer_bytes = std::as_bytes(std::span(tokenizer));
  uint64_t done = 0, total = 0;
  const auto progress = [&](std::string_view what) {
    cancelled();
    if (options.progress) options.progress(done, total, what);
    cancelled();
  };
  std::unique_ptr<Calibration> calibration;
  if (floats) {
    calibration = std::make_unique<Calibration>(
        *floats, graph, tokenizer_bytes, checkpoint,
        Calibration::Options{options.calibrate, report->output, threads, options.calibrate_memory, progress, options.cancel});
    for (Id i = 0; i < graph.tensors.size(); ++i)
      if (calibration->covers(i)) graph.tensors[i].note += "; calibrated";
  }
  write_model(
      graph, tokenizer_bytes, checkpoint, threads, &file,
      [&](uint64_t written, uint64_t all, std::string_view tensor) {
        done = written, total = all;
        progress(tensor);
      },
      calibration.get());
  file.sync();
  try_open(file.temporary_path(), report);
  cancelled();
  file.commit();
}

}  // namespace

linnet_code convert(const ConvertOptions& options, ConvertReport* report, linnet_error* error) noexcept {
  const auto failed = [&](linnet_code code, const char* message) { return detail::fail(error, code, "", {}, "%s", message); };
  try {
    ConvertReport made;
    run(options, &made);
    if (report) *report = std::move(made);
    return detail::succeed(error);
  } catch (const ConvertError& e) {
    return failed(e.code, e.what());
  } catch (const std::bad_alloc&) {
    return failed(LINNET_NO_MEMORY, "out of memory");
  } catch (const std::filesystem::filesystem_error& e) {
    return failed(LINNET_IO, e.what());
  } catch (const std::exception& e) {
    return failed(LINNET_INTERNAL, e.what());
  } catch (...) {
    return failed(LINNET_INTERNAL, "a callback threw something that is not a std::exception");
  }
}

std::vector<std::string> convertible_architectures() {
  std::vector<std::string> out;
  for (const Family& f : families()) out.emplace_back(f.model_type);
  return out;
}

const char* dtype_name(linnet_dtype dtype) noexcept {
  switch (dtype) {
    case LINNET_F32: return "f32";
    case LINNET_F16: return "f16";
    case LINNET_BF16: return "bf16";
    case LINNET_I8: return "i8";
    case LINNET_I4: return "i4";
    case LINNET_I32: return "i32";
  }
  return "unknown";
}

}  // namespace linnet
