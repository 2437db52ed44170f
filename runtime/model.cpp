// Opening a model: container first (header, sections, hashes), then the graph, then the program.
#include "runtime/model.h"

#include <xxhash.h>
#include <cinttypes>

#include "runtime/status.h"

namespace linnet::detail {

namespace {

const char* section_name(uint32_t kind) {
  switch (static_cast<SectionKind>(kind)) {
    case SectionKind::graph: return "graph section";
    case SectionKind::tokenizer: return "tokenizer section";
    case SectionKind::weights: return "weights section";
  }
  return "unknown section";
}

linnet_code check_header(const FileBytes& file, Header* header, linnet_error* error) {
  if (file.bytes < sizeof(Header))
    return fail(error, LINNET_BAD_FILE, "header", {sizeof(Header), file.bytes},
                "%" PRIu64 " bytes are fewer than a header's %zu: the file is cut or not a .linnet file", file.bytes, sizeof(Header));
  std::memcpy(header, file.data, sizeof(Header));
  if (std::memcmp(header->magic, kMagic, sizeof kMagic) != 0)
    return fail(error, LINNET_BAD_FILE, "header", {}, "not a .linnet file (wrong magic); checkpoints are converted with linnet-convert");
  if (header->major != kFormatMajor)
    return fail(error, LINNET_VERSION, "header", {kFormatMajor, header->major},
                "the file has format version %u.%u; this library reads %u.x up to any minor: %s", header->major, header->minor, kFormatMajor,
                header->major > kFormatMajor ? "update Linnet, or convert again with this version" : "convert the checkpoint again");
  if (header->header_bytes != sizeof(Header))
    return fail(error, LINNET_BAD_FILE, "header", {sizeof(Header), header->header_bytes}, "header size is %u, not %zu", header->header_bytes,
                sizeof(Header));
  const uint64_t hash = XXH3_64bits(header, offsetof(Header, xxh3));
  if (hash != header->xxh3)
    return fail(error, LINNET_BAD_FILE, "header", {header->xxh3, hash}, "the header is damaged: XXH3 is %016" PRIx64 ", not %016" PRIx64, hash,
                header->xxh3);
  if (header->file_bytes != file.bytes)
    return fail(error, LINNET_BAD_FILE, "header", {header->file_bytes, file.bytes},
                "the file has %" PRIu64 " bytes, its header says %" PRIu64 ": it was cut or added to; copy or convert it again", file.bytes,
                header->file_bytes);
  if (header->section_count > kMaxSections)
    return fail(error, LINNET_BAD_FILE, "header", {kMaxSections, header->section_count}, "%u sections are more than %u", header->section_count,
                kMaxSections);
  return LINNET_OK;
}

// Finds a section and checks its bounds. Absent: *out is empty.
linnet_code find_section(const Header& header, const FileBytes& file, SectionKind kind, Section* out, linnet_error* error) {
  *out = Section{};
  for (uint32_t i = 0; i < header.section_count; ++i) {
    const Section& s = header.sections[i];
    if (s.kind != static_cast<uint32_t>(kind)) continue;
    const char* name = section_name(s.kind);
    if (out->kind) return fail(error, LINNET_BAD_FILE, name, {}, "the %s stands twice in the header", name);
    const uint64_t align = kind == SectionKind::weights ? kWeightsAlign : kTensorAlign;
    if (s.offset % align || s.offset < sizeof(Header))
      return fail(error, LINNET_BAD_FILE, name, {align, s.offset},
                  "the %s starts at byte %" PRIu64 ", not on a multiple of %" PRIu64 " behind the header", name, s.offset, align);
    if (s.offset > file.bytes || s.bytes > file.bytes - s.offset)
      return fail(error, LINNET_BAD_FILE, name, {file.bytes, s.offset + s.bytes},
                  "the %s (%" PRIu64 " bytes at %" PRIu64 ") ends beyond the file's %" PRIu64 " bytes", name, s.bytes, s.offset, file.bytes);
    if (kind != SectionKind::weights && s.bytes > kSectionCap)
      return fail(error, LINNET_BAD_FILE, name, {kSectionCap, s.bytes}, "the %s has %" PRIu64 " bytes, more than the cap of %" PRIu64, name, s.bytes,
                  kSectionCap);
    *out = s;
  }
  return LINNET_OK;
}

linnet_code check_hash(const uint8_t* data, uint64_t bytes, const uint64_t expected[2], const char* name, linnet_error* error) {
  const XXH128_hash_t hash = XXH3_128bits(data, bytes);
  if (hash.low64 == expected[0] && hash.high64 == expected[1]) return LINNET_OK;
  return fail(error, LINNET_BAD_FILE, name, {expected[0], hash.low64},
              "the %s is damaged: XXH3 is %016" PRIx64 "%016" PRIx64 ", the header says %016" PRIx64 "%016" PRIx64, name, hash.high64, hash.low64,
              expected[1], expected[0]);
}

// Private copy, then hash: what is verified is what is used, even if the file changes in between.
linnet_code copy_section(const FileBytes& file, const Section& s, Vec<uint8_t>* out, linnet_error* error) {
  const char* name = section_name(s.kind);
  if (!out->resize(s.bytes)) return no_memory(error, s.bytes, name);
  if (s.bytes) std::memcpy(out->data(), file.data + s.offset, s.bytes);
  return check_hash(out->data(), s.bytes, s.xxh3, name, error);
}

linnet_code load(linnet_model* model, const linnet_model_options& options, linnet_error* error) {
  Header header;
  if (const auto code = check_header(model->file, &header, error)) return code;
  Section graph, tokenizer, weights;
  if (const auto code = find_section(header, model->file, SectionKind::graph, &graph, error)) return code;
  if (const auto code = find_section(header, model->file, SectionKind::tokenizer, &tokenizer, error)) return code;
  if (const auto code = find_section(header, model->file, SectionKind::weights, &weights, error)) return code;
  if (!graph.kind || !weights.kind)
    return fail(error, LINNET_BAD_FILE, "header", {}, "the file has no %s", graph.kind ? "weights section" : "graph section");
  model->weights = model->file.data + weights.offset;
  model->weight_bytes = weights.bytes;
  model->weight_hash[0] = weights.xxh3[0];
  model->weight_hash[1] = weights.xxh3[1];
  {
    Vec<uint8_t> copy(model->allocator);
    if (const auto code = copy_section(model->file, graph, &copy, error)) return code;
    if (const auto code = decode_graph(copy.data(), copy.size(), options.kv_dtype, model, error)) return code;
  }
  if (tokenizer.kind)
    if (const auto code = copy_section(model->file, tokenizer, &model->tokenizer, error)) return code;
  linnet_model_info& info = model->info;
  info.format_major = header.major;
  info.format_minor = header.minor;
  info.file_bytes = header.file_bytes;
  info.weight_bytes = weights.bytes;
  info.tokenizer = model->tokenizer.data();
  info.tokenizer_bytes = model->tokenizer.size();
  if (const auto code = resolve_program(model, error)) return code;
  return options.verify == LINNET_VERIFY_ALL ? linnet_model_verify(model, error) : succeed(error);
}

// Takes the file's bytes; on failure everything is released.
linnet_code open_bytes(FileBytes* file, const linnet_model_options& options, const linnet_allocator& allocator, linnet_model** out,
                       linnet_error* error) {
  auto* model = make<linnet_model>(allocator, allocator);
  if (!model) {
    file->release();
    return no_memory(error, sizeof(linnet_model), "a model");
  }
  model->file = *file;
  model->registry = options.registry;
  retain(model->registry);
  const linnet_code code = load(model, options, error);
  if (code) linnet_model_release(model);
  else *out = model;
  return code;
}

linnet_code read_options(const linnet_model_options* options, linnet_model_options* out, linnet_error* error) {
  linnet_model_options_init(out);
  if (!options || options->size < offsetof(linnet_model_options, registry) + sizeof options->registry)
    return fail(error, LINNET_INVALID_ARGUMENT, "options", {}, "model options are missing or were not set up with linnet_model_options_init");
  std::memcpy(out, options, options->size < sizeof *out ? options->size : sizeof *out);
  if (!out->registry)
    return fail(error, LINNET_INVALID_ARGUMENT, "registry", {}, "options.registry is NULL: pass linnet_builtin_registry() or your own registry");
  if (out->load > LINNET_LOAD_COPY || out->verify > LINNET_VERIFY_ALL)
    return fail(error, LINNET_INVALID_ARGUMENT, "options", {}, "load is %u and verify %u: both are 0 or 1", out->load, out->verify);
  if (const int32_t kv = out->kv_dtype; kv != -1 && kv != LINNET_F32 && kv != LINNET_F16 && kv != LINNET_I8)
    return fail(error, LINNET_INVALID_ARGUMENT, "kv_dtype", {LINNET_F16, uint64_t(uint32_t(kv))},
                "kv_dtype is %d: keys and values are kept in f32 (%d), f16 (%d) or i8 (%d), or as the file says (-1)", kv, LINNET_F32, LINNET_F16,
                LINNET_I8);
  return LINNET_OK;
}

}  // namespace
}  // namespace linnet::detail

using namespace linnet::detail;

extern "C" {

void linnet_model_options_init(linnet_model_options* options) {
  *options = {sizeof(linnet_model_options), LINNET_LOAD_MAP, LINNET_VERIFY_STRUCTURE, nullptr, nullptr, -1};
}

linnet_code linnet_model_open(const char* path, const linnet_model_options* options, linnet_model** out, linnet_error* error) {
  *out = nullptr;
  linnet_model_options o;
  if (const auto code = read_options(options, &o, error)) return code;
  if (!path) return fail(error, LINNET_INVALID_ARGUMENT, "path", {}, "the path is NULL");
  const linnet_allocator allocator = allocator_or_malloc(o.allocator);
  FileBytes file;
  if (const auto code = read_file(path, o.load == LINNET_LOAD_COPY, allocator, &file, error)) return code;
  linnet_error inner;
  if (const auto code = open_bytes(&file, o, allocator, out, &inner)) {
    if (error) {  // say which file
      *error = inner;
      std::snprintf(error->message, sizeof error->message, "%.160s: %.340s", path, inner.message);
    }
    return code;
  }
  return succeed(error);
}

linnet_code linnet_model_open_memory(const void* data, size_t bytes, const linnet_model_options* options, linnet_model** out, linnet_error* error) {
  *out = nullptr;
  linnet_model_options o;
  if (const auto code = read_options(options, &o, error)) return code;
  const linnet_allocator allocator = allocator_or_malloc(o.allocator);
  FileBytes file{static_cast<const uint8_t*>(data), bytes, FileBytes::Kind::borrowed, allocator};
  if (!data && bytes) return fail(error, LINNET_INVALID_ARGUMENT, "data", {}, "data is NULL");
  if (o.load == LINNET_LOAD_COPY) {
    auto* copy = static_cast<uint8_t*>(allocator.alloc(allocator.context, bytes, 64));
    if (!copy) return no_memory(error, bytes, "a copy of the model");
    if (bytes) std::memcpy(copy, data, bytes);
    file = {copy, bytes, FileBytes::Kind::copied, allocator};
  } else if (reinterpret_cast<uintptr_t>(data) % kTensorAlign) {
    return fail(error, LINNET_INVALID_ARGUMENT, "data", {kTensorAlign, reinterpret_cast<uintptr_t>(data) % kTensorAlign},
                "the model lies %zu bytes off a 64-byte boundary: align it, or open it with LINNET_LOAD_COPY",
                static_cast<size_t>(reinterpret_cast<uintptr_t>(data) % kTensorAlign));
  }
  return open_bytes(&file, o, allocator, out, error);
}

void linnet_model_retain(linnet_model* model) {
  if (model) model->references.fetch_add(1, std::memory_order_relaxed);
}

void linnet_model_release(linnet_model* model) {
  if (!model || model->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  linnet_registry_release(model->registry);
  model->file.release();
  destroy(model->allocator, model);
}

linnet_code linnet_model_verify(const linnet_model* model, linnet_error* error) {
  for (const linnet_tensor& t : model->tensors) {
    const uint64_t hash = XXH3_64bits(t.data, t.bytes);
    if (hash != t.xxh3)
      return fail(error, LINNET_BAD_FILE, t.name, {t.xxh3, hash},
                  "tensor %s is damaged: XXH3 of its %" PRIu64 " bytes is %016" PRIx64 ", the file says %016" PRIx64
                  "; copy or convert the file again",
                  t.name, t.bytes, hash, t.xxh3);
  }
  if (const auto code = check_hash(model->weights, model->weight_bytes, model->weight_hash, "weights section", error)) return code;
  return succeed(error);
}

void linnet_model_get_info(const linnet_model* model, linnet_model_info* out) {
  const uint32_t size = out->size < sizeof *out ? out->size : static_cast<uint32_t>(sizeof *out);
  std::memcpy(out, &model->info, size);
  out->size = size;
}

const linnet_function* linnet_model_function(const linnet_model* m, uint32_t i) { return i < m->functions.size() ? &m->functions[i] : nullptr; }
const linnet_tensor* linnet_model_tensor(const linnet_model* m, uint32_t i) { return i < m->tensors.size() ? &m->tensors[i] : nullptr; }
const linnet_state* linnet_model_state(const linnet_model* m, uint32_t i) { return i < m->states.size() ? &m->states[i] : nullptr; }
const linnet_value* linnet_model_value(const linnet_model* m, uint32_t i) { return i < m->values.size() ? &m->values[i] : nullptr; }

linnet_code linnet_model_node(const linnet_model* model, uint32_t index, linnet_node_listing* out) {
  if (index >= model->nodes.size()) return LINNET_INVALID_ARGUMENT;
  const NodeRecord& n = model->nodes[index];
  *out = {n.op,  n.version, n.inputs, n.outputs, n.weights, n.states, n.attrs, model->args.data() + n.first_arg, model->attrs.data() + n.first_attr,
          n.body};
  return LINNET_OK;
}

}  // extern "C"
