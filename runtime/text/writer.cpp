// The writer part of c.h: a session, a tokenizer, and the reply between them.
#include "runtime/model.h"
#include "runtime/runner.h"
#include "runtime/status.h"
#include "runtime/text/handle.h"
#include "runtime/text/reply.h"

using namespace linnet::detail;

struct linnet_writer {
  linnet_writer(linnet_runner* r, linnet_session* s, linnet_tokenizer* t, const linnet_model_info& info, uint64_t context, const linnet_allocator& a)
      : allocator(a),
        runner(r),
        session(s),
        tokenizer(t),
        bos(info.bos),
        vocabulary(info.vocabulary),
        reply(a, {this, feed, sample, position, tokens, watch}, {context, info.vocabulary, info.eos, info.eos_count},
              t ? &t->core.section() : nullptr) {}

  static linnet_session* of(void* self) { return static_cast<linnet_writer*>(self)->session; }
  static linnet_code feed(void* self, const int32_t* ids, size_t count, linnet_error* error) {
    return linnet_session_prefill(of(self), ids, count, error);
  }
  static linnet_code sample(void* self, const linnet_sampling* sampling, linnet_sampled* out, linnet_error* error) {
    return linnet_session_sample(of(self), sampling, out, error);
  }
  static uint64_t position(void* self) { return linnet_session_position(of(self)); }
  static const int32_t* tokens(void* self) { return linnet_session_tokens(of(self)); }
  static void watch(void* self, const volatile int* flag) { static_cast<linnet_writer*>(self)->runner->reply_cancel = flag; }

  linnet_allocator allocator;
  linnet_runner* runner;
  linnet_session* session;
  linnet_tokenizer* tokenizer;  // null: the model has none
  int64_t bos;
  uint32_t vocabulary;
  Reply reply;
};

void linnet_write_options_init(linnet_write_options* options) {
  *options = {};
  options->size = sizeof *options;
  options->encode_flags = LINNET_ADD_SPECIAL;
  options->max_tokens = -1;
  linnet_sampling_init(&options->sampling);
  options->skip_special = 1;
}

linnet_code linnet_writer_create(linnet_runner* runner, linnet_writer** out, linnet_error* error) {
  if (!runner || !out) return fail(error, LINNET_INVALID_ARGUMENT, "writer", {}, "runner and out must not be NULL");
  *out = nullptr;
  linnet_model* model = linnet_runner_model(runner);
  const linnet_allocator& allocator = model_allocator(model);
  linnet_model_info info{};
  info.size = sizeof info;
  linnet_model_get_info(model, &info);
  linnet_plan plan{};
  plan.size = sizeof plan;
  linnet_runner_get_plan(runner, &plan);

  linnet_tokenizer* tokenizer = nullptr;
  if (info.tokenizer_bytes)
    if (const auto code = linnet_tokenizer_create(model, &tokenizer, error)) return code;
  linnet_session* session = nullptr;
  linnet_code code = linnet_session_create(runner, &session, error);
  linnet_writer* writer = nullptr;
  if (!code && !(writer = make<linnet_writer>(allocator, runner, session, tokenizer, info, plan.context, allocator)))
    code = no_memory(error, sizeof(linnet_writer), "a writer");
  if (!code) code = writer->reply.prepare(error);
  if (code) {
    destroy(allocator, writer);
    linnet_session_release(session);
    linnet_tokenizer_release(tokenizer);
    return code;
  }
  *out = writer;
  return succeed(error);
}

void linnet_writer_release(linnet_writer* writer) {
  if (!writer) return;
  linnet_session* session = writer->session;
  linnet_tokenizer* tokenizer = writer->tokenizer;
  const linnet_allocator allocator = writer->allocator;
  destroy(allocator, writer);
  linnet_session_release(session);
  linnet_tokenizer_release(tokenizer);
}

void linnet_writer_reset(linnet_writer* writer) {
  if (!writer) return;
  linnet_session_reset(writer->session);
  writer->reply.reset();
}

linnet_session* linnet_writer_session(linnet_writer* writer) { return writer ? writer->session : nullptr; }
const linnet_tokenizer* linnet_writer_tokenizer(const linnet_writer* writer) { return writer ? writer->tokenizer : nullptr; }

namespace {

// The caller's struct may be an older, shorter one.
linnet_write_options complete_options(const linnet_write_options* given) {
  linnet_write_options options;
  linnet_write_options_init(&options);
  if (given) std::memcpy(static_cast<void*>(&options), given, given->size < sizeof options ? given->size : sizeof options);
  return options;
}

}  // namespace

linnet_code linnet_writer_begin_ids(linnet_writer* writer, const int32_t* ids, size_t count, const linnet_write_options* given, linnet_error* error) {
  if (!writer) return fail(error, LINNET_INVALID_ARGUMENT, "writer", {}, "writer is NULL");
  const linnet_write_options options = complete_options(given);
  if (const auto code = linnet_sampling_check(&options.sampling, writer->vocabulary, error)) return code;
  const auto start = static_cast<int32_t>(writer->bos);
  if (count == 0 && writer->bos >= 0 && !writer->reply.waiting() && linnet_session_position(writer->session) == 0) {
    ids = &start;
    count = 1;
  }
  if (const auto code = writer->reply.begin(ids, count, options, error)) return code;
  return succeed(error);
}

linnet_code linnet_writer_begin(linnet_writer* writer, const char* prompt, size_t bytes, const linnet_write_options* given, linnet_error* error) {
  if (!writer || (!prompt && bytes)) return fail(error, LINNET_INVALID_ARGUMENT, "writer", {}, "writer and prompt must not be NULL");
  if (!writer->tokenizer && bytes) return fail(error, LINNET_UNSUPPORTED, "prompt", {}, "the model has no tokenizer: give ids instead of text");
  Vec<int32_t> ids(writer->allocator);
  if (writer->tokenizer)
    if (const auto code = writer->tokenizer->core.encode({prompt, bytes}, complete_options(given).encode_flags, &ids, error)) return code;
  return linnet_writer_begin_ids(writer, ids.data(), ids.size(), given, error);
}

linnet_code linnet_writer_next(linnet_writer* writer, const char** text, size_t* bytes, linnet_finish* finish, linnet_error* error) {
  const char* piece;
  size_t size;
  linnet_finish why;
  if (!writer) return fail(error, LINNET_INVALID_ARGUMENT, "writer", {}, "writer is NULL");
  return writer->reply.next(text ? text : &piece, bytes ? bytes : &size, finish ? finish : &why, error);
}

void linnet_writer_tokens(const linnet_writer* writer, const int32_t** ids, size_t* count) {
  if (ids) *ids = writer ? writer->reply.tokens().data() : nullptr;
  if (count) *count = writer ? writer->reply.tokens().size() : 0;
}

linnet_code linnet_writer_complete(linnet_writer* writer, const char* prompt, size_t bytes, const linnet_write_options* options,
                                   int (*sink)(void* context, const char* text, size_t bytes), void* context, linnet_finish* finish,
                                   linnet_error* error) {
  linnet_finish ignored;
  if (!finish) finish = &ignored;
  *finish = LINNET_FINISH_ERROR;
  if (const auto code = linnet_writer_begin(writer, prompt, bytes, options, error)) return code;
  for (;;) {
    const char* text;
    size_t n;
    if (const auto code = linnet_writer_next(writer, &text, &n, finish, error)) return code;
    if (!text) return LINNET_OK;
    if (!sink || sink(context, text, n) == 0) continue;
    *finish = LINNET_FINISH_CANCELLED;
    return fail(error, LINNET_STOPPED, "writer", {}, "the callback asked to stop");
  }
}
