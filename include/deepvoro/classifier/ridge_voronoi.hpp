#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "deepvoro/classifier/backbone_statistics.hpp"
#include "deepvoro/classifier/calibration.hpp"
#include "deepvoro/core/export.hpp"
#include "deepvoro/core/matrix_view.hpp"
#include "deepvoro/ensemble/fitted.hpp"

namespace deepvoro {

// The rule for a handful of samples of each class, and numbers that may differ (docs/METHODS.md,
// ridge-vd): a sample is one point in all its views, in a space that statistics of the network make
// even. Two diagrams in it add up: that of the class means, and that of a ridge regression in which
// every class counts the same. With many samples of each class a logistic regression on the points
// may decide instead. Immutable, so safe to share between threads.
class DEEPVORO_API RidgeVoronoi {
 public:
  // Exponent, strength, temperature and thresholds are chosen by leaving samples out, those of a
  // class in their order, or are known from an earlier fit of the same support. `statistics` may be
  // nullptr. Names of views have no meaning here.
  RidgeVoronoi(const ViewedSamples& support, const BackboneStatistics* statistics,
               unsigned threads = 1, std::optional<Calibration> known = {});

  [[nodiscard]] std::size_t classes() const;
  [[nodiscard]] const Calibration& calibration() const;

  // What there is to say of one query, for each class.
  struct DEEPVORO_API Answer {
    std::vector<double> ridge;      // score by the ridge regression, 0 to 1 for most
    std::vector<double> nearness;   // score by the distance from the mean; larger is nearer
    std::vector<double> logistic;   // logits where these decide instead of both; otherwise none
    std::vector<double> distances;  // in units of what is usual for samples of the class

    double temperature = 0;  // of the softmax of this query; less where it is very near

    [[nodiscard]] std::vector<double> scores() const;  // logistic, or ridge and nearness together
    [[nodiscard]] double distance() const;             // the smallest
  };
  // The features of a query in each view of the support.
  [[nodiscard]] Answer ask(std::span<const std::span<const float>> query) const;
  // The same for many, queries[v]: [queries x dim] in view v. An answer does not depend on the
  // other queries.
  [[nodiscard]] std::vector<Answer> ask(std::span<const MatrixView<const float>> queries,
                                        unsigned threads = 1) const;

  // How far a query is, as a point, from each of other points.
  [[nodiscard]] std::vector<double> point_distances(std::span<const std::span<const float>> query,
                                                    MatrixView<const double> points) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

}  // namespace deepvoro
