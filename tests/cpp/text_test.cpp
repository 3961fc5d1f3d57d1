#include "core/text.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/csv.hpp"

namespace deepvoro {
namespace {

TEST(Text, CountsInSingularAndPlural) {
  EXPECT_EQ(counted(0, "picture"), "0 pictures");
  EXPECT_EQ(counted(1, "picture"), "1 picture");
  EXPECT_EQ(counted(2, "picture"), "2 pictures");
  EXPECT_EQ(counted(1, "other class", "other classes"), "1 other class");
  EXPECT_EQ(counted(7, "other class", "other classes"), "7 other classes");
}

TEST(Text, ListsTheFirstOfManyNames) {
  std::vector<std::string> names;
  EXPECT_EQ(listed(names), "");
  for (char letter = 'a'; letter <= 'j'; ++letter) names.emplace_back(1, letter);
  EXPECT_EQ(listed(names), "a, b, c, d, e, f, g, h, i, j");
  names.insert(names.end(), 2, "z");
  EXPECT_EQ(listed(names), "a, b, c, d, e, f, g, h, i, j and 2 more");
}

TEST(Csv, QuotesWhatNeedsIt) {
  EXPECT_EQ(csv_field("plain text"), "plain text");
  EXPECT_EQ(csv_field(""), "");
  EXPECT_EQ(csv_field("a,\"b\"\nc"), "\"a,\"\"b\"\"\nc\"");
}

}  // namespace
}  // namespace deepvoro
