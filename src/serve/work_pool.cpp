#include "work_pool.hpp"

#include <utility>

namespace deepvoro::serve {

WorkPool::WorkPool(unsigned threads, std::size_t most_waiting) : most_waiting_(most_waiting) {
  for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { serve(); });
}

WorkPool::~WorkPool() {
  {
    const std::scoped_lock lock(guard_);
    ends_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool WorkPool::submit(Work work) {
  {
    const std::scoped_lock lock(guard_);
    if (queue_.size() >= most_waiting_) return false;
    queue_.push_back(std::move(work));
  }
  changed_.notify_one();
  return true;
}

void WorkPool::serve() {
  for (;;) {
    std::unique_lock lock(guard_);
    changed_.wait(lock, [this] { return ends_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const Work work = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    work();
  }
}

}  // namespace deepvoro::serve
