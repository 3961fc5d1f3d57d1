#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace deepvoro {

// What became of the queries of an evaluation, class by class of the split.
struct Answers {
  struct OfClass {
    std::string name;
    std::size_t samples = 0;  // in the split
    std::uint64_t asked = 0;  // queries, all episodes together
    std::uint64_t right = 0;
    double ci95 = 0;  // percent, of its mean accuracy over the episodes that have it
  };
  // A sample that is often wrong.
  struct HardQuery {
    std::size_t of_class = 0;
    std::size_t place = 0;  // among the samples of its class, in the order of the store
    std::uint64_t asked = 0;
    std::uint64_t wrong = 0;
    std::size_t taken_for = 0;  // most often
  };
  std::vector<OfClass> classes;
  // [classes x classes]: queries of the row's class that were taken for the column's. Empty with
  // more than kMostConfusedClasses.
  std::vector<std::uint64_t> confusion;
  std::vector<HardQuery> hardest;  // the hardest first
};

inline constexpr std::size_t kMostConfusedClasses = 200;
inline constexpr std::size_t kHardQueries = 24;

}  // namespace deepvoro
