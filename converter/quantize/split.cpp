#include "converter/quantize/split.h"

#include <algorithm>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

namespace linnet::converter {

void split(unsigned threads, uint64_t n, const std::function<void(uint64_t, uint64_t)>& work) {
  const uint64_t runs = std::clamp<uint64_t>(n, 1, std::max(1u, threads));
  std::vector<std::exception_ptr> errors(runs);
  const auto run = [&](uint64_t i) {
    try {
      work(n * i / runs, n * (i + 1) / runs);
    } catch (...) { errors[i] = std::current_exception(); }
  };
  std::vector<std::thread> others;
  others.reserve(runs - 1);
  uint64_t started = 1;
  try {
    for (; started < runs; ++started) others.emplace_back(run, started);
  } catch (const std::system_error&) {}
  run(0);
  for (uint64_t i = started; i < runs; ++i) run(i);
  for (std::thread& t : others) t.join();
  for (const std::exception_ptr& e : errors)
    if (e) std::rethrow_exception(e);
}

}  // namespace linnet::converter
