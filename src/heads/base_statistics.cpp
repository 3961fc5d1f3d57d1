#include "heads/base_statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "deepvoro/core/error.hpp"
#include "deepvoro/core/parallel.hpp"
#include "features/transformed_rows.hpp"
#include "heads/leading_directions.hpp"

namespace deepvoro {
namespace {

void check_covariances(const std::vector<std::vector<std::size_t>>& rows,
                       const FeatureStore& store) {
  for (std::size_t c = 0; c < rows.size(); ++c)
    if (rows[c].size() < 2)
      throw data_error(
          fmt::format("{}: class '{}' of split base has {} samples, a covariance needs 2; remove "
                      "it or add samples",
                      store.folder().string(), store.split("base").classes[c], rows[c].size()));
}

// The rows of the split base in one view, widened when they are asked for.
class WidenedBase {
 public:
  WidenedBase(const FeatureStore& store, const std::string& view, unsigned threads)
      : view_(LoadedView::mapped(store, threads)) {
    view_.load("base", view);
  }

  [[nodiscard]] std::size_t rows() const { return view_.rows(); }
  [[nodiscard]] std::size_t dim() const { return view_.dim(); }
  // `scratch` has padded(dim) elements.
  [[nodiscard]] const double* row(std::size_t index, double* scratch) const {
    widen(view_.element(), view_.run(index, 0).data, dim(), scratch);
    return scratch;
  }

 private:
  LoadedView view_;
};

}  // namespace

std::vector<double> base_mean(const FeatureStore& store, const std::string& view,
                              unsigned threads) {
  const WidenedBase rows(store, view, threads);
  std::vector<double> scratch(padded(rows.dim()));
  std::vector<double> mean(rows.dim());
  for (std::size_t r = 0; r < rows.rows(); ++r) {
    const double* row = rows.row(r, scratch.data());
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += row[i];
  }
  for (double& value : mean) value /= static_cast<double>(rows.rows());
  return mean;
}

BaseStatistics::BaseStatistics(const FeatureStore& store, const std::string& view,
                               unsigned threads) {
  const auto rows_of = store.rows_by_class("base");
  check_covariances(rows_of, store);
  const WidenedBase rows(store, view, threads);
  means_ = Matrix<double>(rows_of.size(), rows.dim());
  deviations_ = Matrix<float>(rows.rows(), rows.dim());
  begin_.push_back(0);
  for (const auto& of_class : rows_of) begin_.push_back(begin_.back() + of_class.size());
  parallel_for(threads, rows_of.size(), 1, [&](std::size_t begin, std::size_t end, unsigned) {
    std::vector<double> scratch(padded(rows.dim()));
    for (std::size_t c = begin; c < end; ++c) {
      double* mean = means_.row(c);
      for (const std::size_t r : rows_of[c]) {
        const double* row = rows.row(r, scratch.data());
        for (std::size_t i = 0; i < rows.dim(); ++i) mean[i] += row[i];
      }
      const auto count = static_cast<double>(rows_of[c].size());
      for (std::size_t i = 0; i < rows.dim(); ++i) mean[i] /= count;
      const double root = std::sqrt(count - 1);
      for (std::size_t j = 0; j < rows_of[c].size(); ++j) {
        const double* row = rows.row(rows_of[c][j], scratch.data());
        float* deviation = deviations_.row(begin_[c] + j);
        for (std::size_t i = 0; i < rows.dim(); ++i)
          deviation[i] = static_cast<float>((row[i] - mean[i]) / root);
      }
    }
  });

  // With five classes, their means and biases have as many coordinates as fill whole registers.
  constexpr std::size_t direction_count = 42;
  directions_ = leading_directions(deviations_.view(), direction_count);
  projections_ = Matrix<float>(deviations_.rows(), directions_.rows());
  parallel_for(threads, rows_of.size(), 1, [&](std::size_t begin, std::size_t end, unsigned) {
    for (std::size_t c = begin; c < end; ++c)
      project(deviations(c), directions_.view(),
              {projections_.row(begin_[c]), begin_[c + 1] - begin_[c], projections_.cols(),
               projections_.stride()});
  });
}

std::size_t BaseStatistics::largest_class() const {
  std::size_t largest = 0;
  for (std::size_t c = 0; c < classes(); ++c)
    largest = std::max(largest, begin_[c + 1] - begin_[c]);
  return largest;
}

}  // namespace deepvoro
