/* The op ABI: what an op author needs, and all a built-in op uses. C11 and C++20; revision 0 (may still change).
 *
 * An op is a linnet_op_def: C structs that only ever grow at the end, told apart by `size` and `abi`. Its life:
 *   plan     while memory is planned; pure. Reads the node and the limits, says how wide its outputs are and how many bytes it wants.
 *   init     once per runner, with its model memory; may read weights. Optional.
 *   eval     once per step and node, on the thread that runs the step; splits its work with host->parallel.
 *   destroy  once per successful init. Optional.
 *
 * Numerics (promise: the same bits for any thread count, chunking, batch and instruction set): a row's result may depend on that
 * row, the node, and its session's states only; vector lanes and threads split outputs, never a sum. Compile with
 * -fno-fast-math -ffp-contract=off. eval runs with MXCSR 0x1F80 (FPCR 0) on every thread of a region.
 *
 * An op allocates nothing in eval, keeps no pointer of a call after it returns, and reports failure by its return value. */
#ifndef LINNET_OP_H
#define LINNET_OP_H

#include "linnet/types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LINNET_OP_ABI 0

#define LINNET_PAGE_POSITIONS 64u     /* positions a state page holds */
#define LINNET_ROW_ALIGN 16u          /* rows of values start at multiples of 16 elements, so kernels may store whole lanes */
#define LINNET_MAX_OUTPUTS 8
#define LINNET_NO_PAGE 0xFFFFFFFFu    /* a page-table entry without a page */

typedef enum linnet_layout { LINNET_PLAIN = 0, LINNET_R16 = 1, LINNET_R16K4 = 2 } linnet_layout;
typedef enum linnet_leading { LINNET_ONE = 0, LINNET_STEP_ROWS = 1, LINNET_WANTED_ROWS = 2 } linnet_leading;
typedef enum linnet_state_kind { LINNET_APPEND = 0, LINNET_WINDOW = 1, LINNET_FIXED = 2 } linnet_state_kind;
typedef enum linnet_state_layout { LINNET_STATE_ROWS = 0, LINNET_STATE_PANELS = 1 } linnet_state_layout;
typedef enum linnet_attr_kind {
  LINNET_INT = 0,
  LINNET_REAL = 1,
  LINNET_TEXT = 2,
  LINNET_INTS = 3,
  LINNET_REALS = 4,
  LINNET_PARAMETER = 5 /* in listings only: the attribute `text` of the node that runs the body */
} linnet_attr_kind;

/* ---- What a node looks like. All pointers live as long as the model. ---- */

typedef struct linnet_attr {
  const char* name;
  uint32_t kind;           /* linnet_attr_kind */
  uint32_t count;          /* of integers or reals */
  int64_t integer;
  double real;
  const char* text;
  const int64_t* integers;
  const double* reals;
} linnet_attr;

typedef struct linnet_tensor {
  const char* name;
  uint8_t dtype, layout, layout_version, rank;
  uint64_t shape[3];       /* experts, rows, columns (K); unused leading ones are 1 */
  uint64_t bytes;
  uint64_t xxh3;
  const float* levels;     /* 16, or NULL */
  const char* note;        /* why this format, or "" */
  const void* data;        /* 64-byte aligned, readable up to the next multiple of 64 bytes */
} linnet_tensor;

typedef struct linnet_value {
  const char* name;
  uint8_t dtype, leading;
  uint32_t width;          /* elements a leading row: width + width_s * S, where S is the positions the row can see */
  uint32_t width_s;
} linnet_value;

typedef struct linnet_state_tensor {
  uint32_t width;          /* elements a position: `heads` vectors of width / heads */
  uint8_t dtype, layout;
  uint16_t heads;
} linnet_state_tensor;

typedef struct linnet_state {
  const char* name;
  uint8_t kind;
  uint32_t window;
  uint32_t tensor_count;
  const linnet_state_tensor* tensors;
  const uint64_t* tensor_offsets;  /* where each tensor starts inside a page; multiples of 64 */
  uint64_t page_bytes;             /* of one page of 64 positions, all tensors */
} linnet_state;

/* Absent arguments are NULL entries. */
typedef struct linnet_node {
  uint32_t size;
  uint32_t index;
  const char* op;
  uint32_t version;
  uint32_t input_count, output_count, weight_count, state_count, attr_count;
  const linnet_value* const* inputs;
  const linnet_value* const* outputs;
  const linnet_tensor* const* weights;
  const linnet_state* const* states;
  const linnet_attr* attrs;
} linnet_node;

/* ---- plan ---- */

typedef struct linnet_op_plan {
  uint32_t size;
  const linnet_node* node;
  uint32_t max_rows;          /* T at most */
  uint32_t max_wanted_rows;   /* R at most */
  uint32_t sessions;
  uint32_t threads;
  uint64_t capacity;          /* S at most */
  /* to fill in (zero on entry): */
  uint64_t model_bytes;       /* kept from init to destroy */
  uint64_t session_bytes;     /* one block a session, zeroed at session creation and reset */
  uint64_t step_bytes;        /* scratch of one eval, shared by its threads */
  uint64_t thread_bytes;      /* scratch of one eval, one block a thread */
  uint32_t output_widths[LINNET_MAX_OUTPUTS];  /* elements a leading row of each output; checked against the graph. UINT32_MAX: as the graph says */
  uint32_t in_place;          /* 1: output 0 may lie on input 0 when that is not read later */
  linnet_error* error;        /* to fill when plan returns a code; op and node are filled in by the host */
} linnet_op_plan;

/* ---- eval ---- */

/* The rows of one value in this step. data is 64-byte aligned; row i starts at data + i * stride elements. */
typedef struct linnet_rows {
  void* data;
  uint32_t rows;
  uint32_t width;   /* the value's fixed part; with width_s the row is width + width_s * S wide */
  uint64_t stride;   /* elements; a multiple of 16 (values with width_s: of this row's S) */
} linnet_rows;

/* One session's share of the step: rows first_row .. first_row + rows hold its positions position .. position + rows. */
typedef struct linnet_segment {
  uint32_t session;        /* slot in the runner, < sessions */
  uint32_t first_row, rows;
  uint32_t wanted_first, wanted_rows;  /* its rows among the wanted ones: the last wanted_rows of its rows */
  uint64_t position;
  const uint32_t* pages;   /* page of positions [64 i, 64 i + 64); valid for every position the rows can see and write */
} linnet_segment;

/* Where a state's pages lie. Page p of this state: base + p * page_bytes; see runtime/state_page.h for the inside. */
typedef struct linnet_state_memory {
  uint8_t* base;
  uint64_t page_bytes;
  const linnet_state* state;
} linnet_state_memory;

/* One thread of a parallel region. */
typedef struct linnet_thread {
  uint32_t index, count;
  void* scratch;      /* thread_bytes, 64-byte aligned */
  void* host_private;
} linnet_thread;

typedef void (*linnet_region)(void* argument, const linnet_thread* thread);

struct linnet_host;

typedef struct linnet_op_eval {
  uint32_t size;
  const struct linnet_host* host;
  const linnet_node* node;
  const linnet_rows* inputs;     /* data NULL where absent */
  const linnet_rows* outputs;
  linnet_state_memory* states;
  const linnet_segment* segments;
  uint32_t segment_count;
  uint32_t rows;                 /* T of this step */
  uint32_t wanted_rows;          /* R of this step */
  void* model_memory;
  void* session_memory;          /* session s: session_memory + s * session_stride */
  uint64_t session_stride;
  void* step_memory;
  void* op_context;              /* linnet_op_def.context */
  void* host_private;
} linnet_op_eval;

/* Elementwise functions and dot products with the library's own bits, whatever the instruction set. y may be x. */
typedef struct linnet_math {
  uint32_t size;
  const char* isa;
  void (*exp)(const float* x, float* y, size_t n);     /* 0 below -87.3, +inf above 88.72 */
  void (*tanh)(const float* x, float* y, size_t n);
  void (*erf)(const float* x, float* y, size_t n);
  void (*log)(const float* x, float* y, size_t n);
  void (*sin)(const float* x, float* y, size_t n);
  void (*cos)(const float* x, float* y, size_t n);
  /* y[t][r] = sum over k of w[r][k] * x[t][k], one fma a k from 0, for output rows [first, first + 16 * panels) of a 2-D weight. */
  void (*linear)(const linnet_tensor* w, uint64_t first, uint64_t panels, const float* x, uint64_t x_stride, uint32_t rows, float* y,
                 uint64_t y_stride);
  void (*dequantize)(const linnet_tensor* w, uint64_t row, float* y);  /* one row, K elements; exact */
} linnet_math;

typedef struct linnet_host {
  uint32_t size, abi;
  const linnet_math* math;
  /* Runs region(argument, thread) on every thread of the runner, this one included, and returns when all have. Not nested. */
  void (*parallel)(const linnet_op_eval* eval, linnet_region region, void* argument);
  /* Inside a region: returns when every thread of it has called. All must call equally often. */
  void (*barrier)(const linnet_thread* thread);
  /* Records a diagnostic (copied, cut to size) for eval or init to return `code` with. From the eval thread only; returns code. */
  linnet_code (*fail)(const linnet_op_eval* eval, linnet_code code, const char* message);
} linnet_host;

typedef struct linnet_op_def {
  uint32_t size;            /* sizeof(linnet_op_def) */
  uint32_t abi;             /* LINNET_OP_ABI */
  const char* name;         /* copied at registration; at most 31 characters */
  uint32_t min_version, max_version;  /* node versions it runs */
  linnet_code (*plan)(void* context, linnet_op_plan* plan);
  linnet_code (*init)(void* context, const linnet_op_eval* eval);   /* segments empty */
  linnet_code (*eval)(const linnet_op_eval* eval);
  void (*destroy)(void* context, void* model_memory);
  void* context;            /* passed to every call; must outlive the registry */
} linnet_op_def;

/* ---- registry ---- */

typedef struct linnet_registry linnet_registry;

/* An empty registry. allocator NULL: malloc. A registry may be changed by one thread at a time, and not while a model is being
   opened with it; models keep it alive. */
LINNET_API linnet_code linnet_registry_create(const linnet_allocator* allocator, linnet_registry** out, linnet_error* error);
LINNET_API void linnet_registry_release(linnet_registry* registry);
/* A name that is there already is an error unless replace is 1. */
LINNET_API linnet_code linnet_registry_add(linnet_registry* registry, const linnet_op_def* op, int replace, linnet_error* error);
/* Takes an op out, so that nodes of that name run their bodies. LINNET_INVALID_ARGUMENT if it is not there. */
LINNET_API linnet_code linnet_registry_remove(linnet_registry* registry, const char* name, linnet_error* error);
/* The functions that host->math offers to ops. The table must outlive the registry. */
LINNET_API linnet_code linnet_registry_set_math(linnet_registry* registry, const linnet_math* math, linnet_error* error);

/* Implemented by linnet::ops. Adds every built-in op. isa: "scalar", "avx2", or NULL for the best this processor runs;
   LINNET_UNSUPPORTED if the processor or build lacks it. */
LINNET_API linnet_code linnet_register_builtin_ops(linnet_registry* registry, const char* isa, linnet_error* error);

#ifdef __cplusplus
}
#endif
#endif
