#include "converter/quantize/calibrate.h"

#include <algorithm>
#include <new>

#include "converter/checkpoint/file_map.h"
#include "converter/checkpoint/json.h"
#include "converter/message.h"
#include "converter/model_file.h"
#include "converter/writer.h"
#include "linnet/op.h"
#include "ops/packing.h"

namespace linnet::converter {

namespace {

constexpr uint64_t kSequence = 512, kFewest = 128, kTextCap = uint64_t{64} << 20;
constexpr double kDamping = 0.01;
constexpr unsigned kMostThreads = 256;  // of a runner

template <typename T>
T need(Result<T> result) {
  if (!result) fail(result.error().code(), "while measuring activations: ", result.error().message());
  return std::move(*result);
}
void need(const Status& status) {
  if (!status.ok()) fail(status.code(), "while measuring activations: ", status.message());
}

// Floats as kernels want them: 64-byte aligned.
class Floats {
 public:
  explicit Floats(uint64_t n) : data_(new (std::align_val_t(64)) float[n]()) {}
  float* get() const { return data_.get(); }

 private:
  struct Free {
    void operator()(float* p) const { ::operator delete[](p, std::align_val_t(64)); }
  };
  std::unique_ptr<float[], Free> data_;
};

uint64_t padded(uint64_t n) { return (n + 15) / 16 * 16; }

// The op "capture": H += x x^T over its rows, where its capture is among those measured in this pass.
class Capture {
 public:
  Capture(const std::vector<uint32_t>& widths, const volatile int* cancel) : widths_(widths), cancel_(cancel), sums_(widths.size()) {
    const uint64_t most = padded(*std::max_element(widths.begin(), widths.end()));
    columns_ = std::make_unique<Floats>(most * kSequence);
    panels_ = std::make_unique<Floats>(most * kSequence);
  }
  void begin(Id first, Id end, unsigned threads) {
    first_ = first, end_ = end;
    for (auto& s : sums_) s.clear();
    for (Id i = first; i < end; ++i) sums_[i].assign(uint64_t{widths_[i]} * widths_[i], 0.0f);
    const uint64_t most = padded(*std::max_element(widths_.begin(), widths_.end()));
    products_.clear();
    for (unsigned t = 0; t < threads; ++t) products_.push_back(std::make_unique<Floats>(16 * most));
  }
  std::vector<float>& sum(Id i) { return sums_[i]; }
  const std::atomic<int>& stop() const { return stop_; }
  void go_on() { stop_ = 0; }

  linnet_op_def op() {
    linnet_op_def def{};
    def.size = sizeof def, def.abi = LINNET_OP_ABI, def.name = "capture", def.min_version = def.max_version = 1;
    def.plan = [](void*, linnet_op_plan*) { return LINNET_OK; };
    def.eval = [](const linnet_op_eval* e) { return static_cast<Capture*>(e->op_context)->eval(e); };
    def.context = this;
    return def;
  }

 private:
  linnet_code eval(const linnet_op_eval* e) {
    const Id index = static_cast<Id>(e->node->attrs[0].integer);
    if ((cancel_ && *cancel_) || index >= end_) stop_ = 1;  // nothing behind this node is wanted
    if (stop_ || index < first_) return LINNET_OK;
    Part part{this, e, sums_[index].data(), widths_[index]};
    e->host->parallel(
        e, [](void* p, const linnet_thread* thread) { static_cast<Part*>(p)->run(*thread); }, &part);
    return LINNET_OK;
  }

  // X^T X as the runtime's linear computes it: the columns of X are its rows and its weights, and a sum runs along the tokens.
  struct Part {
    Capture* owner;
    const linnet_op_eval* e;
    float* sum;
    uint64_t k;
    void run(const linnet_thread& thread) {
      const linnet_rows& x = e->inputs[0];
      const uint64_t panels = padded(k) / 16, tokens = x.rows, stride = padded(tokens);
      float *columns = owner->columns_->get(), *packed = owner->panels_->get(), *product = owner->products_[thread.index]->get();
      for (uint64_t p = thread.index; p < panels; p += thread.count)
        for (uint64_t lane = 0; lane < 16; ++lane)
          for (uint64_t t = 0; t < tokens; ++t) {
            const uint64_t i = 16 * p + lane;
            const float v = i < k ? static_cast<const float*>(x.data)[t * x.stride + i] : 0.0f;
            columns[i * stride + t] = v;
            packed[(p * tokens + t) * 16 + lane] = v;
          }
      e->host->barrier(&thread);
      linnet_tensor w{};
      w.name = "", w.dtype = LINNET_F32, w.layout = LINNET_R16, w.rank = 2;
      w.shape[0] = 1, w.shape[1] = padded(k), w.shape[2] = tokens;
      w.bytes = panels * tokens * 64, w.note = "", w.data = packed;
      for (uint64_t p = thread.index; p < panels; p += thread.count) {
        const uint64_t first = 16 * p, width = padded(k) - first;
        e->host->math->linear(&w, first, panels - p, columns + first * stride, stride, 16, product, width);
        for (uint64_t r = 0; r < 16 && first + r < k; ++r)
          for (uint64_t j = first + r; j < k; ++j) sum[(first + r) * k + j] += product[r * width + j - first];
      }
    }
  };

  const std::vector<uint32_t>& widths_;
  const volatile int* cancel_;
  std::vector<std::vector<float>> sums_;
  std::unique_ptr<Floats> columns_, panels_;
  std::vector<std::unique_ptr<Floats>> products_;
  Id first_ = 0, end_ = 0;
  std::atomic<int> stop_{0};
};

std::vector<int32_t> read_tokens(const std::string& path, bool has_tokenizer, [[maybe_unused]] const Model& model) {
  const std::string text = read_text_file(path, kTextCap);
  std::vector<int32_t> ids;
  if (path.ends_with(".json")) {
    const nlohmann::json json = parse_json(text, path);
    if (!json.is_array()) fail(LINNET_INVALID_ARGUMENT, shown(path), " is not an array of token ids");
    for (const auto& id : json) {
      if (!id.is_number_integer() || id < 0 || id >= model.info().vocabulary)
        fail(LINNET_INVALID_ARGUMENT, shown(path), ": ", shown(id.dump(), 40), " is not a token id below the vocabulary's ", model.info().vocabulary);
      ids.push_back(id.get<int32_t>());
    }
  } else if (!has_tokenizer) {
    fail(LINNET_INVALID_ARGUMENT, "without a tokenizer the text to calibrate with must be token ids: a .json file with an array of them, not ",
         shown(path));
  } else {
#if LINNET_CONVERTER_TEXT
    ids = need(need(Tokenizer::create(model)).encode(text));
#else
    fail(LINNET_UNSUPPORTED, "this build has no tokenizers; give the text to calibrate with as token ids, a .json file with an array of them");
#endif
  }
  if (ids.size() < kFewest)
    fail(LINNET_INVALID_ARGUMENT, shown(path), " has ", ids.size(), " tokens; at least ", kFewest, " are needed, and some thousands serve well");
  return ids;
}

}  // namespace

struct Calibration::Run {
  Run(const Calibration& owner, std::span<const std::byte> tokenizer, const Checkpoint& checkpoint)
      : file(owner.options_.beside, true), capture(owner.captures_.widths, owner.options_.cancel) {
    const auto beat = [&](uint64_t, uint64_t, std::string_view) { owner.options_.beat("writing floats to measure with"); };
    write_model(owner.captures_.graph, tokenizer, checkpoint, owner.options_.threads, &file, beat);
    linnet_registry* created = nullptr;
    need(detail::status([&](linnet_error* e) { return linnet_registry_create(nullptr, &created, e); }));
    registry.reset(created);
    need(detail::status([&](linnet_error* e) { return linnet_register_builtin_ops(created, nullptr, e); }));
    const linnet_op_def op = capture.op();
    need(detail::status([&](linnet_error* e) { return linnet_registry_add(created, &op, 0, e); }));
    model.emplace(need(Model::open(file.temporary_path(), {.registry = created})));
    ids = read_tokens(owner.options_.text, !tokenizer.empty(), *model);
    const int64_t limit = model->info().context_limit;
    sequence = limit > 0 ? std::min<uint64_t>(kSequence, static_cast<uint64_t>(limit)) : kSequence;
    runner.emplace(need(Runner::create(*model, {.context = sequence,
                                                .max_rows = static_cast<uint32_t>(sequence),
                                                .sessions = 1,
                                                .threads = std::min(kMostThreads, owner.options_.threads)})));
    runner->cancel_on(&capture.stop());
  }
  struct Release {
    void operator()(linnet_registry* r) const { linnet_registry_release(r); }
  };
  OutputFile file;  // temporary: never committed
  Capture capture;
  std::unique_ptr<linnet_registry, Release> registry;
  std::optional<Model> model;
  std::optional<Runner> runner;
  std::vector<int32_t> ids;
  uint64_t sequence = 0;
  Id first = 0, end = 0;  // captures whose factors are there
};

Calibration::Calibration(const Graph& floats, const Graph& target, std::span<const std::byte> tokenizer, const Checkpoint& checkpoint,
                         Options options)
    : options_(std::move(options)) {
  std::vector<bool> wanted;  // of a table that is the output head too, what the head reads
  for (const TensorSpec& t : target.tensors) wanted.push_back(t.layout == LINNET_R16K4 && t.shape[0] == 1);
  captures_ = with_captures(floats, wanted);
  if (!captures_.widths.empty()) run_ = std::make_unique<Run>(*this, tokenizer, checkpoint);
}

Calibration::~Calibration() = default;

const float* Calibration::factor(Id tensor) {
  const Id capture = captures_.of_tensor[tensor];
  if (capture == kAbsent) return nullptr;
  if (capture < run_->first || capture >= run_->end) measure(capture);
  return run_->capture.sum(capture).data();
}

void Calibration::measure(Id first) {
  Run& r = *run_;
  uint64_t bytes = 0;
  Id end = first;
  for (; end < captures_.widths.size(); ++end) {
    bytes += uint64_t{captures_.widths[end]} * captures_.widths[end] * sizeof(float);
    if (end > first && bytes > options_.memory) break;
  }
  r.first = r.end = 0;
  r.capture.begin(first, end, options_.threads);
  // The last piece counts unless it is short beside the others: positions far from the start are what a model mostly sees.
  const uint64_t sequences = std::max<uint64_t>(1, (r.ids.size() + r.sequence / 2) / r.sequence);
  for (uint64_t i = 0; i < sequences; ++i) {
    options_.beat(cat("measuring activations: ", i + 1, " of ", sequences));
    Session session = need(Session::create(*r.runner));
    const uint64_t at = i * r.sequence, count = std::min<uint64_t>(r.sequence, r.ids.size() - at);
    const linnet_step_entry entry{session.get(), r.ids.data() + at, static_cast<uint32_t>(count), LINNET_WANT_NONE};
    const Status status = r.runner->step(std::span(&entry, 1));
    if (r.capture.stop()) r.capture.go_on();
    else need(status);
  }
  for (Id i = first; i < end; ++i) {
    options_.beat("factorizing what was measured");
    if (factorize(r.capture.sum(i).data(), captures_.widths[i], kDamping, options_.threads)) continue;
    const auto reader = std::find(captures_.of_tensor.begin(), captures_.of_tensor.end(), i) - captures_.of_tensor.begin();
    fail(LINNET_NOT_FINITE, "what tensor ", shown(captures_.graph.tensors[static_cast<size_t>(reader)].name), " reads on ", shown(options_.text),
         " is not finite, or too unequal to calibrate with");
  }
  r.first = first, r.end = end;
}

}  // namespace linnet::converter
