#include "classifier/episodic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "core/matrix.hpp"
#include "core/random.hpp"
#include "deepvoro/classifier/calibration.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/core/parallel.hpp"
#include "deepvoro/ensemble/fitted.hpp"

namespace deepvoro {
namespace {

constexpr double kPercent = 100;

// Rows of a split in the views that members see.
class SplitRows {
 public:
  SplitRows(const EpisodeSetting& setting, const Pool& members) {
    for (const Member& member : members)
      if (std::ranges::find(views_, member.view) == views_.end()) {
        views_.push_back(member.view);
        rows_.push_back(setting.store.features(setting.split, member.view));
      }
  }

  [[nodiscard]] const std::vector<std::string>& views() const { return views_; }

  // [views] of [samples x dim]
  [[nodiscard]] std::vector<Matrix<float>> gather(std::span<const SampleIndex> samples) const {
    std::vector<Matrix<float>> gathered;
    for (const FeatureRows& view : rows_) {
      Matrix<float>& matrix = gathered.emplace_back(samples.size(), view.dim());
      for (std::size_t i = 0; i < samples.size(); ++i)
        view.copy_row(samples[i], {matrix.row(i), view.dim()});
    }
    return gathered;
  }

 private:
  std::vector<std::string> views_;
  std::vector<FeatureRows> rows_;
};

std::vector<MatrixView<const float>> views_of(const std::vector<Matrix<float>>& gathered) {
  std::vector<MatrixView<const float>> views;
  views.reserve(gathered.size());
  for (const Matrix<float>& matrix : gathered) views.push_back(matrix.view());
  return views;
}

// What is measured in one episode.
struct EpisodeFigures {
  double negative_log_likelihood = 0;
  double auroc_percent = 0;
  double kept_percent = 0;
  double found_percent = 0;
};

class Measurement {
 public:
  Measurement(const EpisodeSetting& setting, const Pool& members, const ReliabilityRequest& request)
      : setting_(setting),
        members_(members),
        request_(request),
        rows_(setting, members),
        labels_(setting.store.labels(setting.split)),
        shape_(setting.episodes.shape()),
        figures_(setting.episodes.size()),
        confidence_(setting.episodes.size() * shape_.total_queries()),
        correct_(confidence_.size()) {
    if (setting.influence.alpha() != 1)
      throw usage_error("`calibration` and `open_set` need `alpha` 1");
    for (const Member& member : members)
      if (member.geometry.as<Voronoi>() == nullptr)
        throw usage_error("`calibration` and `open_set` need members without surrogates");
    if (request.open_set && setting.store.split(setting.split).classes.size() == shape_.ways)
      throw data_error(fmt::format(
          "split {} has no class outside of an episode of {} ways, which `open_set` needs",
          setting.split, shape_.ways));
  }

  void run(std::size_t e) {
    const Episode episode = setting_.episodes[e];
    const std::vector<Matrix<float>> support = rows_.gather(episode.support);
    std::vector<std::size_t> ways(shape_.total_support());
    for (std::size_t i = 0; i < ways.size(); ++i) ways[i] = i / shape_.shots;
    const FittedEnsemble ensemble(members_, {rows_.views(), views_of(support), ways, shape_.ways},
                                  nullptr, setting_.influence);
    const Calibration calibration = calibrate(influence(ensemble, episode.support).view(), ways,
                                              std::vector<std::size_t>(shape_.ways, shape_.shots));
    const Matrix<double> queries = influence(ensemble, episode.query);
    measure_queries(e, queries, calibration);
    if (request_.open_set) measure_strangers(e, ensemble, queries, calibration);
  }

  [[nodiscard]] Reliability result() const {
    Reliability reliability;
    const auto column = [&](double EpisodeFigures::*of) {
      std::vector<double> values;
      for (const EpisodeFigures& one : figures_) values.push_back(one.*of);
      return estimate(values);
    };
    if (request_.calibration)
      reliability.calibration = {kPercent * expected_calibration_error(confidence_, correct_),
                                 column(&EpisodeFigures::negative_log_likelihood)};
    if (request_.open_set)
      reliability.open_set = {column(&EpisodeFigures::auroc_percent),
                              column(&EpisodeFigures::kept_percent).mean,
                              column(&EpisodeFigures::found_percent).mean};
    return reliability;
  }

 private:
  // Mean over the members.
  [[nodiscard]] Matrix<double> influence(const FittedEnsemble& ensemble,
                                         std::span<const SampleIndex> samples) const {
    const std::vector<Matrix<float>> gathered = rows_.gather(samples);
    Matrix<double> out(samples.size(), shape_.ways);
    ensemble.influence(views_of(gathered), out.view(), 1);
    const MatrixView<double> means = out.view();
    for (std::size_t i = 0; i < out.rows(); ++i)
      for (double& value : means[i]) value /= static_cast<double>(members_.size());
    return out;
  }

  void measure_queries(std::size_t e, const Matrix<double>& queries,
                       const Calibration& calibration) {
    std::vector<std::size_t> ways(queries.rows());
    std::vector<double> shares(shape_.ways);
    for (std::size_t q = 0; q < queries.rows(); ++q) {
      ways[q] = q / shape_.queries;
      probabilities(queries.view()[q], calibration.temperature, shares);
      const std::size_t answer = cell_of(queries.view()[q]);
      confidence_[e * queries.rows() + q] = shares[answer];
      correct_[e * queries.rows() + q] = answer == ways[q] ? 1 : 0;
    }
    figures_[e].negative_log_likelihood =
        negative_log_likelihood(queries.view(), ways, calibration.temperature) /
        static_cast<double>(queries.rows());
  }

  void measure_strangers(std::size_t e, const FittedEnsemble& ensemble,
                         const Matrix<double>& queries, const Calibration& calibration) {
    const Matrix<double> strangers = influence(ensemble, strangers_of(e));
    const auto largest = [](const Matrix<double>& of) {
      std::vector<double> values;
      for (std::size_t q = 0; q < of.rows(); ++q)
        values.push_back(*std::ranges::max_element(of.view()[q]));
      return values;
    };
    const std::vector<double> own = largest(queries);
    const std::vector<double> others = largest(strangers);
    const auto percent_above_threshold = [&](const std::vector<double>& values) {
      const auto above = std::ranges::count_if(
          values, [&](double value) { return -value < calibration.threshold(); });
      return kPercent * static_cast<double>(above) / static_cast<double>(values.size());
    };
    figures_[e].auroc_percent = kPercent * area_under_roc(own, others);
    figures_[e].kept_percent = percent_above_threshold(own);
    figures_[e].found_percent = kPercent - percent_above_threshold(others);
  }

  [[nodiscard]] std::vector<SampleIndex> strangers_of(std::size_t e) const {
    std::vector<bool> in_episode(setting_.store.split(setting_.split).classes.size());
    for (const SampleIndex row : setting_.episodes[e].support) in_episode[labels_[row]] = true;
    std::vector<SampleIndex> outside;
    for (std::size_t row = 0; row < labels_.size(); ++row)
      if (!in_episode[labels_[row]]) outside.push_back(static_cast<SampleIndex>(row));
    LegacyRandom random(request_.seed + static_cast<std::uint32_t>(e));
    std::vector<SampleIndex> drawn;
    for (const std::size_t i : random.permutation(outside.size()))
      if (drawn.size() < shape_.total_queries()) drawn.push_back(outside[i]);
    return drawn;
  }

  const EpisodeSetting& setting_;
  const Pool& members_;
  ReliabilityRequest request_;
  SplitRows rows_;
  std::vector<std::size_t> labels_;
  EpisodeShape shape_;
  std::vector<EpisodeFigures> figures_;
  std::vector<double> confidence_;
  std::vector<std::uint8_t> correct_;
};

}  // namespace

void check(const ReliabilityRequest& request, Method method) {
  const bool can_be_measured = method == Method::vd || method == Method::deepvoro;
  if (request.asks_for_something() && !can_be_measured)
    throw usage_error("`calibration` and `open_set` work only with methods vd and deepvoro");
}

Reliability measure_reliability(const EpisodeSetting& setting, const Pool& members,
                                const ReliabilityRequest& request, const Progress& progress) {
  Measurement measurement(setting, members, request);
  std::atomic<std::size_t> done = 0;
  parallel_for(
      setting.threads, setting.episodes.size(), 1,
      [&](std::size_t e, std::size_t, unsigned worker) {
        measurement.run(e);
        const std::size_t count = ++done;
        if (progress && worker == 0)
          progress(static_cast<double>(count) / static_cast<double>(setting.episodes.size()));
      });
  return measurement.result();
}

}  // namespace deepvoro
