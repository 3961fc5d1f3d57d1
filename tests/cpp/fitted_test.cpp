#include "deepvoro/ensemble/fitted.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "expect_error.hpp"
#include "plain_reference.hpp"
#include "test_store.hpp"

namespace deepvoro {
namespace {

using test::expect_error;
using test::random_split;
using test::SplitData;
using test::StoreData;

constexpr std::size_t kDim = 70;
constexpr EpisodeShape kShape{.ways = 3, .shots = 2, .queries = 2};

// Samples of a split as the fitted ensemble takes them; owns the memory.
class Samples {
 public:
  Samples(const SplitData& split, std::span<const SampleIndex> rows,
          const std::vector<std::size_t>& labels, std::size_t classes)
      : labels_(labels) {
    for (const auto& [view, all] : split.views) {
      Matrix<float> matrix(rows.size(), kDim);
      for (std::size_t i = 0; i < rows.size(); ++i) std::ranges::copy(all[rows[i]], matrix.row(i));
      matrices_.push_back(std::move(matrix));
      viewed_.views.push_back(view);
    }
    for (const auto& matrix : matrices_) viewed_.rows.push_back(matrix.view());
    viewed_.labels = labels_;
    viewed_.classes = classes;
  }
  [[nodiscard]] const ViewedSamples& viewed() const { return viewed_; }

 private:
  std::vector<std::size_t> labels_;
  std::vector<Matrix<float>> matrices_;
  ViewedSamples viewed_;
};

StoreData store() {
  return {{"base", random_split({.classes = 9, .samples_per_class = 6, .dim = kDim, .seed = 1})},
          {"novel", random_split({.classes = 3, .dim = kDim, .seed = 2})}};
}

// Support: two rows of each class; queries: two others.
EpisodeList one_episode(const SplitData& novel) {
  EpisodeList episodes(kShape);
  for (std::int64_t way = 0; way < 3; ++way) {
    std::vector<SampleIndex> rows;
    for (SampleIndex r = 0; rows.size() < 4; ++r)
      if (novel.labels[r] == way) rows.push_back(r);
    episodes.append_way(rows);
  }
  return episodes;
}

Samples all_of_base(const SplitData& base) {
  std::vector<SampleIndex> rows(base.labels.size());
  std::iota(rows.begin(), rows.end(), SampleIndex{0});
  return {base, rows, {base.labels.begin(), base.labels.end()}, base.classes.size()};
}

Pool pool() {
  return {{"s84_r0_f0", {.lambda = 0.5}, Voronoi{}},
          {"s84_r0_f1", {.b = 0.04, .lambda = 0}, Surrogate{.R = 2, .beta = 5.5}},
          {"s84_r0_f1", {.b = 0.04, .lambda = 0}, Surrogate{.R = 1, .beta = 7, .gamma = 0.5}},
          {"s84_r0_f0", {.lambda = 1.3}, Voronoi{}},
          {"s84_r0_f1", {.b = 0.04, .lambda = 0}, Voronoi{}}};
}

TEST(FittedEnsemble, AddsUpTheTermsOfItsMembers) {
  const StoreData data = store();
  const SplitData& novel = data.at("novel");
  const EpisodeList episodes = one_episode(novel);
  const Samples support(novel, episodes[0].support, {0, 0, 1, 1, 2, 2}, 3);
  const Samples base = all_of_base(data.at("base"));
  for (const double alpha : {1.0, 2.0, -1.0, 0.7}) {
    const FittedEnsemble fitted(pool(), support.viewed(), &base.viewed(), Influence(alpha));
    std::vector<double> expected(kShape.total_queries() * kShape.ways);
    for (const Member& member : pool()) {
      const auto terms = test::plain_terms(data, "novel", member, episodes[0], kShape, alpha);
      for (std::size_t i = 0; i < terms.size(); ++i) expected[i] += terms[i];
    }
    for (std::size_t q = 0; q < kShape.total_queries(); ++q) {
      std::vector<std::span<const float>> query;
      for (const auto& [view, rows] : novel.views) query.emplace_back(rows[episodes[0].query[q]]);
      std::vector<double> influence(3);
      fitted.influence(query, influence);
      for (std::size_t k = 0; k < 3; ++k) {
        const double wanted = (alpha > 0 ? -1 : 1) * expected[q * 3 + k];
        EXPECT_NEAR(influence[k], wanted, 1e-5 * std::abs(wanted)) << "alpha " << alpha;
      }
    }
  }
}

// The norms of queries are those of the view that a member sees, whatever order views come in.
TEST(FittedEnsemble, TakesMembersInAnotherOrderThanTheViewsOfTheSupport) {
  StoreData data = store();
  SplitData& novel = data.at("novel");
  for (auto& row : novel.views.at("s84_r0_f1"))
    for (float& x : row) x *= 10;  // so that views differ in norm
  const EpisodeList episodes = one_episode(novel);
  const Samples support(novel, episodes[0].support, {0, 0, 1, 1, 2, 2}, 3);
  const Transform root{.lambda = 0.5};
  const Pool pools[] = {{{"s84_r0_f0", root, Voronoi{}}, {"s84_r0_f1", root, Voronoi{}}},
                        {{"s84_r0_f1", root, Voronoi{}}, {"s84_r0_f0", root, Voronoi{}}}};
  for (const Pool& members : pools) {
    const FittedEnsemble fitted(members, support.viewed(), nullptr, Influence(1));
    for (std::size_t q = 0; q < kShape.total_queries(); ++q) {
      std::vector<std::span<const float>> query;
      for (const auto& [view, rows] : novel.views) query.emplace_back(rows[episodes[0].query[q]]);
      std::vector<double> influence(3);
      fitted.influence(query, influence);
      for (std::size_t k = 0; k < 3; ++k) {
        double wanted = 0;
        for (const Member& member : members)
          wanted -= test::plain_terms(data, "novel", member, episodes[0], kShape, 1)[q * 3 + k];
        EXPECT_NEAR(influence[k], wanted, 1e-5 * std::abs(wanted)) << members[0].view << " first";
      }
    }
  }
}

// Many classes go another way, by products; some queries are support samples, which lie on their
// prototypes.
TEST(FittedEnsemble, ManyQueriesOfManyClassesAreThoseOfDifferences) {
  constexpr std::size_t classes = 23;
  constexpr std::size_t queries = 70;
  const SplitData split =
      random_split({.classes = classes, .samples_per_class = 4, .dim = kDim, .seed = 3});
  std::vector<SampleIndex> support_rows;
  std::vector<std::size_t> labels;
  for (std::size_t k = 0; k < classes; ++k)
    for (SampleIndex r = 0; r < split.labels.size(); ++r)
      if (split.labels[r] == static_cast<std::int64_t>(k)) {
        support_rows.push_back(r);
        labels.push_back(k);
        break;
      }
  std::vector<SampleIndex> query_rows(queries);
  std::iota(query_rows.begin(), query_rows.end(), SampleIndex{0});
  const Samples support(split, support_rows, labels, classes);
  const Samples asked(split, query_rows, std::vector<std::size_t>(queries), 1);
  for (const Transform& transform : eight_transforms(0.02)) {
    const FittedEnsemble fitted({{"s84_r0_f1", transform, Voronoi{}}}, support.viewed(), nullptr,
                                Influence(1));
    Matrix<double> together(queries, classes);
    fitted.influence(asked.viewed().rows, together.view(), 3);
    const auto transformed = [&](std::span<const float> row) {
      double squares = 0;
      for (const float x : row) squares += static_cast<double>(x) * static_cast<double>(x);
      std::vector<double> out;
      for (const float x : row) {
        const double y = static_cast<double>(x) / std::sqrt(squares) + transform.b;
        out.push_back(transform.lambda == 0 ? std::log(y) : std::pow(y, transform.lambda));
      }
      return out;
    };
    for (std::size_t q = 0; q < queries; ++q) {
      std::vector<double> alone(classes);
      const auto& views = asked.viewed().rows;
      fitted.influence(std::vector<std::span<const float>>{views[0][q], views[1][q]}, alone);
      const auto point = transformed(views[1][q]);
      for (std::size_t k = 0; k < classes; ++k) {
        EXPECT_EQ(together.row(q)[k], alone[k]);
        const auto center = transformed(support.viewed().rows[1][k]);
        double squared = 0;
        for (std::size_t i = 0; i < kDim; ++i)
          squared += (point[i] - center[i]) * (point[i] - center[i]);
        EXPECT_NEAR(alone[k], -std::sqrt(squared), 1e-5 * std::sqrt(squared));
      }
    }
  }
}

TEST(FittedEnsemble, SaysWhatIsMissing) {
  const StoreData data = store();
  const EpisodeList episodes = one_episode(data.at("novel"));
  const Samples support(data.at("novel"), episodes[0].support, {0, 0, 1, 1, 2, 2}, 3);
  const Influence influence(1);
  expect_error(ErrorKind::usage, {"no members"},
               [&] { FittedEnsemble({}, support.viewed(), nullptr, influence); });
  expect_error(ErrorKind::data, {"base"},
               [&] { FittedEnsemble(pool(), support.viewed(), nullptr, influence); });
  expect_error(ErrorKind::data, {"no features of view 'other'"}, [&] {
    FittedEnsemble({{"other", {}, Voronoi{}}}, support.viewed(), nullptr, influence);
  });
  const Samples unlabelled(data.at("novel"), episodes[0].support, {0, 0, 1, 1, 1, 1}, 3);
  expect_error(ErrorKind::data, {"class 2 has no samples"}, [&] {
    FittedEnsemble({{"s84_r0_f0", {}, Voronoi{}}}, unlabelled.viewed(), nullptr, influence);
  });
  const FittedEnsemble fitted({{"s84_r0_f0", {}, Voronoi{}}}, support.viewed(), nullptr, influence);
  std::vector<double> out(3);
  expect_error(ErrorKind::usage, {"every view"}, [&] { fitted.influence({}, out); });
}

// Classes of 3, 1 and 4 samples; each is left out by fitting the others.
TEST(FittedEnsemble, LeavesASampleOutAsIfItHadNeverBeenThere) {
  const StoreData data = store();
  const Samples base = all_of_base(data.at("base"));
  const std::vector<std::size_t> labels{0, 0, 0, 1, 2, 2, 2, 2};
  std::vector<SampleIndex> rows;
  std::vector<SampleIndex> next(3);  // of each class
  for (const std::size_t label : labels) {
    while (data.at("novel").labels.at(next[label]) != static_cast<std::int64_t>(label))
      ++next[label];
    rows.push_back(next[label]++);
  }
  const Pool members{{"s84_r0_f0", {.lambda = 0.5}, Plda{}},
                     {"mean", {.lambda = 1}, Plda{0.7, 0.2, 2}, 1.5},
                     {"s84_r0_f1", {.lambda = 0.5}, Voronoi{}}};
  const Samples support(data.at("novel"), rows, labels, 3);
  const FittedEnsemble whole(members, support.viewed(), &base.viewed(), Influence(1));
  Matrix<double> without(labels.size(), 3);
  whole.influence_without(support.viewed().rows, labels, without.view(), 2);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    std::vector<SampleIndex> other_rows(rows);
    std::vector<std::size_t> other_labels(labels);
    if (labels[i] != 1) {  // the only one of its class stays
      other_rows.erase(other_rows.begin() + static_cast<std::ptrdiff_t>(i));
      other_labels.erase(other_labels.begin() + static_cast<std::ptrdiff_t>(i));
    }
    const Samples others(data.at("novel"), other_rows, other_labels, 3);
    const FittedEnsemble fitted(members, others.viewed(), &base.viewed(), Influence(1));
    std::vector<std::span<const float>> query;
    for (const auto& view : support.viewed().rows) query.push_back(view[i]);
    std::vector<double> expected(3);
    fitted.influence(query, expected);
    for (std::size_t k = 0; k < 3; ++k)
      EXPECT_NEAR(without.row(i)[k], expected[k], 2e-5 * std::abs(expected[k])) << i << ", " << k;
  }
}

}  // namespace
}  // namespace deepvoro
