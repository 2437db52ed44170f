// A host without exceptions and RTTI builds against the C++ header and runs.
#include <cstdio>

#include "linnet/linnet.h"

int main(int, char** argv) {
  auto missing = linnet::Model::open("no such file");
  if (missing || missing.error().code() != LINNET_IO) return 1;
  auto model = linnet::Model::open(argv[1]);
  if (!model) return 1;
  auto runner = linnet::Runner::create(*model, {.threads = 1});
  if (!runner) return 1;
  linnet::Writer writer(*runner);
  auto reply = writer.complete("Once upon a time", {.max_tokens = 5});
  size_t bytes = 0;
  while (auto text = reply.next()) bytes += text->size();
  return reply.finish() == linnet::Finish::length && bytes > 0 ? 0 : 1;
}
