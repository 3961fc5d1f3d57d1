#include "features/row_set.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <vector>

namespace deepvoro {
namespace {

TEST(RowSet, NumbersTheRowsOfAllListsInAscendingOrder) {
  constexpr std::size_t all = 1000;
  std::vector<std::uint32_t> first{999, 0, 64, 63, 64};
  const std::vector<std::uint32_t> second{128, 0, 127};
  for (std::uint32_t row = 300; row < 500; row += 1 + row % 3) first.push_back(row);
  std::set<std::uint32_t> sorted(first.begin(), first.end());
  sorted.insert(second.begin(), second.end());

  const RowSet rows(all, {first, second});
  EXPECT_EQ(rows.all(), all);
  EXPECT_EQ(std::vector<std::uint32_t>(rows.rows().begin(), rows.rows().end()),
            std::vector<std::uint32_t>(sorted.begin(), sorted.end()));
  for (std::uint32_t place = 0; place < rows.size(); ++place)
    EXPECT_EQ(rows.place(rows.rows()[place]), place);
}

TEST(RowSet, MayBeEmpty) {
  EXPECT_EQ(RowSet(70, {}).size(), 0U);
  EXPECT_EQ(RowSet(0, {}).size(), 0U);
}

}  // namespace
}  // namespace deepvoro
