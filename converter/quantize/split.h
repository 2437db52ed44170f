// Work on several threads, cut into equal runs.
#pragma once
#include <cstdint>
#include <functional>

namespace linnet::converter {

// Calls work(begin, end) for runs that together are [0, n), each on its own thread, and returns when all are done. Of several that throw,
// the exception of the first run goes on: it does not depend on time. Where threads cannot be had, this one does their work.
void split(unsigned threads, uint64_t n, const std::function<void(uint64_t begin, uint64_t end)>& work);

}  // namespace linnet::converter
