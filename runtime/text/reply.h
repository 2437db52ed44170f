// A reply being written: which tokens are fed and drawn when, what of their text may be shown, and why it ends.
#pragma once
#include "linnet/c.h"
#include "runtime/memory.h"
#include "runtime/text/stop.h"
#include "runtime/text/stream.h"

namespace linnet::detail {

// What a reply needs of a session; tests put a script in its place.
struct ReplySession {
  void* context;
  linnet_code (*feed)(void* context, const int32_t* tokens, size_t count, linnet_error* error);
  linnet_code (*sample)(void* context, const linnet_sampling* sampling, linnet_sampled* out, linnet_error* error);
  uint64_t (*position)(void* context);
  const int32_t* (*tokens)(void* context);
  void (*watch)(void* context, const volatile int* cancel);  // the flag that ends a step; null: none
};

struct ReplyLimits {
  uint64_t context = 0;
  uint32_t vocabulary = 0;
  const uint32_t* eos = nullptr;
  uint32_t eos_count = 0;
};

// A drawn token is fed only when the next one is wanted, so the last one costs no step. What a session has not seen yet, that token or the
// rest of a prompt that was broken off, waits in `unfed` and goes in front of the next prompt.
class Reply {
 public:
  Reply(const linnet_allocator& allocator, const ReplySession& session, const ReplyLimits& limits, const TokenizerSection* tokenizer)
      : session_(session),
        limits_(limits),
        tokenizer_(tokenizer),
        unfed_(allocator),
        tokens_(allocator),
        biases_(allocator),
        processors_(allocator),
        decoded_(allocator),
        shown_(allocator),
        stop_(allocator) {}

  // Takes what will be needed later, so that next allocates nothing.
  linnet_code prepare(linnet_error* error);
  // The sampling options have been checked by the caller.
  linnet_code begin(const int32_t* ids, size_t count, const linnet_write_options& options, linnet_error* error);
  linnet_code next(const char** text, size_t* bytes, linnet_finish* finish, linnet_error* error);
  void reset();

  bool waiting() const { return !unfed_.empty(); }
  const Vec<int32_t>& tokens() const { return tokens_; }

 private:
  linnet_code check(const int32_t* ids, size_t count, const linnet_write_options& options, linnet_error* error);
  linnet_code feed(linnet_error* error);
  bool cancelled() const { return options_.cancel && __atomic_load_n(options_.cancel, __ATOMIC_RELAXED); }
  bool ends(int32_t token) const;
  void end(linnet_finish finish);
  void end(linnet_code code);
  void write();

  ReplySession session_;
  ReplyLimits limits_;
  const TokenizerSection* tokenizer_;
  Vec<int32_t> unfed_, tokens_;
  Vec<linnet_logit_bias> biases_;  // copies: the caller's options need not outlive begin
  Vec<linnet_logits_processor> processors_;
  Vec<char> decoded_, shown_;  // one token's text, and what of it and of earlier tokens may be shown now
  TextOut out_;                // over shown_
  StopFilter stop_;
  TextStream stream_;
  linnet_write_options options_{};
  bool begun_ = false, drew_ = false;
  linnet_finish finish_ = LINNET_FINISH_NONE;
  linnet_error error_{};  // of a reply that ended with one
};

}  // namespace linnet::detail
