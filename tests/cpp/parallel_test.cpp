#include "deepvoro/core/parallel.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

namespace deepvoro {
namespace {

using Case = std::tuple<unsigned, std::size_t, std::size_t>;

class ParallelFor : public ::testing::TestWithParam<Case> {};

TEST_P(ParallelFor, CoversEachIndexOnceInBlocksOfAtMostTheGrain) {
  const unsigned threads = std::get<0>(GetParam());
  const std::size_t count = std::get<1>(GetParam());
  const std::size_t grain = std::get<2>(GetParam());
  std::vector<std::atomic<int>> visits(count);
  std::atomic<bool> block_too_long{false};
  std::atomic<bool> unknown_worker{false};
  parallel_for(threads, count, grain, [&](std::size_t begin, std::size_t end, unsigned worker) {
    if (begin >= end || end - begin > std::max<std::size_t>(grain, 1)) block_too_long = true;
    if (worker >= std::max(1U, threads)) unknown_worker = true;
    for (std::size_t i = begin; i < end; ++i) ++visits.at(i);
  });
  EXPECT_FALSE(block_too_long);
  EXPECT_FALSE(unknown_worker);
  EXPECT_TRUE(std::ranges::all_of(visits, [](const auto& times) { return times == 1; }));
}

INSTANTIATE_TEST_SUITE_P(ThreadsCountGrain, ParallelFor,
                         ::testing::Combine(::testing::Values(0U, 1U, 2U, 7U),
                                            ::testing::Values(0U, 1U, 10U, 1000U),
                                            ::testing::Values(0U, 1U, 3U, 10U, 4096U)),
                         [](const auto& tested) {
                           return fmt::format("{}_{}_{}", std::get<0>(tested.param),
                                              std::get<1>(tested.param), std::get<2>(tested.param));
                         });

TEST(ParallelFor, GivesConcurrentBodiesDifferentWorkers) {
  constexpr unsigned threads = 3;
  std::barrier all_are_running(threads);
  std::vector<std::atomic<int>> uses(threads);
  parallel_for(threads, threads, 1, [&](std::size_t, std::size_t, unsigned worker) {
    ++uses.at(worker);
    all_are_running.arrive_and_wait();
  });
  EXPECT_TRUE(std::ranges::all_of(uses, [](const auto& times) { return times == 1; }));
}

TEST(ParallelFor, ThrowsTheExceptionOfTheFirstBlockThatFailedAtAnyThreadCount) {
  for (const unsigned threads : {1U, 2U, 8U}) {
    const auto fail_from_12_on = [](std::size_t begin, std::size_t, unsigned) {
      if (begin >= 12) throw std::runtime_error(std::to_string(begin));
    };
    try {
      parallel_for(threads, 1000, 4, fail_from_12_on);
      FAIL() << "nothing was thrown with " << threads << " threads";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "12") << threads << " threads";
    }
  }
}

// Two blocks that run at the same time both fail, the one given first.
std::string exception_when_this_fails_first(std::size_t first_to_fail) {
  std::barrier both_are_running(2);
  std::atomic<bool> one_failed{false};
  const auto body = [&](std::size_t begin, std::size_t, unsigned) {
    both_are_running.arrive_and_wait();
    if (begin == first_to_fail) {
      one_failed = true;
      one_failed.notify_all();
    } else {
      one_failed.wait(false);
      // Time for the other exception to leave its body; the outcome must be the same without.
      for (int i = 0; i < 1000; ++i) std::this_thread::yield();
    }
    throw std::runtime_error("block " + std::to_string(begin));
  };
  try {
    parallel_for(2, 2, 1, body);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "nothing";
}

TEST(ParallelFor, ThrowsTheExceptionOfTheEarlierBlockWhicheverFailsFirst) {
  EXPECT_EQ(exception_when_this_fails_first(0), "block 0");
  EXPECT_EQ(exception_when_this_fails_first(1), "block 0");
}

TEST(ParallelFor, WaitsForRunningBodiesBeforeItThrows) {
  constexpr int long_work = 1'000'000;
  std::barrier both_are_running(2);
  std::atomic<int> done{0};
  const auto body = [&](std::size_t begin, std::size_t, unsigned) {
    both_are_running.arrive_and_wait();
    if (begin == 0) throw std::runtime_error("first");
    for (int i = 0; i < long_work; ++i) ++done;
  };
  EXPECT_THROW(parallel_for(2, 2, 1, body), std::runtime_error);
  EXPECT_EQ(done, long_work);
}

TEST(ParallelFor, RunsALoopInsideABodyOnItsThread) {
  std::atomic<int> inner_bodies{0};
  std::atomic<bool> moved{false};
  parallel_for(2, 4, 1, [&](std::size_t, std::size_t, unsigned) {
    const auto outer = std::this_thread::get_id();
    parallel_for(3, 5, 1, [&](std::size_t, std::size_t, unsigned) {
      if (std::this_thread::get_id() != outer) moved = true;
      ++inner_bodies;
    });
  });
  EXPECT_EQ(inner_bodies, 20);
  EXPECT_FALSE(moved);
}

TEST(ParallelFor, ServesManyThreadsAndManyShortLoops) {
  std::atomic<int> bodies{0};
  const auto caller = [&] {
    for (unsigned i = 0; i < 500; ++i)
      parallel_for(1 + i % 4, 4, 1, [&](std::size_t, std::size_t, unsigned) { ++bodies; });
  };
  {
    const std::jthread first(caller);
    const std::jthread second(caller);
  }
  EXPECT_EQ(bodies, 4000);
}

TEST(ParallelFor, WorksInAForkedProcess) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer knows no threads in a forked process";
#endif
  const auto sum = [] {
    std::atomic<std::size_t> total{0};
    parallel_for(3, 100, 1, [&](std::size_t i, std::size_t, unsigned) { total += i; });
    return total.load();
  };
  EXPECT_EQ(sum(), 4950U);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(sum() == 4950U ? 0 : 1);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(AvailableThreads, IsAtLeastOne) {
  EXPECT_GE(available_threads(), 1U);
}

}  // namespace
}  // namespace deepvoro
