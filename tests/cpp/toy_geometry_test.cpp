// A geometry of its own, in one file, on the way of the data: streamed over episodes and fitted.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <vector>

#include "deepvoro/ensemble/fitted.hpp"
#include "deepvoro/geometry/geometry.hpp"
#include "ensemble/engine.hpp"
#include "plain_reference.hpp"
#include "test_store.hpp"

namespace deepvoro {
namespace {

using test::random_split;
using test::Rows;
using test::SplitData;
using test::StoreData;

// Points are rows less the mean of all base rows, `factor` times as long; queries and centers are
// scaled differently in every element, by the size of the class too; distances are squared.
class ToySpace final : public Space {
 public:
  ToySpace(const BaseRows& base, double factor) : mean_(padded(base.dim)), factor_(factor) {
    std::vector<double> row(padded(base.dim));
    double count = 0;
    for (const auto& of_class : base.by_class)
      for (const std::size_t r : of_class) {
        base.read(r, row.data());
        for (std::size_t i = 0; i < base.dim; ++i) mean_[i] += row[i];
        ++count;
      }
    for (double& value : mean_) value /= count;
    dim_ = base.dim;
  }
  void map(MatrixView<const float> rows, const double* taken_off,
           MatrixView<float> points) const override {
    map_any(rows, taken_off, points);
  }
  void map(MatrixView<const double> rows, const double* taken_off,
           MatrixView<double> points) const override {
    map_any(rows, taken_off, points);
  }
  [[nodiscard]] Metric metric(std::size_t shots) const override {
    Metric metric{.offset = 1.0 / static_cast<double>(shots)};
    for (std::size_t i = 0; i < dim_; ++i) {
      metric.query_scale.push_back(1 + static_cast<double>(i % 3));
      metric.center_scale.push_back(0.5 + static_cast<double>(shots) / 4);
    }
    return metric;
  }
  [[nodiscard]] std::size_t bytes() const override { return mean_.size() * sizeof(double); }

 private:
  template <class Real>
  void map_any(MatrixView<const Real> rows, const double* taken_off,
               MatrixView<Real> points) const {
    for (std::size_t r = 0; r < rows.rows(); ++r)
      for (std::size_t i = 0; i < dim_; ++i)
        points.row(r)[i] = static_cast<Real>(
            factor_ * (static_cast<double>(rows.row(r)[i]) + taken_off[i] - mean_[i]));
  }

  std::size_t dim_ = 0;
  std::vector<double> mean_;
  double factor_;
};

template <class Real>
class Squared final : public GeometryDistances<Real> {
 public:
  Squared(std::size_t classes, std::size_t queries) : values_(classes, queries) {}
  MatrixView<const Real> of(const Geometry& /*member*/) override {
    const MatrixView<const Real> from = this->to_centers();
    for (std::size_t i = 0; i < from.rows() * from.stride(); ++i)
      values_.row(0)[i] = from.data()[i] * from.data()[i];
    return values_.view();
  }

 private:
  Matrix<Real> values_;
};

struct Toy {
  double factor = 1;

  static constexpr std::string_view kName = "toy";
  static constexpr std::array<Parameter, 1> kParameters{{{.name = "factor"}}};
  [[nodiscard]] std::array<double, 1> values() const { return {factor}; }
  bool operator==(const Toy&) const = default;
  [[nodiscard]] std::shared_ptr<const Space> space(const BaseRows& base) const {
    return std::make_shared<ToySpace>(base, factor);
  }
  template <class Real>
  [[nodiscard]] std::unique_ptr<GeometryDistances<Real>> make_distances(std::size_t classes,
                                                                        std::size_t queries,
                                                                        Real /*type*/) const {
    return std::make_unique<Squared<Real>>(classes, queries);
  }
};

constexpr const char* kView = "s84_r0_f1";

// The same for one class and one query, from raw rows.
double plain_toy(const SplitData& base, const std::vector<std::vector<float>>& support,
                 const std::vector<float>& query, double factor, double offset) {
  const auto unit = [](const std::vector<float>& row) {
    double squares = 0;
    for (const float x : row) squares += static_cast<double>(x) * static_cast<double>(x);
    std::vector<double> out;
    for (const float x : row) out.push_back(std::sqrt(static_cast<double>(x) / std::sqrt(squares)));
    return out;
  };
  std::vector<double> mean(query.size());
  const Rows& base_rows = base.views.at(kView);
  for (const auto& row : base_rows)
    for (std::size_t i = 0; i < mean.size(); ++i)
      mean[i] += unit(row)[i] / static_cast<double>(base_rows.size());
  const auto shots = static_cast<double>(support.size());
  double squared = offset;
  for (std::size_t i = 0; i < query.size(); ++i) {
    double center = 0;
    for (const auto& row : support) center += factor * (unit(row)[i] - mean[i]) / shots;
    const double point = factor * (unit(query)[i] - mean[i]);
    const double difference = (1 + static_cast<double>(i % 3)) * point - (0.5 + shots / 4) * center;
    squared += difference * difference;
  }
  return squared;
}

struct Rounding {
  std::size_t dim;
  double tolerance;
};
constexpr std::array kPrecisions{Rounding{5, 1e-11}, Rounding{70, 2e-5}, Rounding{140, 2e-5}};

StoreData data_of(std::size_t dim) {
  return {{"base", random_split({.classes = 4, .samples_per_class = 5, .dim = dim, .seed = 1})},
          {"novel", random_split({.classes = 7, .dim = dim, .seed = 2})}};
}

TEST(ToyGeometry, IsStreamedOverEpisodes) {
  for (const auto& [dim, tolerance] : kPrecisions)
    for (const std::size_t shots : {1U, 3U}) {
      const StoreData data = data_of(dim);
      const test::TemporaryFolder folder;
      test::write_store(folder.path(), data);
      const FeatureStore store(folder.path());
      const EpisodeShape shape{.ways = 4, .shots = shots, .queries = 3};
      const std::vector<std::size_t> labels = store.labels("novel");
      const EpisodeList episodes =
          draw_episodes(SamplePool{labels, store.split("novel").classes, "test"}, shape,
                        Protocol::deepvoro, 2, 0);
      const Pool pool{{kView, {.lambda = 0.5}, Voronoi{}},
                      {kView, {.lambda = 0.5}, Toy{.factor = 2}, 3},
                      {kView, {.lambda = 0.5}, Toy{.factor = 0.5}}};
      const Rows& rows = data.at("novel").views.at(kView);
      std::size_t seen = 0;
      stream_members({store, "novel", episodes, Influence(1), 1}, pool, {0, episodes.size()},
                     [&, tolerance = tolerance](std::size_t member, std::size_t e,
                                                std::span<const double> terms) {
                       const auto* toy = pool[member].geometry.as<Toy>();
                       if (toy == nullptr) return;
                       for (std::size_t k = 0; k < shape.ways; ++k) {
                         Rows support;
                         for (std::size_t s = 0; s < shots; ++s)
                           support.push_back(rows[episodes[e].support[k * shots + s]]);
                         for (std::size_t q = 0; q < shape.total_queries(); ++q) {
                           const double expected =
                               pool[member].weight * plain_toy(data.at("base"), support,
                                                               rows[episodes[e].query[q]],
                                                               toy->factor, 0);
                           ASSERT_NEAR(terms[q * shape.ways + k], expected, tolerance * expected);
                           ++seen;
                         }
                       }
                     });
      EXPECT_EQ(seen, 2 * episodes.size() * shape.total_queries() * shape.ways);
    }
}

TEST(ToyGeometry, IsFittedOnClassesOfAnySize) {
  for (const auto& [dim, tolerance] : kPrecisions)
    for (const bool equal : {true, false}) {
      const StoreData data = data_of(dim);
      const SplitData& novel = data.at("novel");
      const SplitData& base = data.at("base");
      const auto matrix_of = [dim = dim](const Rows& rows) {
        Matrix<float> matrix(rows.size(), dim);
        for (std::size_t r = 0; r < rows.size(); ++r) std::ranges::copy(rows[r], matrix.row(r));
        return matrix;
      };
      std::vector<Rows> by_class(3);
      for (std::size_t r = 0; r < novel.labels.size(); ++r)
        if (const auto label = static_cast<std::size_t>(novel.labels[r]); label < 3)
          by_class[label].push_back(novel.views.at(kView)[r]);
      Rows support;
      std::vector<std::size_t> labels;
      for (std::size_t k = 0; k < 3; ++k) {
        by_class[k].resize(equal ? 2 : k + 1);
        for (const auto& row : by_class[k]) {
          support.push_back(row);
          labels.push_back(k);
        }
      }
      const Matrix<float> support_rows = matrix_of(support);
      const Matrix<float> base_rows = matrix_of(base.views.at(kView));
      const std::vector<std::size_t> base_labels(base.labels.begin(), base.labels.end());
      const ViewedSamples viewed{{kView}, {support_rows.view()}, labels, 3};
      const ViewedSamples viewed_base{{kView}, {base_rows.view()}, base_labels, 4};
      const FittedEnsemble fitted({{kView, {.lambda = 0.5}, Toy{.factor = 2}, 1.5}}, viewed,
                                  &viewed_base, Influence(1));
      for (std::size_t q = 0; q < 10; ++q) {
        const auto& query = novel.views.at(kView)[novel.labels.size() - 1 - q];
        std::vector<double> influence(3);
        fitted.influence(std::vector<std::span<const float>>{query}, influence);
        for (std::size_t k = 0; k < 3; ++k) {
          const double offset = equal ? 0 : 1.0 / static_cast<double>(k + 1);
          const double expected = 1.5 * plain_toy(base, by_class[k], query, 2, offset);
          EXPECT_NEAR(influence[k], -expected, tolerance * expected);
        }
      }
    }
}

}  // namespace
}  // namespace deepvoro
