// A host program, complete: opens a model, plans its memory, streams a reply, and can be cancelled with Ctrl-C.
//   embed MODEL.linnet "Once upon a time"
#include <atomic>
#include <csignal>
#include <iostream>

#include "linnet/linnet.h"

namespace {
std::atomic<int> stop{0};  // lock-free, so a signal handler may set it

int report(const linnet::Status& error) {
  std::cerr << "embed: " << error.message() << "\n";
  return 1;
}
}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: embed MODEL.linnet PROMPT\n";
    return 2;
  }
  std::signal(SIGINT, [](int) { stop = 1; });

  auto model = linnet::Model::open(argv[1]);  // mapped and verified; may be shared by many runners and threads
  if (!model) return report(model.error());

  const linnet::RunnerOptions options{.threads = 2};
  auto plan = linnet::plan(*model, options);  // exact, before a weight is read
  if (!plan) return report(plan.error());
  std::cerr << "embed: " << plan->total << " bytes planned for " << plan->context << " positions\n";

  auto runner = linnet::Runner::create(*model, options);  // all memory and threads; nothing is allocated after this
  if (!runner) return report(runner.error());

  linnet::Writer writer(*runner);
  auto reply = writer.complete(argv[2], {.max_tokens = 200, .cancel = &stop});
  while (auto text = reply.next()) std::cout << *text << std::flush;  // whole characters only
  std::cout << "\n";

  switch (reply.finish()) {
    case linnet::Finish::stop:  // the model ended its text
    case linnet::Finish::length: return 0;
    case linnet::Finish::context_full: std::cerr << "embed: the context is full\n"; return 0;
    case linnet::Finish::cancelled: std::cerr << "embed: cancelled\n"; return 130;
    case linnet::Finish::error:
    case linnet::Finish::none: break;
  }
  return report(reply.error());
}
