/* Linnet's C API: open, plan, step, sample, text. The C++ API (linnet.h) is a thin header over this one.
 *
 * Every call that can fail returns a linnet_code and, where `error` is not NULL, fills it. No call throws, aborts or prints.
 * Structs that callers fill begin with `size`: set it with the _init function, which also sets the defaults.
 *
 * Threads: a model and a tokenizer may be used from any number of threads. A runner and its sessions belong to one thread at a
 * time (the calls notice two steps at once and return LINNET_BUSY); different runners are independent. Setting a cancel flag is
 * allowed from anywhere, signal handlers included.
 * Lifetime: a runner keeps its model alive, a model its registry. Sessions and writers must be released before their runner. */
#ifndef LINNET_C_H
#define LINNET_C_H

#include "linnet/op.h"
#include "linnet/types.h"

#ifdef __cplusplus
extern "C" {
#endif

LINNET_API const char* linnet_version(void);                 /* "0.1.0" */
LINNET_API const char* linnet_code_name(linnet_code code);   /* "context full" */

/* ---- Model: one mapped file, immutable ---- */

typedef struct linnet_model linnet_model;

typedef enum linnet_load { LINNET_LOAD_MAP = 0, LINNET_LOAD_COPY = 1 } linnet_load;
typedef enum linnet_verify { LINNET_VERIFY_STRUCTURE = 0, LINNET_VERIFY_ALL = 1 } linnet_verify;

typedef struct linnet_model_options {
  uint32_t size;
  uint32_t load;                      /* linnet_load. COPY reads the whole file: for hosts where it may change while in use */
  uint32_t verify;                    /* linnet_verify. ALL also hashes the weights */
  linnet_registry* registry;          /* required; linnet_builtin_registry() unless you have your own */
  const linnet_allocator* allocator;  /* NULL: malloc. Copied. */
  int32_t kv_dtype;                   /* how states keep keys and values: LINNET_F32, LINNET_F16, LINNET_I8; -1: as the file says */
} linnet_model_options;

LINNET_API void linnet_model_options_init(linnet_model_options* options);

/* Implemented by linnet::ops: all built-in ops for this processor's best instruction set. Lives for ever; never release or change it. */
LINNET_API linnet_registry* linnet_builtin_registry(void);

/* Opens and verifies a file. UTF-8 path. */
LINNET_API linnet_code linnet_model_open(const char* path, const linnet_model_options* options, linnet_model** out, linnet_error* error);
/* The same over bytes that the caller keeps unchanged until the model is gone. data must be 64-byte aligned unless load is COPY. */
LINNET_API linnet_code linnet_model_open_memory(const void* data, size_t bytes, const linnet_model_options* options, linnet_model** out,
                                                linnet_error* error);
LINNET_API void linnet_model_retain(linnet_model* model);
LINNET_API void linnet_model_release(linnet_model* model);   /* NULL is allowed, as in every release */
/* Hashes every tensor; LINNET_BAD_FILE names the first damaged one. */
LINNET_API linnet_code linnet_model_verify(const linnet_model* model, linnet_error* error);

typedef struct linnet_model_info {
  uint32_t size;
  uint32_t format_major, format_minor, numerics;
  const char* name;
  const char* architecture;
  uint64_t file_bytes, weight_bytes, parameters;
  uint32_t vocabulary;
  int64_t context_trained, context_limit;   /* -1: not said */
  int64_t bos, pad;                         /* -1: none */
  const uint32_t* eos;
  uint32_t eos_count;
  float temperature, top_p, repetition_penalty;  /* the checkpoint's sampling defaults; negative: not said */
  int64_t top_k;
  uint32_t functions, values, nodes, tensors, states;  /* of the whole graph, for the listing calls */
  const void* tokenizer;
  uint64_t tokenizer_bytes;     /* the verified tokenizer section; 0 bytes if there is none */
} linnet_model_info;

LINNET_API void linnet_model_get_info(const linnet_model* model, linnet_model_info* out);   /* set out->size first */

/* Listing, for tools. Indices are those of the file. NULL beyond the end. */
typedef struct linnet_function {
  const char* name;
  uint32_t inputs, outputs, weights, states;
  uint32_t first_value, values, first_node, nodes;
} linnet_function;
LINNET_API const linnet_function* linnet_model_function(const linnet_model* model, uint32_t index);
LINNET_API const linnet_tensor* linnet_model_tensor(const linnet_model* model, uint32_t index);
LINNET_API const linnet_state* linnet_model_state(const linnet_model* model, uint32_t index);
LINNET_API const linnet_value* linnet_model_value(const linnet_model* model, uint32_t index);
/* args: inputs, outputs, weights, states of the node as ids (values from the function's first); 0xFFFFFFFF absent. body: function id or -1. */
typedef struct linnet_node_listing {
  const char* op;
  uint32_t version;
  uint32_t inputs, outputs, weights, states, attrs;
  const uint32_t* args;
  const linnet_attr* attributes;
  int64_t body;
} linnet_node_listing;
LINNET_API linnet_code linnet_model_node(const linnet_model* model, uint32_t index, linnet_node_listing* out);

/* ---- Runner: memory and threads, planned ---- */

typedef struct linnet_runner linnet_runner;
typedef struct linnet_session linnet_session;

/* A host's own threads: run(context, threads, job, argument) calls job(argument, i) for i in [0, threads) at the same time, the
   calling thread being one of them, and returns when all are done. */
typedef struct linnet_thread_pool {
  void (*run)(void* context, uint32_t threads, void (*job)(void* argument, uint32_t index), void* argument);
  void* context;
} linnet_thread_pool;

typedef struct linnet_runner_options {
  uint32_t size;
  uint32_t max_rows;      /* rows a step holds at most, = the chunk of a prefill; 0: 64 */
  uint64_t context;       /* positions a session holds at most; 0: what the model was trained for, at most 4096 */
  uint32_t sessions;      /* session slots; 0: 1 */
  uint32_t pages;         /* pages of 64 positions for all sessions together; 0: enough for every session at full context */
  uint32_t wanted_rows;   /* rows of logits a step returns at most; 0: one a session */
  uint32_t threads;       /* 0: the physical cores that affinity and control groups leave it */
  void* buffer;           /* the caller's memory for everything the plan counts, 64-byte aligned; NULL: from the allocator */
  uint64_t buffer_bytes;
  const linnet_thread_pool* pool;      /* NULL: own threads. Copied. */
  const linnet_allocator* allocator;   /* NULL: the model's. Copied. */
} linnet_runner_options;

LINNET_API void linnet_runner_options_init(linnet_runner_options* options);

/* What a runner needs, to the byte, known before any weight is read. total is what create takes from buffer or allocator;
   the parts add up to it. Outside it: thread stacks, the model itself. */
typedef struct linnet_plan {
  uint32_t size;
  uint64_t total;
  uint64_t arena;      /* values of one step, logits included */
  uint64_t states;     /* all pages */
  uint64_t scratch;    /* ops: model, session, step and thread bytes */
  uint64_t sessions;   /* session records: page tables, token history, sampler */
  uint64_t runner;     /* the runner's own records */
  /* the options with every 0 replaced: */
  uint64_t context;
  uint32_t max_rows, session_count, pages, wanted_rows, threads;
} linnet_plan;

LINNET_API linnet_code linnet_model_plan(const linnet_model* model, const linnet_runner_options* options, linnet_plan* out, linnet_error* error);

LINNET_API linnet_code linnet_runner_create(linnet_model* model, const linnet_runner_options* options, linnet_runner** out, linnet_error* error);
LINNET_API void linnet_runner_release(linnet_runner* runner);
LINNET_API linnet_model* linnet_runner_model(const linnet_runner* runner);        /* not retained */
LINNET_API void linnet_runner_get_plan(const linnet_runner* runner, linnet_plan* out);
LINNET_API uint32_t linnet_runner_free_pages(const linnet_runner* runner);
/* Read (relaxed atomic) between nodes; non-zero ends the step with LINNET_CANCELLED. NULL: none. The flag must live as long as it is
   set here; write it with an atomic store, or from a signal handler. */
LINNET_API void linnet_runner_set_cancel(linnet_runner* runner, const volatile int* flag);

/* ---- Session: one sequence ---- */

LINNET_API linnet_code linnet_session_create(linnet_runner* runner, linnet_session** out, linnet_error* error);
LINNET_API void linnet_session_release(linnet_session* session);
LINNET_API void linnet_session_reset(linnet_session* session);
/* Keeps the first n positions; n beyond the position is LINNET_INVALID_ARGUMENT. */
LINNET_API linnet_code linnet_session_truncate(linnet_session* session, uint64_t n, linnet_error* error);
/* A new session of the same runner with the same tokens: whole pages are shared, the last partial one is copied. */
LINNET_API linnet_code linnet_session_fork(linnet_session* session, linnet_session** out, linnet_error* error);
LINNET_API linnet_runner* linnet_session_runner(const linnet_session* session);
LINNET_API uint64_t linnet_session_position(const linnet_session* session);
LINNET_API const int32_t* linnet_session_tokens(const linnet_session* session);   /* position() of them; valid until it changes */

/* Feeds tokens in steps of max_rows and keeps the logits of the last. Commits step by step: after an error, position() says how far
   it came, and the session goes on from there. */
LINNET_API linnet_code linnet_session_prefill(linnet_session* session, const int32_t* tokens, size_t count, linnet_error* error);
/* The logits after the session's last token: `vocabulary` floats, valid until the next step of the runner. Recomputed (one step, same bits)
   if another session's step has taken their place. LINNET_INVALID_ARGUMENT on an empty session. */
LINNET_API linnet_code linnet_session_logits(linnet_session* session, const float** out, linnet_error* error);

/* ---- Steps over several sessions ---- */

typedef enum linnet_want { LINNET_WANT_NONE = 0, LINNET_WANT_LAST = 1, LINNET_WANT_ALL = 2 } linnet_want;

typedef struct linnet_step_entry {
  linnet_session* session;   /* at most once a step */
  const int32_t* tokens;     /* read by begin only */
  uint32_t count;            /* at least 1 */
  uint32_t want;             /* linnet_want: which rows get logits */
} linnet_step_entry;

/* begin checks everything and takes the pages; advance runs nodes until `budget_ns` has passed (at least one node; UINT64_MAX: all)
   and sets *done; commit keeps the first keep[i] rows of entry i (NULL: all). abort at any time before commit, or an error, leaves
   every session as before begin. step = begin, advance, commit. */
LINNET_API linnet_code linnet_step_begin(linnet_runner* runner, const linnet_step_entry* entries, uint32_t count, linnet_error* error);
LINNET_API linnet_code linnet_step_advance(linnet_runner* runner, uint64_t budget_ns, int* done, linnet_error* error);
LINNET_API linnet_code linnet_step_commit(linnet_runner* runner, const uint32_t* keep, linnet_error* error);
LINNET_API void linnet_step_abort(linnet_runner* runner);
LINNET_API linnet_code linnet_step(linnet_runner* runner, const linnet_step_entry* entries, uint32_t count, linnet_error* error);
/* Rows of logits of the last finished step, in entry order; row i at logits + i * stride. Valid until the next begin. */
LINNET_API linnet_code linnet_step_logits(const linnet_runner* runner, const float** logits, uint32_t* rows, uint64_t* stride, linnet_error* error);

/* ---- Sampling ---- */

typedef struct linnet_logit_bias {
  uint32_t token;
  float bias;
} linnet_logit_bias;

/* Sees and may change a copy of the logits, after penalty and bias and before temperature. history: the session's tokens. */
typedef struct linnet_logits_processor {
  void (*process)(void* context, float* logits, uint32_t vocabulary, const int32_t* history, uint64_t history_count);
  void* context;
} linnet_logits_processor;

/* Order: repetition penalty, logit bias, processors; then, unless temperature is 0 (the highest logit, lowest id on a tie):
   temperature, top-k, top-p, min-p, draw. -inf is a token that cannot be drawn; NaN, +inf or nothing left is LINNET_NOT_FINITE. */
typedef struct linnet_sampling {
  uint32_t size;
  float temperature;          /* >= 0; below 1e-4 counts as 0. Default 0 */
  uint32_t top_k;             /* 0: off (default) */
  float top_p;                /* (0, 1]; 0 keeps the first. Default 1 */
  float min_p;                /* [0, 1] of the highest probability. Default 0 */
  float repetition_penalty;   /* > 0; divides positive logits of seen tokens, multiplies negative ones (CTRL). Default 1 */
  uint32_t penalty_window;    /* the last N tokens, newest included; 0: all. Default 0 */
  uint64_t seed;              /* the draw at position n depends on seed and n only. Default 0 */
  const linnet_logit_bias* biases;
  uint32_t bias_count;
  const linnet_logits_processor* processors;
  uint32_t processor_count;
} linnet_sampling;

LINNET_API void linnet_sampling_init(linnet_sampling* sampling);
/* Refuses numbers out of range, naming the field. */
LINNET_API linnet_code linnet_sampling_check(const linnet_sampling* sampling, uint32_t vocabulary, linnet_error* error);

typedef struct linnet_sampled {
  int32_t token;
  float log_probability;
} linnet_sampled;   /* of the distribution drawn from; 0 when greedy */

/* One token from the session's logits; the session does not move. */
LINNET_API linnet_code linnet_session_sample(linnet_session* session, const linnet_sampling* sampling, linnet_sampled* out, linnet_error* error);
/* sample, then feed the token: the usual decode loop is next, next, next. */
LINNET_API linnet_code linnet_session_next(linnet_session* session, const linnet_sampling* sampling, linnet_sampled* out, linnet_error* error);
/* Any logits: `logits` is worked on in place; scratch must hold linnet_sampler_scratch_bytes(vocabulary). position: for the draw. */
LINNET_API size_t linnet_sampler_scratch_bytes(uint32_t vocabulary);
LINNET_API linnet_code linnet_sample(float* logits, uint32_t vocabulary, const int32_t* history, uint64_t history_count, uint64_t position,
                                     const linnet_sampling* sampling, void* scratch, linnet_sampled* out, linnet_error* error);

/* ---- Text (linnet::text) ---- */

typedef struct linnet_tokenizer linnet_tokenizer;

/* The model's tokenizer. LINNET_UNSUPPORTED if the file has none (the model runs on ids). It keeps the model alive. */
LINNET_API linnet_code linnet_tokenizer_create(linnet_model* model, linnet_tokenizer** out, linnet_error* error);
LINNET_API void linnet_tokenizer_release(linnet_tokenizer* tokenizer);

typedef enum linnet_encode_flags {
  LINNET_PARSE_SPECIAL = 1,   /* text like "<s>" becomes the control token; off for text from users */
  LINNET_ADD_SPECIAL = 2      /* what the tokenizer's template adds, such as a beginning-of-sequence token */
} linnet_encode_flags;

/* Ids of `bytes` bytes of UTF-8 (NUL is an ordinary character; invalid bytes become U+FFFD). Writes at most capacity ids and sets *count to
   all there are; LINNET_BUFFER_TOO_SMALL if they do not fit. ids NULL with capacity 0 counts only. Allocates while it works. */
LINNET_API linnet_code linnet_tokenizer_encode(const linnet_tokenizer* tokenizer, const char* text, size_t bytes, uint32_t flags, int32_t* ids,
                                               size_t capacity, size_t* count, linnet_error* error);
/* Text of ids, like Hugging Face's decode without clean-up. Not NUL-terminated; sizes as in encode. */
LINNET_API linnet_code linnet_tokenizer_decode(const linnet_tokenizer* tokenizer, const int32_t* ids, size_t count, int skip_special, char* text,
                                               size_t capacity, size_t* bytes, linnet_error* error);
/* The token's own spelling (not NUL-terminated; of a byte-level token its bytes), whether it is special; LINNET_INVALID_ARGUMENT beyond the vocabulary. */
LINNET_API linnet_code linnet_tokenizer_token(const linnet_tokenizer* tokenizer, int32_t id, const char** text, size_t* bytes, int* special,
                                              linnet_error* error);
LINNET_API int32_t linnet_tokenizer_find(const linnet_tokenizer* tokenizer, const char* text, size_t bytes);   /* -1: no such token */
LINNET_API uint32_t linnet_tokenizer_size(const linnet_tokenizer* tokenizer);

/* Writer: text in, whole characters out. Owns one session of the runner. */
typedef struct linnet_writer linnet_writer;

typedef enum linnet_finish {
  LINNET_FINISH_NONE = 0,          /* still going */
  LINNET_FINISH_STOP = 1,          /* an end token or stop string */
  LINNET_FINISH_LENGTH = 2,        /* max_tokens */
  LINNET_FINISH_CONTEXT_FULL = 3,
  LINNET_FINISH_CANCELLED = 4,
  LINNET_FINISH_ERROR = 5
} linnet_finish;

typedef struct linnet_write_options {
  uint32_t size;
  uint32_t encode_flags;       /* default LINNET_ADD_SPECIAL */
  int64_t max_tokens;          /* -1: until the end token or a full context (default); 0 reads the prompt only */
  linnet_sampling sampling;
  const char* const* stop;
  uint32_t stop_count;   /* the text ends before the first of these */
  int skip_special;            /* default 1: control tokens are not shown */
  int ignore_eos;              /* default 0 */
  const volatile int* cancel;  /* as linnet_runner_set_cancel, for this reply */
} linnet_write_options;

LINNET_API void linnet_write_options_init(linnet_write_options* options);
LINNET_API linnet_code linnet_writer_create(linnet_runner* runner, linnet_writer** out, linnet_error* error);
LINNET_API void linnet_writer_release(linnet_writer* writer);
LINNET_API void linnet_writer_reset(linnet_writer* writer);
LINNET_API linnet_session* linnet_writer_session(linnet_writer* writer);
LINNET_API const linnet_tokenizer* linnet_writer_tokenizer(const linnet_writer* writer);   /* NULL if the model has none */
/* The options are copied, but for what cancel and the processors' contexts point at. A prompt too long for the context is
   LINNET_CONTEXT_FULL here. Starts a reply that continues what the writer's session holds, followed by the prompt, which the first next reads. An empty prompt on
   an empty session starts from the beginning-of-sequence token, or is LINNET_INVALID_ARGUMENT if the model has none. */
LINNET_API linnet_code linnet_writer_begin(linnet_writer* writer, const char* prompt, size_t bytes, const linnet_write_options* options,
                                           linnet_error* error);
LINNET_API linnet_code linnet_writer_begin_ids(linnet_writer* writer, const int32_t* ids, size_t count, const linnet_write_options* options,
                                               linnet_error* error);
/* One token's worth of text (perhaps none yet): whole characters, valid until the next call. *text NULL: finished; *finish says why. A code other than OK comes
   with LINNET_FINISH_ERROR; what was said so far stays said, and the session can go on. Without a tokenizer pieces are empty. */
LINNET_API linnet_code linnet_writer_next(linnet_writer* writer, const char** text, size_t* bytes, linnet_finish* finish, linnet_error* error);
LINNET_API void linnet_writer_tokens(const linnet_writer* writer, const int32_t** ids,
                                     size_t* count);   /* of this reply so far; end token not included */
/* Callback sugar: a return of non-zero stops (LINNET_STOPPED, LINNET_FINISH_CANCELLED). */
LINNET_API linnet_code linnet_writer_complete(linnet_writer* writer, const char* prompt, size_t bytes, const linnet_write_options* options,
                                              int (*sink)(void* context, const char* text, size_t bytes), void* context, linnet_finish* finish,
                                              linnet_error* error);

#ifdef __cplusplus
}
#endif
#endif
