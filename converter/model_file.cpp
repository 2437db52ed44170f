#include "converter/model_file.h"

#include <cstring>
#include <memory>
#include <xxhash.h>

#include "converter/message.h"
#include "converter/quantize/calibrate.h"
#include "converter/weights.h"
#include "runtime/container.h"
#include "runtime/status.h"

namespace linnet::converter {

using namespace linnet::detail;

namespace {

class Hash {  // XXH3, seed 0, fed piece by piece
 public:
  enum Bits { k64, k128 };
  explicit Hash(Bits bits) : state_(XXH3_createState()) {
    if (!state_) throw std::bad_alloc();
    if (bits == k64) XXH3_64bits_reset(state_.get());
    else XXH3_128bits_reset(state_.get());
  }
  void add64(std::span<const std::byte> bytes) { XXH3_64bits_update(state_.get(), bytes.data(), bytes.size()); }
  void add128(std::span<const std::byte> bytes) { XXH3_128bits_update(state_.get(), bytes.data(), bytes.size()); }
  uint64_t get64() const { return XXH3_64bits_digest(state_.get()); }
  XXH128_hash_t get128() const { return XXH3_128bits_digest(state_.get()); }

 private:
  struct Free { void operator()(XXH3_state_t* s) const { XXH3_freeState(s); } };
  std::unique_ptr<XXH3_state_t, Free> state_;
};

Section section(SectionKind kind, uint64_t offset, uint64_t bytes, XXH128_hash_t hash) {
  return {static_cast<uint32_t>(kind), 0, offset, bytes, {hash.low64, hash.high64}, 0};
}

void check_cap(const char* what, uint64_t bytes) {
  if (bytes > kSectionCap) fail(LINNET_UNSUPPORTED, "the ", what, " section would have ", bytes, " bytes; the format allows ", kSectionCap);
}

}  // namespace

uint64_t write_model(const Graph& graph, std::span<const std::byte> tokenizer, const Checkpoint& checkpoint, unsigned threads, OutputFile* file,
                     const std::function<void(uint64_t, uint64_t, std::string_view)>& step, Calibration* calibration) {
  std::vector<Placement> placements;
  uint64_t weight_bytes = 0;
  for (const TensorSpec& t : graph.tensors) {
    placements.push_back({weight_bytes, t.bytes(), 0});
    weight_bytes = round_up(weight_bytes + t.bytes(), kTensorAlign);
  }
  // The hashes of tensors are known only after the weights, but the section's size is known now.
  const uint64_t graph_bytes = graph_section(graph, placements).size();
  check_cap("graph", graph_bytes);
  check_cap("tokenizer", tokenizer.size());
  const uint64_t graph_at = sizeof(Header), tokenizer_at = round_up(graph_at + graph_bytes, kTensorAlign);
  const uint64_t weights_at = round_up(tokenizer_at + tokenizer.size(), kWeightsAlign);

  Hash all(Hash::k128);
  for (size_t i = 0; i < graph.tensors.size(); ++i) {
    const TensorSpec& t = graph.tensors[i];
    Hash one(Hash::k64);
    uint64_t done = placements[i].offset;
    const float* factor = calibration ? calibration->factor(static_cast<Id>(i)) : nullptr;
    make_tensor(t, checkpoint, threads, factor, [&](std::span<const std::byte> block) {
      step(done, weight_bytes, t.name);
      file->write(weights_at + done, block);
      one.add64(block);
      all.add128(block);
      done += block.size();
    });
    if (done != placements[i].offset + placements[i].bytes)
      fail(LINNET_INTERNAL, "tensor ", t.name, " has ", done - placements[i].offset, " bytes, planned were ", placements[i].bytes);
    placements[i].xxh3 = one.get64();
    static constexpr std::byte zeros[kTensorAlign] = {};
    const std::span padding(zeros, round_up(done, kTensorAlign) - done);
    file->write(weights_at + done, padding);
    all.add128(padding);
  }
  step(weight_bytes, weight_bytes, "");

  const std::vector<uint8_t> graph_data = graph_section(graph, placements);
  if (graph_data.size() != graph_bytes) fail(LINNET_INTERNAL, "the graph section changed its size from ", graph_bytes, " to ", graph_data.size());
  file->write(graph_at, std::as_bytes(std::span(graph_data)));
  file->write(tokenizer_at, tokenizer);

  Header header{};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.major = kFormatMajor;
  header.minor = kFormatMinor;
  header.header_bytes = sizeof(Header);
  header.file_bytes = weights_at + weight_bytes;
  const auto add = [&](const Section& s) { header.sections[header.section_count++] = s; };
  add(section(SectionKind::graph, graph_at, graph_bytes, XXH3_128bits(graph_data.data(), graph_data.size())));
  if (!tokenizer.empty()) add(section(SectionKind::tokenizer, tokenizer_at, tokenizer.size(), XXH3_128bits(tokenizer.data(), tokenizer.size())));
  add(section(SectionKind::weights, weights_at, weight_bytes, all.get128()));
  header.xxh3 = XXH3_64bits(&header, offsetof(Header, xxh3));
  file->write(0, std::as_bytes(std::span(&header, 1)));
  file->resize(header.file_bytes);
  return header.file_bytes;
}

}  // namespace linnet::converter
