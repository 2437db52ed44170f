/* c.h from C11: open, plan, step, sample, text, errors. Exit status 0 if everything is as it should be. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "linnet/c.h"

#define CHECK(x) do { if (!(x)) { fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #x, error.message); return 1; } } while (0)

static int count_pieces(void* context, const char* text, size_t bytes) {
  (void)text;
  *(size_t*)context += bytes;
  return 0;
}

int main(int argc, char** argv) {
  linnet_error error = {0};
  linnet_model* model = NULL;
  linnet_model_options options;
  if (argc != 2) return 2;

  linnet_model_options_init(&options);
  CHECK(linnet_model_open(argv[1], &options, &model, &error) == LINNET_INVALID_ARGUMENT); /* no registry */
  CHECK(strcmp(error.subject, "registry") == 0);
  options.registry = linnet_builtin_registry();
  CHECK(linnet_model_open("no such file", &options, &model, &error) == LINNET_IO && model == NULL);
  CHECK(linnet_model_open(argv[1], &options, &model, &error) == LINNET_OK);

  linnet_model_info info = {0};
  info.size = sizeof info;
  linnet_model_get_info(model, &info);
  CHECK(info.vocabulary > 0 && strcmp(info.architecture, "gpt2") == 0);
  CHECK(linnet_model_verify(model, &error) == LINNET_OK);

  /* The plan, and a runner in memory of our own. */
  linnet_runner_options run;
  linnet_runner_options_init(&run);
  run.context = 64;
  run.threads = 1;
  linnet_plan plan;
  CHECK(linnet_model_plan(model, &run, &plan, &error) == LINNET_OK);
  run.buffer = aligned_alloc(64, (size_t)((plan.total + 63) / 64 * 64));
  run.buffer_bytes = plan.total - 1;
  linnet_runner* runner = NULL;
  CHECK(linnet_runner_create(model, &run, &runner, &error) == LINNET_BUFFER_TOO_SMALL);
  CHECK(error.expected == plan.total && error.actual == plan.total - 1);
  run.buffer_bytes = plan.total;
  CHECK(linnet_runner_create(model, &run, &runner, &error) == LINNET_OK);

  /* Text to ids and back. */
  linnet_tokenizer* tokenizer = NULL;
  CHECK(linnet_tokenizer_create(model, &tokenizer, &error) == LINNET_OK);
  const char* text = "Once upon a time";
  int32_t ids[32];
  size_t count = 0, bytes = 0;
  CHECK(linnet_tokenizer_encode(tokenizer, text, strlen(text), 0, NULL, 0, &count, &error) == LINNET_OK || error.code == LINNET_BUFFER_TOO_SMALL);
  const size_t counted = count;
  CHECK(linnet_tokenizer_encode(tokenizer, text, strlen(text), 0, ids, 32, &count, &error) == LINNET_OK && count == counted);
  char back[64];
  CHECK(linnet_tokenizer_decode(tokenizer, ids, count, 0, back, sizeof back, &bytes, &error) == LINNET_OK);
  CHECK(bytes == strlen(text) && memcmp(back, text, bytes) == 0);
  linnet_tokenizer_release(tokenizer);

  /* A session, a step, a token. */
  linnet_session* session = NULL;
  CHECK(linnet_session_create(runner, &session, &error) == LINNET_OK);
  linnet_step_entry entry = {session, ids, (uint32_t)count, LINNET_WANT_LAST};
  CHECK(linnet_step(runner, &entry, 1, &error) == LINNET_OK);
  CHECK(linnet_session_position(session) == count);
  linnet_sampling sampling;
  linnet_sampling_init(&sampling);
  sampling.temperature = -1;
  linnet_sampled sampled;
  CHECK(linnet_session_sample(session, &sampling, &sampled, &error) == LINNET_INVALID_ARGUMENT);
  sampling.temperature = 0;
  CHECK(linnet_session_next(session, &sampling, &sampled, &error) == LINNET_OK);
  CHECK(sampled.token >= 0 && (uint32_t)sampled.token < info.vocabulary);
  CHECK(linnet_session_position(session) == count + 1);
  linnet_session_release(session);

  /* A writer with a callback. */
  linnet_writer* writer = NULL;
  CHECK(linnet_writer_create(runner, &writer, &error) == LINNET_OK);
  linnet_write_options write;
  linnet_write_options_init(&write);
  write.max_tokens = 10;
  linnet_finish finish = LINNET_FINISH_NONE;
  size_t written = 0;
  CHECK(linnet_writer_complete(writer, text, strlen(text), &write, count_pieces, &written, &finish, &error) == LINNET_OK);
  CHECK(finish == LINNET_FINISH_LENGTH && written > 0);
  linnet_writer_release(writer);

  linnet_runner_release(runner);
  free(run.buffer);
  linnet_model_release(model);
  CHECK(strcmp(linnet_code_name(LINNET_CONTEXT_FULL), "context full") == 0);
  printf("c.h: ok, %s\n", linnet_version());
  return 0;
}
