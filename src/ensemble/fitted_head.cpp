#include "deepvoro/ensemble/fitted_head.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

#include "deepvoro/core/error.hpp"
#include "deepvoro/core/parallel.hpp"
#include "ensemble/head_evaluation.hpp"
#include "heads/logistic.hpp"
#include "heads/nearest_mean.hpp"
#include "heads/preparation.hpp"

namespace deepvoro {
namespace {

std::variant<NearestMean, LogisticHead> head_of(const HeadConfiguration& configuration) {
  switch (configuration.method) {
    case Method::power_lr:
    case Method::voronoi_lr:
      return LogisticHead(logistic_of(configuration));
    case Method::simpleshot:
    case Method::pt_ncm:
      return NearestMean();
    default:
      break;
  }
  throw usage_error(
      fmt::format("method {} cannot be fitted on rows in memory", name(configuration.method)));
}

// Where each class begins when rows are put class by class, and the end.
std::vector<std::size_t> class_begins(std::span<const std::size_t> labels, std::size_t classes) {
  std::vector<std::size_t> begins(classes + 1);
  for (const std::size_t label : labels) {
    if (label >= classes) throw usage_error("a label is beyond the number of classes");
    ++begins[label + 1];
  }
  for (std::size_t k = 0; k < classes; ++k) {
    if (begins[k + 1] == 0) throw data_error(fmt::format("class {} has no samples", k));
    begins[k + 1] += begins[k];
  }
  return begins;
}

}  // namespace

struct FittedHead::State {
  Preparation preparation;
  std::size_t dim;
  std::size_t classes;
  std::variant<NearestMean, LogisticHead> head;

  void prepare(std::span<const float> from, std::size_t number, double* to) const {
    const auto* bytes = reinterpret_cast<const std::byte*>(from.data());
    const double norm = widen(ElementType::float32, bytes, dim, to);
    if (!std::isfinite(norm))
      throw data_error(
          fmt::format("row {}: a feature is not finite; remove or repair this row", number));
    if (prepare_row(preparation, norm, dim, to) == kernels::RowStatus::ok) return;
    widen(ElementType::float32, bytes, dim, to);
    throw refused_row(preparation, fmt::format("row {}", number), {to, dim});
  }
};

FittedHead::FittedHead(const HeadConfiguration& configuration, MatrixView<const float> rows,
                       std::span<const std::size_t> labels, std::size_t classes,
                       std::vector<double> base_mean) {
  State state{preparation_of(configuration, std::move(base_mean)), rows.cols(), classes,
              head_of(configuration)};
  const std::vector<double>& origin = state.preparation.origin;
  if (rows.rows() != labels.size() || classes == 0 || state.dim == 0)
    throw usage_error("a head needs at least one class, and a label for each row");
  if (!origin.empty() && origin.size() != state.dim)
    throw usage_error(fmt::format("the mean of the base rows has {} elements, but rows have {}",
                                  origin.size(), state.dim));
  const std::vector<std::size_t> begins = class_begins(labels, classes);
  std::vector<std::size_t> next(begins.begin(), begins.end() - 1);
  Matrix<double> prepared(rows.rows(), state.dim);
  for (std::size_t r = 0; r < rows.rows(); ++r)
    state.prepare(rows[r], r, prepared.row(next[labels[r]]++));
  Support support{.rows = prepared.view(), .ways = classes, .begins = begins};
  for (std::size_t k = 0; k < classes; ++k)
    support.shots = std::max(support.shots, support.size(k));
  std::visit([&](auto& head) { head.fit(support); }, state.head);
  state_ = std::make_shared<const State>(std::move(state));
}

std::size_t FittedHead::classes() const {
  return state_->classes;
}

void FittedHead::influence(MatrixView<const float> queries, unsigned threads,
                           MatrixView<double> out) const {
  if (queries.cols() != state_->dim || out.rows() != queries.rows() ||
      out.cols() != state_->classes)
    throw usage_error("queries need as many features as the support, and room for their scores");
  constexpr std::size_t grain = 16;
  parallel_for(threads, queries.rows(), grain, [&](std::size_t begin, std::size_t end, unsigned) {
    Matrix<double> prepared(1, state_->dim);
    for (std::size_t q = begin; q < end; ++q) {
      state_->prepare(queries[q], q, prepared.row(0));
      std::visit([&](const auto& head) { head.influence(prepared.row(0), out[q]); }, state_->head);
    }
  });
}

std::optional<FittedHead::Weights> FittedHead::weights() const {
  const auto* logistic = std::get_if<LogisticHead>(&state_->head);
  if (logistic == nullptr) return std::nullopt;
  return Weights{logistic->weights(), logistic->biases()};
}

}  // namespace deepvoro
