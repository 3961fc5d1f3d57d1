#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "core/matrix.hpp"
#include "heads/base_statistics.hpp"
#include "heads/head.hpp"

namespace deepvoro {

// Distribution Calibration (DC): each support row is taken for a Gaussian whose mean is the average
// of the row and its 2 nearest base means, and whose covariance is the average of theirs with 0.21
// added to every element. Logistic regression (W squared over two as a penalty, sum of losses) is
// fitted on the support rows and floor(750/shots) samples of each. Influence: the logits.
//
// A sample is mean + sum_j e_j deviation_j, with normal e_j and the deviations of both base
// classes, so samples are never made: their dot products with W are those of the deviations, mixed
// by e.
class CalibratedHead {
 public:
  struct Options {
    std::size_t neighbours = 2;
    double spread = 0.21;
    std::size_t samples = 750;  // of each class
    double gradient_tolerance = 1e-4;
  };

  // `base` must outlive the head.
  explicit CalibratedHead(const BaseStatistics& base) : CalibratedHead(base, Options()) {}
  CalibratedHead(const BaseStatistics& base, const Options& options);
  CalibratedHead(const CalibratedHead&) = delete;
  CalibratedHead& operator=(const CalibratedHead&) = delete;
  CalibratedHead(CalibratedHead&&) noexcept;
  CalibratedHead& operator=(CalibratedHead&&) noexcept;
  ~CalibratedHead();

  void fit(const Support& support);
  void influence(const double* query, std::span<double> out) const;

  // Of the last fit: W and b one after the other, and the samples of a support row, made for once.
  [[nodiscard]] MatrixView<const double> weights() const;
  [[nodiscard]] std::span<const double> biases() const;
  [[nodiscard]] Matrix<double> samples(std::size_t support_row) const;

 private:
  struct Work;
  std::unique_ptr<Work> work_;
};

}  // namespace deepvoro
