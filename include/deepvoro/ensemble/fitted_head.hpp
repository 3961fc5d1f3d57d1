#pragma once

#include <cstddef>
#include <span>
#include <variant>
#include <vector>

#include "deepvoro/core/matrix.hpp"
#include "deepvoro/ensemble/head_evaluation.hpp"
#include "deepvoro/heads/logistic.hpp"
#include "deepvoro/heads/nearest_mean.hpp"
#include "deepvoro/heads/preparation.hpp"

namespace deepvoro {

// A head fitted on labelled rows in memory, classes of any size, ready for queries. It answers as
// evaluate_head() does in an episode with this support, bit for bit. Immutable once made: queries
// may come from several threads at the same time.
class FittedHead {
 public:
  // The methods power_lr, voronoi_lr, simpleshot and pt_ncm. Every label is below `classes`, and
  // every class has a row. `base_mean`: of simpleshot with cl2n.
  FittedHead(const HeadConfiguration& configuration, MatrixView<const float> rows,
             std::span<const std::size_t> labels, std::size_t classes,
             std::vector<double> base_mean = {});

  [[nodiscard]] std::size_t classes() const { return classes_; }
  // out[q][k] = score of class k for query q, larger is nearer.
  void influence(MatrixView<const float> queries, unsigned threads, MatrixView<double> out) const;

  // W and b of a logistic regression; nullptr for other methods.
  [[nodiscard]] const LogisticHead* logistic() const { return std::get_if<LogisticHead>(&head_); }

 private:
  void prepare(std::span<const float> from, std::size_t number, double* to) const;

  Preparation preparation_;
  std::size_t dim_;
  std::size_t classes_;
  std::variant<NearestMean, LogisticHead> head_;
};

}  // namespace deepvoro
