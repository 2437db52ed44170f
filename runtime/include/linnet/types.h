/* Types shared by c.h (hosts) and op.h (op authors): codes, errors, element types. C11 and C++20. */
#ifndef LINNET_TYPES_H
#define LINNET_TYPES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32) && defined(LINNET_SHARED)
#ifdef LINNET_BUILDING
#define LINNET_API __declspec(dllexport)
#else
#define LINNET_API __declspec(dllimport)
#endif
#elif defined(__GNUC__)
#define LINNET_API __attribute__((visibility("default")))
#else
#define LINNET_API
#endif

/* What a call returns. 0 is success; every other code comes with a linnet_error that says what and where. */
typedef enum linnet_code {
  LINNET_OK = 0,
  LINNET_INVALID_ARGUMENT = 1,  /* the caller's numbers are out of range; nothing happened */
  LINNET_IO = 2,                /* the operating system refused: open, map, read, write, thread */
  LINNET_BAD_FILE = 3,          /* the file is damaged, cut or not what it says */
  LINNET_VERSION = 4,           /* the file or op is newer than this library */
  LINNET_UNSUPPORTED = 5,       /* well-formed, but not something this build can do */
  LINNET_NO_MEMORY = 6,         /* the allocator returned NULL */
  LINNET_BUFFER_TOO_SMALL = 7,  /* a caller's buffer; error.expected is the size that works */
  LINNET_CONTEXT_FULL = 8,      /* the session has no room for these rows; it is unchanged */
  LINNET_POOL_EMPTY = 9,        /* no free pages or session slots; nothing changed */
  LINNET_CANCELLED = 10,        /* the cancel flag was seen; the session is as before the step */
  LINNET_NOT_FINITE = 11,       /* a logit is NaN or infinite; the session is as before the step */
  LINNET_BUSY = 12,             /* the runner is inside a step (another thread's, or one begun and not ended) */
  LINNET_OP_FAILED = 13,        /* an op returned an error; the session is as before the step */
  LINNET_STOPPED = 14,          /* a callback asked to stop */
  LINNET_INTERNAL = 15          /* a bug in Linnet; please report it with the message */
} linnet_code;

/* A fixed-size diagnostic: nothing in it is allocated, so an error can always be told. Strings end with NUL. */
typedef struct linnet_error {
  linnet_code code;
  int32_t node;         /* index of the graph node, or -1 */
  uint64_t expected;    /* the two numbers that disagree, where there are two; else 0 */
  uint64_t actual;
  char op[32];          /* the op's name, or "" */
  char subject[96];     /* file section, tensor, field or option that the message is about, or "" */
  char message[512];    /* one line for people: what, where, the numbers, what to do */
} linnet_error;

typedef enum linnet_dtype {
  LINNET_F32 = 0,
  LINNET_F16 = 1,
  LINNET_BF16 = 2,
  LINNET_I8 = 3,  /* codes -127..127, groups of 32 along K, f16 scale */
  LINNET_I4 = 4,  /* codes into 16 levels, groups of 32 along K, f16 scale */
  LINNET_I32 = 5
} linnet_dtype;

/* Memory for everything Linnet keeps. Both functions may be called from any thread; alloc returns NULL when there is none.
   `alignment` is a power of two up to 64; `size` in free is the one asked for. */
typedef struct linnet_allocator {
  void* (*alloc)(void* context, size_t size, size_t alignment);
  void (*free)(void* context, void* memory, size_t size, size_t alignment);
  void* context;
} linnet_allocator;

#ifdef __cplusplus
}
#endif
#endif
