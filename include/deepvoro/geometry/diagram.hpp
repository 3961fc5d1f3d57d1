#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <vector>

#include "deepvoro/core/matrix.hpp"
#include "deepvoro/geometry/influence.hpp"

namespace deepvoro {

// A diagram divides space into cells, one a class. Requirements of the concept:
//   diagram.cells()               number of cells, at least 1
//   diagram.influence(query, out) out[k] = influence of cell k on the query; larger is nearer
// A query belongs to the cell of the largest influence, ties to the smallest index: assign().
// Models: VoronoiDiagram, PowerDiagram, ClusterInducedDiagram for points; ClusterToClusterDiagram
// for clusters of points. All own their centers and are safe to share between threads.
template <class T, class Query>
concept Diagram = requires(const T& diagram, const Query& query, std::span<double> out) {
  { diagram.cells() } -> std::convertible_to<std::size_t>;
  diagram.influence(query, out);
};

using Point = std::span<const double>;

template <class Query, Diagram<Query> D>
[[nodiscard]] std::size_t assign(const D& diagram, const Query& query) {
  std::vector<double> influence(diagram.cells());
  diagram.influence(query, influence);
  return cell_of(influence);
}

// Nearest center by Euclidean distance d. Influence: -d.
class VoronoiDiagram {
 public:
  explicit VoronoiDiagram(MatrixView<const double> centers);
  [[nodiscard]] std::size_t cells() const { return centers_.rows(); }
  void influence(Point query, std::span<double> out) const;

 private:
  Matrix<double> centers_;
};

// argmax_k W_k.z + b_k.
struct LinearClassifier {
  Matrix<double> W;
  std::vector<double> b;
};

// Smallest d^2 - weight. Influence: weight - d^2. With equal weights the cells are those of the
// Voronoi diagram.
class PowerDiagram {
 public:
  PowerDiagram(MatrixView<const double> centers, std::span<const double> weights);
  // The diagram whose cells are those of argmax_k W_k.z + b_k: centers W_k/2, weights
  // b_k + |W_k|^2/4.
  static PowerDiagram of_linear_classifier(MatrixView<const double> W, std::span<const double> b);
  // The classifier of which this is the diagram: W_k = 2 c_k, b_k = weight_k - |c_k|^2.
  [[nodiscard]] LinearClassifier to_linear_classifier() const;

  [[nodiscard]] std::size_t cells() const { return centers_.rows(); }
  [[nodiscard]] MatrixView<const double> centers() const { return centers_.view(); }
  [[nodiscard]] std::span<const double> weights() const { return weights_; }
  void influence(Point query, std::span<double> out) const;

 private:
  Matrix<double> centers_;
  std::vector<double> weights_;
};

// Each cell has a cluster of centers, all of which act on the query (CIVD).
class ClusterInducedDiagram {
 public:
  ClusterInducedDiagram(std::span<const MatrixView<const double>> clusters, Influence influence);
  [[nodiscard]] std::size_t cells() const { return clusters_.size(); }
  void influence(Point query, std::span<double> out) const;

 private:
  std::vector<Matrix<double>> clusters_;
  Influence influence_;
};

// Cells and queries are clusters of L points each, one a member; the i-th center of a cell acts on
// the i-th point of the query (CCVD). Members may live in spaces of different dimension.
class ClusterToClusterDiagram {
 public:
  // members[i]: the i-th center of every cell, a row each.
  ClusterToClusterDiagram(std::span<const MatrixView<const double>> members, Influence influence);
  [[nodiscard]] std::size_t cells() const { return members_.front().rows(); }
  void influence(std::span<const Point> query, std::span<double> out) const;

 private:
  std::vector<Matrix<double>> members_;
  Influence influence_;
};

}  // namespace deepvoro
