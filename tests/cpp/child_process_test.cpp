#include "core/child_process.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

#include "deepvoro/core/error.hpp"
#include "expect_error.hpp"

namespace deepvoro {
namespace {

using test::expect_error;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;
constexpr ChildLimits kLimits{.memory_bytes = 256 * kMiB, .cpu_seconds = 60};

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

std::string text_of(const ChildAnswer& answer) {
  return {reinterpret_cast<const char*>(answer.bytes.data()), answer.bytes.size()};
}

template <class Work>
void expect_death(const ChildLimits& limits, const Work& work) {
  expect_error(ErrorKind::data, {"it died"}, [&] {
    (void)run_in_child(
        limits, [&](const ByteSink&) { work(); }, "it died");
  });
}

TEST(ChildProcess, HandsBackWhatItWrites) {
  const std::string long_text(3'000'000, 'x');
  const ChildAnswer answer = run_in_child(
      kLimits,
      [&](const ByteSink& out) {
        out(bytes_of("first "));
        out(bytes_of(long_text));
      },
      "");
  EXPECT_EQ(text_of(answer), "first " + long_text);
}

TEST(ChildProcess, MayWriteNothing) {
  EXPECT_TRUE(run_in_child(
                  kLimits, [](const ByteSink&) {}, "")
                  .bytes.empty());
}

TEST(ChildProcess, HandsBackItsErrors) {
  const auto work = [](const ByteSink& out) {
    out(bytes_of("half an answer"));
    throw Error(ErrorKind::usage, "what is wrong", ErrorCode::missing_file);
  };
  expect_error(ErrorKind::usage, {"what is wrong"},
               [&] { (void)run_in_child(kLimits, work, "it died"); });
  try {
    (void)run_in_child(kLimits, work, "it died");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::missing_file);
  }
}

TEST(ChildProcess, MayBeEndedByASignal) {
  for (const int signal : {SIGSEGV, SIGKILL, SIGABRT})
    expect_death(kLimits, [&] { std::raise(signal); });
}

TEST(ChildProcess, MayThrowAnything) {
  expect_death(kLimits, [] { throw 1; });
}

TEST(ChildProcess, HasLittleTime) {
  expect_death({.memory_bytes = 256 * kMiB, .cpu_seconds = 1}, [] {
    for (std::atomic<std::uint64_t> i = 0;; ++i) {
    }
  });
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which end it themselves
TEST(ChildProcess, HasLittleMemory) {
  expect_death(kLimits, [] {
    std::vector<char> large(512 * kMiB, 1);
    EXPECT_EQ(large.back(), 1);
  });
}
#endif

}  // namespace
}  // namespace deepvoro
