#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "deepvoro/core/export.hpp"
#include "deepvoro/core/matrix_view.hpp"
#include "deepvoro/ensemble/head_configuration.hpp"

namespace deepvoro {

// A head fitted on labelled rows in memory, classes of any size, ready for queries. It answers as
// an evaluation does in an episode with this support, bit for bit. Immutable once made: queries may
// come from several threads at the same time.
class DEEPVORO_API FittedHead {
 public:
  // The methods power_lr, voronoi_lr, simpleshot and pt_ncm. Every label is below `classes`, and
  // every class has a row. `base_mean`: of simpleshot with cl2n.
  FittedHead(const HeadConfiguration& configuration, MatrixView<const float> rows,
             std::span<const std::size_t> labels, std::size_t classes,
             std::vector<double> base_mean = {});

  [[nodiscard]] std::size_t classes() const;
  // out[q][k] = score of class k for query q, larger is nearer.
  void influence(MatrixView<const float> queries, unsigned threads, MatrixView<double> out) const;

  // W and b of a logistic regression, whose scores are W.z + b. They live as long as the head.
  struct Weights {
    MatrixView<const double> W;
    std::span<const double> b;
  };
  // Nothing for other methods.
  [[nodiscard]] std::optional<Weights> weights() const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

}  // namespace deepvoro
