#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "deepvoro/features/store.hpp"

namespace deepvoro {

// Reads rows of one view of a split one at a time; those of a mean view are made when they are
// asked for. Belongs to one thread, copies to others.
class RowReader {
 public:
  RowReader(const FeatureStore& store, const std::string& split, const std::string& view);

  [[nodiscard]] ElementType element() const;
  [[nodiscard]] std::size_t dim() const { return views_.front().dim(); }
  // The elements of a row, until the next one is read.
  [[nodiscard]] const std::byte* row(std::size_t index);

 private:
  bool is_mean_;
  std::vector<FeatureRows> views_;  // one, or those the mean is of
  std::vector<double> wide_;
  std::vector<double> sum_;
  std::vector<float> mean_;
};

}  // namespace deepvoro
