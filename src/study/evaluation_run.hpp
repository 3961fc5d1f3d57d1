#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "deepvoro/study/evaluate.hpp"
#include "ensemble/ensemble_device.hpp"
#include "ensemble/selection.hpp"
#include "ensemble/space_cache.hpp"

namespace deepvoro {

[[nodiscard]] bool chooses_on_val(Scheme scheme);
// Of a method that is a head.
[[nodiscard]] HeadConfiguration head_of(const Evaluation& request, const FeatureStore& store);

// One evaluation while it runs: first it is checked, then members are chosen, then episodes are
// evaluated, all of them or a part. Refers to the store and the request.
class EvaluationRun {
 public:
  // `stream`: the episodes, where another run with the same plan draws them already.
  EvaluationRun(const FeatureStore& store, const Evaluation& request,
                std::shared_ptr<EpisodeStream> stream = nullptr);
  EvaluationRun(const EvaluationRun&) = delete;
  EvaluationRun& operator=(const EvaluationRun&) = delete;
  ~EvaluationRun() = default;

  // Drawn from a stream that runs share: by one thread at a time, and good until more are drawn.
  [[nodiscard]] const EpisodeList& episodes() const;
  // Those from `begin` to before `end`. Later ones are not drawn for them.
  [[nodiscard]] EpisodeList episodes(std::size_t begin, std::size_t end) const;
  [[nodiscard]] std::shared_ptr<EpisodeStream> stream() const { return stream_; }
  // Members to choose from; none for a head.
  [[nodiscard]] const Pool& pool() const { return pool_; }

  // Who takes part, and how long it took to find out.
  [[nodiscard]] EvaluationResult choose(const Progress& progress);

  // The accuracy of each of some of the episodes in percent. An episode gives the same bits
  // whichever others come with it.
  [[nodiscard]] std::vector<double> evaluate(const EpisodeList& some, const ScoreSink& scores,
                                             const Progress& progress) const;
  [[nodiscard]] Oracle oracle(const Progress& progress) const;
  [[nodiscard]] Reliability reliability(const Progress& progress) const;

 private:
  [[nodiscard]] EpisodeSetting setting(const EpisodeList& some) const;
  void choose_members(EvaluationResult& result, const Progress& progress);

  const FeatureStore& store_;
  const Evaluation& request_;
  Pool pool_;
  std::optional<HeadConfiguration> head_;
  std::shared_ptr<EpisodeStream> stream_;
  mutable SpaceCache spaces_;
  std::unique_ptr<EnsembleDevice> device_;
  std::optional<ValidationRanking> ranking_;
  std::optional<Selection> selection_;
};

}  // namespace deepvoro
