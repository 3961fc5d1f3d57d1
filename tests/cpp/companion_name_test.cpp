#include "core/companion_name.hpp"

#include <gtest/gtest.h>

namespace deepvoro {
namespace {

constexpr std::size_t kLongestName = 255;

TEST(CompanionName, IsTheNameOfTheOutputAndAnEnding) {
  EXPECT_EQ(companion_name("pools/pool.json", ".partial"), "pools/pool.json.partial");
  EXPECT_EQ(companion_name("pool.json", ".partial"), "pool.json.partial");
  const std::string longest(kLongestName - 8, 'n');
  EXPECT_EQ(companion_name(longest, ".partial"), longest + ".partial");
}

TEST(CompanionName, IsNeverLongerThanANameMayBe) {
  for (std::size_t length = kLongestName - 8; length <= kLongestName; ++length) {
    const std::string name = companion_name(std::string(length, 'n'), ".partial").string();
    EXPECT_EQ(name.size(), kLongestName);
    EXPECT_TRUE(name.ends_with(".partial"));
  }
}

TEST(CompanionName, DiffersWhereOutputsDifferInTheirLastByteAlone) {
  const std::string name(kLongestName - 1, 'n');
  EXPECT_NE(companion_name(name + 'a', ".partial"), companion_name(name + 'b', ".partial"));
}

}  // namespace
}  // namespace deepvoro
