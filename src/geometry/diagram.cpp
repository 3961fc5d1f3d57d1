#include "deepvoro/geometry/diagram.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "deepvoro/core/error.hpp"
#include "deepvoro/kernels/kernels.hpp"

namespace deepvoro {
namespace {

Matrix<double> copy_of(MatrixView<const double> points) {
  if (points.rows() == 0 || points.cols() == 0)
    throw usage_error("a diagram needs at least one center of at least one dimension");
  Matrix<double> copy(points.rows(), points.cols());
  for (std::size_t r = 0; r < points.rows(); ++r) std::ranges::copy(points[r], copy.row(r));
  return copy;
}

std::vector<Matrix<double>> copies_of(std::span<const MatrixView<const double>> all) {
  if (all.empty()) throw usage_error("a diagram of clusters needs at least one cluster");
  std::vector<Matrix<double>> copies;
  for (const MatrixView<const double>& points : all) copies.push_back(copy_of(points));
  return copies;
}

void check_room(std::span<const double> out, std::size_t cells) {
  if (out.size() != cells)
    throw usage_error(fmt::format("room for {} influences was given, the diagram has {} cells",
                                  out.size(), cells));
}

void squared_distances(const Matrix<double>& centers, Point query, std::span<double> out) {
  if (query.size() != centers.cols())
    throw usage_error(
        fmt::format("the query has {} dimensions, the diagram {}", query.size(), centers.cols()));
  check_room(out, centers.rows());
  Matrix<double> padded_query(1, query.size());
  std::ranges::copy(query, padded_query.row(0));
  kernels::active().squared_distances_double(padded_query.row(0), centers.row(0), centers.stride(),
                                             centers.rows(), centers.stride(), out.data());
}

void distances(const Matrix<double>& centers, Point query, std::span<double> out) {
  squared_distances(centers, query, out);
  for (double& value : out) value = std::sqrt(value);
}

}  // namespace

VoronoiDiagram::VoronoiDiagram(MatrixView<const double> centers) : centers_(copy_of(centers)) {}

void VoronoiDiagram::influence(Point query, std::span<double> out) const {
  distances(centers_, query, out);
  for (double& value : out) value = -value;
}

PowerDiagram::PowerDiagram(MatrixView<const double> centers, std::span<const double> weights)
    : centers_(copy_of(centers)), weights_(weights.begin(), weights.end()) {
  if (weights.size() != centers.rows())
    throw usage_error(fmt::format("a power diagram of {} centers was given {} weights",
                                  centers.rows(), weights.size()));
}

PowerDiagram PowerDiagram::of_linear_classifier(MatrixView<const double> W,
                                                std::span<const double> b) {
  Matrix<double> centers = copy_of(W);
  if (b.size() != W.rows())
    throw usage_error(
        fmt::format("a linear classifier of {} rows was given {} biases", W.rows(), b.size()));
  std::vector<double> weights(b.begin(), b.end());
  for (std::size_t k = 0; k < W.rows(); ++k) {
    double squared_norm = 0;
    for (std::size_t i = 0; i < W.cols(); ++i) {
      squared_norm += W[k][i] * W[k][i];
      centers.row(k)[i] = W[k][i] / 2;
    }
    weights[k] += squared_norm / 4;
  }
  return {centers.view(), weights};
}

LinearClassifier PowerDiagram::to_linear_classifier() const {
  LinearClassifier linear{Matrix<double>(cells(), centers_.cols()), weights_};
  for (std::size_t k = 0; k < cells(); ++k)
    for (std::size_t i = 0; i < centers_.cols(); ++i) {
      const double c = centers_.row(k)[i];
      linear.W.row(k)[i] = 2 * c;
      linear.b[k] -= c * c;
    }
  return linear;
}

void PowerDiagram::influence(Point query, std::span<double> out) const {
  squared_distances(centers_, query, out);
  for (std::size_t k = 0; k < cells(); ++k) out[k] = weights_[k] - out[k];
}

ClusterInducedDiagram::ClusterInducedDiagram(std::span<const MatrixView<const double>> clusters,
                                             Influence influence)
    : clusters_(copies_of(clusters)), influence_(influence) {}

void ClusterInducedDiagram::influence(Point query, std::span<double> out) const {
  check_room(out, cells());
  std::vector<double> terms;
  for (std::size_t k = 0; k < cells(); ++k) {
    terms.resize(clusters_[k].rows());
    distances(clusters_[k], query, terms);
    influence_.to_terms(terms);
    double sum = 0;
    for (const double term : terms) sum += term;
    out[k] = influence_.sign() * sum;
  }
}

ClusterToClusterDiagram::ClusterToClusterDiagram(std::span<const MatrixView<const double>> members,
                                                 Influence influence)
    : members_(copies_of(members)), influence_(influence) {
  for (const Matrix<double>& centers : members_)
    if (centers.rows() != cells())
      throw usage_error("every member of a diagram must have a center for each cell");
}

void ClusterToClusterDiagram::influence(std::span<const Point> query, std::span<double> out) const {
  if (query.size() != members_.size())
    throw usage_error(fmt::format("the query has {} points, the diagram {} members", query.size(),
                                  members_.size()));
  check_room(out, cells());
  std::ranges::fill(out, 0.0);
  std::vector<double> terms(cells());
  for (std::size_t i = 0; i < members_.size(); ++i) {
    distances(members_[i], query[i], terms);
    influence_.to_terms(terms);
    for (std::size_t k = 0; k < cells(); ++k) out[k] += terms[k];
  }
  for (double& value : out) value *= influence_.sign();
}

}  // namespace deepvoro
