#include "deepvoro/core/parallel.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>
#include <vector>

namespace deepvoro {

unsigned available_threads() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
    return static_cast<unsigned>(std::max(1, CPU_COUNT(&allowed)));
  return std::max(1U, std::thread::hardware_concurrency());
}

void parallel_for(unsigned threads, std::size_t count, std::size_t grain,
                  const ParallelBody& body) {
  grain = std::max<std::size_t>(grain, 1);
  const std::size_t blocks = count / grain + (count % grain != 0 ? 1 : 0);
  std::atomic<std::size_t> next{0};
  std::mutex failure_guard;
  std::size_t failed_block = std::numeric_limits<std::size_t>::max();
  std::exception_ptr failure;

  const auto work = [&](unsigned worker) {
    for (std::size_t block = next++; block < blocks; block = next++) {
      try {
        const std::size_t begin = block * grain;
        body(begin, begin + std::min(grain, count - begin), worker);
      } catch (...) {
        const std::scoped_lock lock(failure_guard);
        if (block < failed_block) {
          failed_block = block;
          failure = std::current_exception();
        }
        next = blocks;  // later blocks need not run; earlier ones have all been handed out
      }
    }
  };

  {
    std::vector<std::jthread> helpers;
    const std::size_t useful = std::min<std::size_t>(std::max(1U, threads), blocks);
    for (unsigned worker = 1; worker < useful; ++worker) helpers.emplace_back(work, worker);
    work(0);
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace deepvoro
