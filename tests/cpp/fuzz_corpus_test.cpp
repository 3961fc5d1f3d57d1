#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/archive.hpp"
#include "core/files.hpp"
#include "fuzz/harness.hpp"

namespace deepvoro::fuzz {
namespace {

class FuzzCorpus : public testing::TestWithParam<Harness> {};

// Inputs that once led somewhere new; every one ends in an answer or in an error.
TEST_P(FuzzCorpus, IsRead) {
  const MappedFile kept(fmt::format("{}/{}.tar.gz", DEEPVORO_FUZZ_CORPUS, GetParam().name()));
  ArchiveReader inputs(kept.bytes(), kept.path().string());
  std::size_t count = 0;
  while (inputs.next()) {
    constexpr std::size_t largest = std::size_t{1} << 20U;
    GetParam().feed(inputs.content(largest).unpacked);
    ++count;
  }
  EXPECT_GT(count, 0U);
}

INSTANTIATE_TEST_SUITE_P(Kept, FuzzCorpus, testing::ValuesIn(Harness::all()),
                         [](const auto& tested) { return std::string(tested.param.name()); });

}  // namespace
}  // namespace deepvoro::fuzz
