#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "deepvoro/core/export.hpp"
#include "deepvoro/core/matrix_view.hpp"
#include "deepvoro/ensemble/pool.hpp"
#include "deepvoro/geometry/influence.hpp"

namespace deepvoro {

// The same samples seen in several views.
struct ViewedSamples {
  std::vector<std::string> views;
  std::vector<MatrixView<const float>> rows;  // [views] of [samples x dim], dim that of a network
  std::span<const std::size_t> labels;        // [samples], class of each
  std::size_t classes = 0;
};

// The space of a member, from elsewhere than base samples.
using SpaceProvider = std::function<std::shared_ptr<const Space>(const Member& member)>;

// An ensemble fitted on support samples, in the precision of core/precision.hpp, ready for one
// query after the other. Immutable once made: queries may come from several threads at the same
// time.
class DEEPVORO_API FittedEnsemble {
 public:
  class Group;
  // `base` may be nullptr when no member needs base classes, or where `spaces` are all they need.
  FittedEnsemble(const Pool& pool, const ViewedSamples& support,
                 const ViewedSamples* base = nullptr, Influence influence = Influence(1),
                 const SpaceProvider& spaces = {});
  FittedEnsemble(const FittedEnsemble&) = delete;
  FittedEnsemble& operator=(const FittedEnsemble&) = delete;
  FittedEnsemble(FittedEnsemble&&) noexcept;
  FittedEnsemble& operator=(FittedEnsemble&&) noexcept;
  ~FittedEnsemble();

  [[nodiscard]] std::size_t classes() const;
  // out[k] = influence F of class k; query[v]: the features of the query in view v of the support.
  void influence(std::span<const std::span<const float>> query, std::span<double> out) const;
  // The same for many queries, [queries x classes]; queries[v]: [queries x dim] in view v. An
  // answer does not depend on the other queries.
  void influence(std::span<const MatrixView<const float>> queries, MatrixView<double> out,
                 unsigned threads = 1) const;
  // The same for samples of the support, each asked as if it had never been in its class; labels:
  // of the samples. One that is alone in its class is asked as any other. alpha must be 1.
  void influence_without(std::span<const MatrixView<const float>> samples,
                         std::span<const std::size_t> labels, MatrixView<double> out,
                         unsigned threads = 1) const;

 private:
  void check_base(const ViewedSamples& base) const;
  void influence_of_block(std::span<const MatrixView<const float>> queries,
                          std::span<const std::size_t> left_out_of, std::size_t begin,
                          std::size_t end, MatrixView<double> out) const;

  std::size_t classes_;
  std::vector<std::string> views_;
  std::vector<std::size_t> dims_;   // of the views
  std::vector<std::string> means_;  // that members see, the views behind the others
  Influence influence_;
  std::vector<std::unique_ptr<Group>> groups_;
};

}  // namespace deepvoro
