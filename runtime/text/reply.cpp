#include "runtime/text/reply.h"

#include "runtime/status.h"

namespace linnet::detail {

namespace {
using Tail = char[4 * kReplacement.size()];
}  // namespace

linnet_code Reply::prepare(linnet_error* error) {
  // Every token but the last is fed, so there is one more of them than positions.
  if (!tokens_.reserve(limits_.context + 1)) return no_memory(error, (limits_.context + 1) * sizeof(int32_t), "a reply's tokens");
  return LINNET_OK;
}

void Reply::reset() {
  unfed_.clear();
  tokens_.clear();
  begun_ = false;
  finish_ = LINNET_FINISH_NONE;
}

linnet_code Reply::check(const int32_t* ids, size_t count, const linnet_write_options& options, linnet_error* error) {
  if (options.max_tokens < -1)
    return fail(error, LINNET_INVALID_ARGUMENT, "max_tokens", {}, "max_tokens is %lld; it must be 0 or more, or -1 for no limit",
                static_cast<long long>(options.max_tokens));
  if (count && !ids) return fail(error, LINNET_INVALID_ARGUMENT, "ids", {}, "%zu ids, but no array of them", count);
  for (size_t i = 0; i < count; ++i)
    if (ids[i] < 0 || static_cast<uint32_t>(ids[i]) >= limits_.vocabulary)
      return fail(error, LINNET_INVALID_ARGUMENT, "ids", {limits_.vocabulary, static_cast<uint64_t>(ids[i])},
                  "token %zu of the prompt is %d, outside the model's vocabulary of %u", i, ids[i], limits_.vocabulary);
  const uint64_t position = session_.position(session_.context), wanted = position + unfed_.size() + count;
  if (wanted == 0)
    return fail(error, LINNET_INVALID_ARGUMENT, "prompt", {},
                "the prompt is empty, the session too, and the model has no beginning-of-sequence token to start from");
  if (wanted > limits_.context)
    return fail(error, LINNET_CONTEXT_FULL, "prompt", {wanted, limits_.context},
                "%zu tokens of prompt behind the %llu of the session are more than its context of %llu", count + unfed_.size(),
                static_cast<unsigned long long>(position), static_cast<unsigned long long>(limits_.context));
  return LINNET_OK;
}

linnet_code Reply::begin(const int32_t* ids, size_t count, const linnet_write_options& options, linnet_error* error) {
  if (const auto code = check(ids, count, options, error)) return code;
  begun_ = false;  // whatever came before is over
  if (const auto code = stop_.set(options.stop, options.stop_count, error)) return code;
  const linnet_sampling& s = options.sampling;
  const size_t longest = tokenizer_ ? TextStream::longest_piece(*tokenizer_) : 0, held = stop_.longest() + sizeof(Tail);
  biases_.clear();
  processors_.clear();
  if (!biases_.append(s.biases, s.bias_count) || !processors_.append(s.processors, s.processor_count) || !decoded_.resize(longest) ||
      !shown_.resize(longest + held) || !unfed_.reserve(unfed_.size() + count + 1))
    return no_memory(error, 2 * longest + held + count * sizeof(int32_t), "a reply");
  (void)unfed_.append(ids, count);
  options_ = options;
  options_.sampling.biases = biases_.data();
  options_.sampling.processors = processors_.data();
  options_.stop = nullptr;
  options_.stop_count = 0;
  tokens_.clear();
  finish_ = LINNET_FINISH_NONE;
  begun_ = true;
  if (!tokenizer_) return LINNET_OK;
  // The text goes on from what is there: whether a space at its start is one that decoding takes away depends on that.
  stream_.start(tokenizer_, options_.skip_special);
  TextOut nowhere;
  const int32_t* before = session_.tokens(session_.context);
  for (uint64_t i = 0, n = session_.position(session_.context); i < n; ++i) stream_.feed(static_cast<uint32_t>(before[i]), &nowhere);
  for (const int32_t id : unfed_) stream_.feed(static_cast<uint32_t>(id), &nowhere);
  return LINNET_OK;
}

bool Reply::ends(int32_t token) const {
  for (uint32_t i = 0; !options_.ignore_eos && i < limits_.eos_count; ++i)
    if (limits_.eos[i] == static_cast<uint32_t>(token)) return true;
  return false;
}

// The reply is over, so what was held back is text after all.
void Reply::end(linnet_finish finish) {
  finish_ = finish;
  if (!tokenizer_) return;
  Tail tail;
  TextOut rest{tail, sizeof tail, 0};
  stream_.finish(&rest);
  if (!stop_.put({tail, rest.size}, &out_)) stop_.flush(&out_);
}

void Reply::end(linnet_code code) {
  if (code == LINNET_CANCELLED) end(LINNET_FINISH_CANCELLED);
  else if (code == LINNET_CONTEXT_FULL && !tokens_.empty()) end(LINNET_FINISH_CONTEXT_FULL);
  else end(LINNET_FINISH_ERROR);
}

// Whatever happens, what the session took is no longer waiting.
linnet_code Reply::feed(linnet_error* error) {
  const uint64_t before = session_.position(session_.context);
  const linnet_code code = session_.feed(session_.context, unfed_.data(), unfed_.size(), error);
  const uint64_t moved = session_.position(session_.context) - before;
  const size_t done = moved < unfed_.size() ? moved : unfed_.size(), left = unfed_.size() - done;
  if (done) std::memmove(unfed_.data(), unfed_.data() + done, left * sizeof(int32_t));
  (void)unfed_.resize(left);
  return code;
}

// One token.
void Reply::write() {
  if (cancelled()) return end(LINNET_FINISH_CANCELLED);
  if (!unfed_.empty())
    if (const auto code = feed(&error_)) return end(code);
  if (options_.max_tokens == 0) return end(LINNET_FINISH_LENGTH);
  linnet_sampled drawn;
  if (const auto code = session_.sample(session_.context, &options_.sampling, &drawn, &error_)) return end(code);
  if (ends(drawn.token)) return end(LINNET_FINISH_STOP);
  if (!unfed_.push(drawn.token) || !tokens_.push(drawn.token))
    return end(no_memory(&error_, sizeof(int32_t), "a reply's tokens"));  // begin took the room already
  drew_ = true;
  if (tokenizer_) {
    TextOut text{decoded_.data(), decoded_.size(), 0};
    stream_.feed(static_cast<uint32_t>(drawn.token), &text);
    if (stop_.put({decoded_.data(), text.size}, &out_)) {
      finish_ = LINNET_FINISH_STOP;
      return;
    }
  }
  if (options_.max_tokens > 0 && tokens_.size() >= static_cast<uint64_t>(options_.max_tokens)) end(LINNET_FINISH_LENGTH);
}

linnet_code Reply::next(const char** text, size_t* bytes, linnet_finish* finish, linnet_error* error) {
  *text = nullptr;
  *bytes = 0;
  *finish = LINNET_FINISH_ERROR;
  if (!begun_) return fail(error, LINNET_INVALID_ARGUMENT, "writer", {}, "no reply was begun");
  if (finish_ == LINNET_FINISH_NONE) {
    out_ = {shown_.data(), shown_.size(), 0};
    drew_ = false;
    error_ = {};
    if (options_.cancel) session_.watch(session_.context, options_.cancel);
    write();
    if (options_.cancel) session_.watch(session_.context, nullptr);
    if (drew_ || out_.size) {  // how it ended is told when all its text is
      *text = shown_.data() ? shown_.data() : "";
      *bytes = out_.size;
      *finish = LINNET_FINISH_NONE;
      return succeed(error);
    }
  }
  *finish = finish_;
  if (finish_ != LINNET_FINISH_ERROR) return succeed(error);
  if (error) *error = error_;
  return error_.code;
}

}  // namespace linnet::detail
