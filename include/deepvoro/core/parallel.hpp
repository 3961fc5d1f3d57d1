#pragma once

#include <cstddef>
#include <functional>

#include "deepvoro/core/export.hpp"

namespace deepvoro {

// How many threads to use when the caller does not say: one for each core this process may use.
[[nodiscard]] DEEPVORO_API unsigned available_threads();

// More would only cost memory, which is taken for each of them.
[[nodiscard]] DEEPVORO_API unsigned most_threads();

// Calls body(begin, end, worker) for blocks of at most `grain` indices that cover 0..count-1, on
// `threads` threads; worker is 0..threads-1 and names a thread's own scratch memory. Blocks are
// handed out in order but run in any: nothing a body computes may depend on that. When bodies
// throw, the exception of the first block that failed is thrown again after all have ended. A loop
// inside a body runs on the thread of that body; loops of different threads wait for each other.
using ParallelBody = std::function<void(std::size_t begin, std::size_t end, unsigned worker)>;
DEEPVORO_API void parallel_for(unsigned threads, std::size_t count, std::size_t grain,
                               const ParallelBody& body);

}  // namespace deepvoro
