#include "deepvoro/core/parallel.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <mutex>
#include <system_error>
#include <thread>

#include "core/changed_files.hpp"

namespace deepvoro {

unsigned available_threads() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
    return static_cast<unsigned>(std::max(1, CPU_COUNT(&allowed)));
  return std::max(1U, std::thread::hardware_concurrency());
}

unsigned most_threads() {
  constexpr unsigned per_core = 4;
  constexpr unsigned anywhere = 64;
  return std::max(anywhere, per_core * available_threads());
}

namespace {

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

// Threads that stay between loops: a loop of some microseconds cannot afford to start any. They
// look for work for a moment before they go to sleep, because the next loop mostly comes at once.
// A team is never destroyed; its threads sleep until the process ends.
class Team {
 public:
  // Whether this thread is running a loop's body: a loop in there runs on this thread alone.
  static thread_local bool inside_team;

  static constexpr std::size_t kMostWorkers = 4096;

  // Runs work(0) here and work(1) to work(workers - 1) on other threads, and waits for all.
  void run(unsigned workers, const std::function<void(unsigned)>& work) {
    const std::scoped_lock lock(guard_);
    workers = std::min(workers, grown_to(workers));
    work_ = &work;
    running_ = workers - 1;
    call_ = ((call_ >> kCountBits) + 1) << kCountBits | workers;
    call_.notify_all();
    inside_team = true;
    work(0);
    inside_team = false;
    for (unsigned left = running_; left != 0; left = running_) wait_while(running_, left);
  }

 private:
  static constexpr unsigned kCountBits = 16;

  // How many workers there are when no more than `wanted` are needed: fewer where the system
  // refuses further threads. A loop needs none but its own.
  unsigned grown_to(unsigned wanted) {
    try {
      for (; threads_ + 1 < wanted; ++threads_)
        std::thread([this, worker = threads_ + 1, seen = call_.load()] {
          serve(worker, seen);
        }).detach();
    } catch (const std::system_error&) {
    }
    return threads_ + 1;
  }

  template <class T>
  static void wait_while(const std::atomic<T>& value, T old) {
    constexpr int tries = 2000;
    for (int i = 0; i < tries; ++i) {
      if (value != old) return;
      pause_briefly();
    }
    value.wait(old);
  }

  void serve(unsigned worker, std::uint64_t seen) {
    inside_team = true;
    for (;;) {
      wait_while(call_, seen);
      seen = call_;
      if (worker >= (seen & ((1U << kCountBits) - 1))) continue;
      (*work_)(worker);
      if (--running_ == 0) running_.notify_one();
    }
  }

  std::mutex guard_;
  unsigned threads_ = 0;
  const std::function<void(unsigned)>* work_ = nullptr;
  std::atomic<unsigned> running_{0};
  // Which call it is, and in the low bits how many workers it is for: read together, so that a
  // thread that was not needed for one call cannot mistake it for the next.
  std::atomic<std::uint64_t> call_{0};
};

thread_local bool Team::inside_team = false;

// A forked process has none of its parent's threads, so it needs a team of its own.
Team& team() {
  static std::mutex guard;
  static pid_t owner = 0;
  static Team* current = nullptr;
  const std::scoped_lock lock(guard);
  if (owner != ::getpid()) {
    current = new Team;
    owner = ::getpid();
  }
  return *current;
}

}  // namespace

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

  const auto useful = static_cast<unsigned>(
      std::min<std::size_t>({std::max(1U, threads), blocks, Team::kMostWorkers}));
  if (useful <= 1 || Team::inside_team)
    work(0);
  else
    team().run(useful, work);
  if (!Team::inside_team) throw_if_files_changed();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace deepvoro
