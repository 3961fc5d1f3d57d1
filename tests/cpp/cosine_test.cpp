#include "heads/cosine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include "core/random.hpp"
#include "head_tasks.hpp"

namespace deepvoro {
namespace {

using test::influence_of;
using test::unit_rows;

// Training of the vectors themselves, as PyTorch does it.
class PlainCosine {
 public:
  PlainCosine(const Support& support, std::size_t epochs)
      : support_(support), random_(support.stream) {
    const std::size_t dim = support.rows.cols();
    const double reach = 1 / std::sqrt(static_cast<double>(dim));
    v_.resize(support.ways, std::vector<double>(dim));
    for (auto& of_way : v_) {
      for (double& x : of_way) x = random_.uniform(-reach, reach);
      g_.push_back(norm(of_way));
    }
    for (std::size_t epoch = 0; epoch < epochs; ++epoch) {
      const auto order = random_.permutation(support.rows.rows());
      for (std::size_t begin = 0; begin < order.size(); begin += 4)
        step(std::span(order).subspan(begin, std::min<std::size_t>(4, order.size() - begin)));
    }
  }

  [[nodiscard]] double logit(std::size_t k, std::span<const double> x) const {
    return 2 * g_[k] / norm(v_[k]) * std::inner_product(x.begin(), x.end(), v_[k].begin(), 0.0);
  }

 private:
  static double norm(const std::vector<double>& v) {
    return std::sqrt(std::inner_product(v.begin(), v.end(), v.begin(), 0.0));
  }

  void step(std::span<const std::size_t> batch) {
    const std::size_t dim = v_.front().size();
    std::vector<std::vector<double>> G(v_.size(), std::vector<double>(dim));  // dL/dw
    for (const std::size_t i : batch) {
      std::vector<double> p;
      for (std::size_t k = 0; k < v_.size(); ++k) p.push_back(std::exp(logit(k, support_.rows[i])));
      const double total = std::accumulate(p.begin(), p.end(), 0.0);
      for (std::size_t k = 0; k < v_.size(); ++k)
        for (std::size_t d = 0; d < dim; ++d)
          G[k][d] += 2 * (p[k] / total - (support_.label(i) == k ? 1 : 0)) /
                     static_cast<double>(batch.size()) * support_.rows[i][d];
    }
    const bool is_first = v_momentum_.empty();
    v_momentum_.resize(v_.size(), std::vector<double>(dim));
    g_momentum_.resize(v_.size());
    const double keep = is_first ? 0 : 0.9;
    const double take = is_first ? 1 : 0.1;
    for (std::size_t k = 0; k < v_.size(); ++k) {
      const double length = norm(v_[k]);
      const double G_v = std::inner_product(G[k].begin(), G[k].end(), v_[k].begin(), 0.0);
      for (std::size_t d = 0; d < dim; ++d) {
        const double gradient =
            g_[k] / length * (G[k][d] - G_v / (length * length) * v_[k][d]) + 0.001 * v_[k][d];
        v_momentum_[k][d] = keep * v_momentum_[k][d] + take * gradient;
      }
      g_momentum_[k] = keep * g_momentum_[k] + take * (G_v / length + 0.001 * g_[k]);
      for (std::size_t d = 0; d < dim; ++d) v_[k][d] -= 0.01 * v_momentum_[k][d];
      g_[k] -= 0.01 * g_momentum_[k];
    }
  }

  const Support& support_;
  LegacyRandom random_;
  std::vector<std::vector<double>> v_, v_momentum_;
  std::vector<double> g_, g_momentum_;
};

TEST(CosineHead, OnDotProductsIsTheSameAsOnVectors) {
  for (const std::size_t shots : {1U, 3U}) {
    const Matrix<double> rows = unit_rows(5 * shots, 40, 8);
    const Support support{.rows = rows.view(), .ways = 5, .shots = shots, .stream = 9};
    CosineHead head;
    head.fit(support);
    const PlainCosine plain(support, 300);
    const Matrix<double> queries = unit_rows(10, 40, 10);
    for (std::size_t q = 0; q < queries.rows(); ++q) {
      const auto logits = influence_of(head, queries.row(q), 5);
      for (std::size_t k = 0; k < 5; ++k)
        EXPECT_NEAR(logits[k], plain.logit(k, queries.view()[q]), 1e-10);
    }
  }
}

TEST(CosineHead, ZeroRowsAndMoreRowsThanDimensionsAreFine) {
  Matrix<double> rows = unit_rows(12, 5, 8);
  std::fill_n(rows.row(3), 5, 0.0);
  const Support support{.rows = rows.view(), .ways = 3, .shots = 4};
  CosineHead head({.epochs = 20});
  head.fit(support);
  const PlainCosine plain(support, 20);
  const auto logits = influence_of(head, rows.row(0), 3);
  for (std::size_t k = 0; k < 3; ++k) EXPECT_NEAR(logits[k], plain.logit(k, rows.view()[0]), 1e-10);
}

}  // namespace
}  // namespace deepvoro
