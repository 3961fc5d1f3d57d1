#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace deepvoro::serve {

// A few threads and what waits for them.
class WorkPool {
 public:
  using Work = std::function<void()>;

  WorkPool(unsigned threads, std::size_t most_waiting);
  WorkPool(const WorkPool&) = delete;
  WorkPool& operator=(const WorkPool&) = delete;
  // Does first what still waits.
  ~WorkPool();

  // False where too much waits already.
  [[nodiscard]] bool submit(Work work);

 private:
  void serve();

  std::size_t most_waiting_;
  std::mutex guard_;
  std::condition_variable changed_;
  std::deque<Work> queue_;
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace deepvoro::serve
