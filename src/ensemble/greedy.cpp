#include "ensemble/greedy.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <utility>

#include "core/matrix.hpp"
#include "deepvoro/core/parallel.hpp"
#include "ensemble/influence_field.hpp"
#include "ensemble/selection.hpp"

namespace deepvoro {
namespace {

// Terms of one member in one episode, [ways x queries], of unit mean before the power of alpha.
using Terms = std::span<const float>;
using TermsVisitor = std::function<void(std::size_t member, std::size_t episode, Terms terms)>;

// The terms of all members in all episodes. Members are numbered as they are streamed.
class MemberTerms {
 public:
  MemberTerms(const EpisodeSetting& setting, Pool members, std::size_t most_kept_bytes,
              const Progress& progress)
      : setting_(setting),
        influence_(setting.influence),
        members_(std::move(members)),
        values_(InfluenceField::values_per_episode(setting.episodes.shape())),
        kept_(std::min(members_.size(),
                       most_kept_bytes / (setting.episodes.size() * values_ * sizeof(float)))),
        kept_terms_(kept_ * setting.episodes.size() * values_),
        scales_(members_.size()) {
    setting_.influence = Influence(1);
    measure(progress);
  }

  [[nodiscard]] std::size_t size() const { return members_.size(); }
  [[nodiscard]] double mean_distance(std::size_t member) const { return 1 / scales_[member]; }

  // For each episode members may come in any order, from several threads.
  void visit_all(const TermsVisitor& visit) const {
    parallel_for(setting_.threads, setting_.episodes.size(), 1,
                 [&](std::size_t episode, std::size_t, unsigned) {
                   for (std::size_t m = 0; m < kept_; ++m) visit(m, episode, kept(m, episode));
                 });
    if (kept_ < members_.size())
      stream(kept_, Pool(members_.begin() + static_cast<std::ptrdiff_t>(kept_), members_.end()),
             visit);
  }

  void visit_one(std::size_t member, const TermsVisitor& visit) const {
    if (member >= kept_) return stream(member, {members_[member]}, visit);
    for (std::size_t e = 0; e < setting_.episodes.size(); ++e) visit(member, e, kept(member, e));
  }

 private:
  [[nodiscard]] Terms kept(std::size_t member, std::size_t episode) const {
    return Terms(kept_terms_)
        .subspan((member * setting_.episodes.size() + episode) * values_, values_);
  }

  void measure(const Progress& progress) {
    const std::size_t episodes = setting_.episodes.size();
    std::vector<double> sums(members_.size() * episodes);
    stream_members(
        setting_, members_, {0, episodes},
        [&](std::size_t member, std::size_t episode, std::span<const double> distances) {
          const std::size_t place = member * episodes + episode;
          sums[place] = std::accumulate(distances.begin(), distances.end(), 0.0);
          if (member < kept_) transpose(distances, &kept_terms_[place * values_]);
        },
        progress);
    for (std::size_t m = 0; m < members_.size(); ++m) {
      const auto* of_member = &sums[m * episodes];
      const double mean = std::accumulate(of_member, of_member + episodes, 0.0) /
                          static_cast<double>(episodes * values_);
      scales_[m] = mean > 0 ? 1 / mean : 1;
    }
    parallel_for(setting_.threads, kept_ * episodes, episodes,
                 [&](std::size_t begin, std::size_t end, unsigned) {
                   to_terms(
                       begin / episodes,
                       std::span(kept_terms_).subspan(begin * values_, (end - begin) * values_));
                 });
  }

  void stream(std::size_t first, const Pool& members, const TermsVisitor& visit) const {
    stream_members(setting_, members, {0, setting_.episodes.size()},
                   [&](std::size_t member, std::size_t episode, std::span<const double> distances) {
                     thread_local std::vector<float> terms;
                     terms.resize(values_);
                     transpose(distances, terms.data());
                     to_terms(first + member, terms);
                     visit(first + member, episode, terms);
                   });
  }

  // [queries x ways] to [ways x queries]
  void transpose(std::span<const double> distances, float* out) const {
    const std::size_t ways = setting_.episodes.shape().ways;
    const std::size_t queries = values_ / ways;
    for (std::size_t k = 0; k < ways; ++k)
      for (std::size_t q = 0; q < queries; ++q)
        out[k * queries + q] = static_cast<float>(distances[q * ways + k]);
  }

  void to_terms(std::size_t member, std::span<float> distances) const {
    std::vector<double> wide(distances.begin(), distances.end());
    for (double& value : wide) value *= scales_[member];
    if (influence_.alpha() != 1) influence_.to_terms(wide);
    std::ranges::transform(wide, distances.begin(),
                           [](double value) { return static_cast<float>(value); });
  }

  EpisodeSetting setting_;  // of plain distances
  Influence influence_;
  Pool members_;
  std::size_t values_;  // of a member in an episode
  std::size_t kept_;    // so many members from the first on
  std::vector<float> kept_terms_;
  std::vector<double> scales_;
};

// The sums of the members chosen so far, and what each further one would make of them.
class GrowingSums {
 public:
  explicit GrowingSums(const EpisodeSetting& setting)
      : shape_(setting.episodes.shape()),
        influence_(setting.influence),
        field_(setting.episodes.size(), shape_, influence_) {}

  // Of all queries, with each member added by itself.
  [[nodiscard]] std::vector<std::uint64_t> correct_with_each(const MemberTerms& terms) {
    // Sums of whole numbers do not depend on the order in which threads add to them.
    std::vector<std::atomic<std::uint64_t>> correct(terms.size());
    terms.visit_all([&](std::size_t member, std::size_t episode, Terms of_episode) {
      thread_local Matrix<double> sums;
      if (sums.rows() != shape_.ways || sums.cols() != shape_.total_queries())
        sums = Matrix<double>(shape_.ways, shape_.total_queries());
      const MatrixView<double> so_far = field_.sums(episode);
      for (std::size_t k = 0; k < shape_.ways; ++k)
        for (std::size_t q = 0; q < sums.cols(); ++q)
          sums.row(k)[q] = so_far[k][q] + static_cast<double>(of_episode[k * sums.cols() + q]);
      correct[member].fetch_add(
          correct_queries(MatrixView<const double>(sums.view()), shape_, influence_),
          std::memory_order_relaxed);
    });
    return {correct.begin(), correct.end()};
  }

  void add(const MemberTerms& terms, std::size_t member) {
    terms.visit_one(member, [&](std::size_t, std::size_t episode, Terms of_episode) {
      const MatrixView<double> sums = field_.sums(episode);
      for (std::size_t k = 0; k < shape_.ways; ++k)
        for (std::size_t q = 0; q < sums.cols(); ++q)
          sums[k][q] += static_cast<double>(of_episode[k * sums.cols() + q]);
    });
  }

 private:
  EpisodeShape shape_;
  Influence influence_;
  InfluenceField field_;
};

}  // namespace

GreedyEnsemble GreedyEnsemble::measure(const FeatureStore& store, const Pool& pool,
                                       const EpisodePlan& plan, Influence influence,
                                       unsigned threads, const Progress& progress,
                                       SpaceCache* spaces, std::size_t most_kept_bytes) {
  const EpisodeList episodes = draw_validation_episodes(store, plan, "greedy");
  const EpisodeSetting setting{store, "val", episodes, influence, threads, spaces};
  const std::vector<std::size_t> order = streaming_order(pool);
  const MemberTerms terms(setting, picked(pool, order), most_kept_bytes, part_of(progress, 0, 2));
  std::vector<std::size_t> streamed_as(pool.size());
  for (std::size_t i = 0; i < order.size(); ++i) streamed_as[order[i]] = i;

  GrowingSums sums(setting);
  std::vector<std::size_t> chosen;
  std::uint64_t best = 0;
  std::size_t best_steps = 0;
  for (std::size_t step = 0; step < kMostSteps; ++step) {
    const std::vector<std::uint64_t> correct = sums.correct_with_each(terms);
    std::size_t choice = 0;  // the first in the pool among equals
    for (std::size_t m = 1; m < pool.size(); ++m)
      if (correct[streamed_as[m]] > correct[streamed_as[choice]]) choice = m;
    chosen.push_back(choice);
    if (correct[streamed_as[choice]] > best || best_steps == 0) {
      best = correct[streamed_as[choice]];
      best_steps = chosen.size();
    }
    sums.add(terms, streamed_as[choice]);
    if (progress) part_of(progress, 1, 2)(static_cast<double>(step + 1) / kMostSteps);
  }
  chosen.resize(best_steps);

  GreedyEnsemble ensemble;
  ensemble.val_accuracy_ = percent_of_queries(best, plan.shape, plan.count);
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const auto until_here = std::span(chosen).first(i);
    if (std::ranges::find(until_here, chosen[i]) != until_here.end()) continue;
    const auto count = static_cast<std::size_t>(std::ranges::count(chosen, chosen[i]));
    Member member = pool[chosen[i]];
    // So many times a term to the power of alpha is the term of a distance so much longer.
    member.weight *= std::pow(static_cast<double>(count), 1 / influence.alpha()) /
                     terms.mean_distance(streamed_as[chosen[i]]);
    ensemble.members_.push_back(std::move(member));
    ensemble.counts_.push_back(count);
  }
  return ensemble;
}

}  // namespace deepvoro
