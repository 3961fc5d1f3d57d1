#include "deepvoro/classifier/classifier.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "deepvoro/core/error.hpp"
#include "deepvoro/core/parallel.hpp"
#include "state.hpp"

namespace deepvoro {
namespace {

// More would sharpen the temperature no further.
constexpr std::size_t kMostLeftOut = 1000;

void check_views(const std::vector<std::string>& views) {
  if (views.empty()) throw usage_error("a classifier needs at least one view");
  std::set<std::string> seen;
  for (const std::string& view : views)
    if (!is_view_name(view) || !seen.insert(view).second)
      throw usage_error(fmt::format("view '{}' is there twice, or no name of a view", view));
}

Pool members_of(const ClassifierOptions& options, bool is_signed) {
  check_views(options.views);
  Pool pool = options.pool.empty() ? default_pool(Method::deepvoro, options.views) : options.pool;
  for (Configuration& member : pool) {
    if (std::holds_alternative<Surrogate>(member.geometry))
      throw usage_error(
          "surrogate members need base classes, which a classifier does not have; use members of "
          "the geometry vd");
    if (is_signed) member.transform.is_signed = true;
  }
  return pool;
}

// Mean over the members, [queries x classes].
Matrix<double> influences(const FittedEnsemble& ensemble, std::size_t members,
                          std::span<const MatrixView<const float>> queries, unsigned threads) {
  Matrix<double> out(queries.front().rows(), ensemble.classes());
  ensemble.influence(queries, out.view(), threads);
  const MatrixView<double> means = out.view();
  for (std::size_t q = 0; q < out.rows(); ++q)
    for (double& value : means[q]) value /= static_cast<double>(members);
  return out;
}

// Samples from all parts of the support, `most` at most.
Calibration calibrated(const FittedEnsemble& ensemble, std::size_t members,
                       const SupportSet& support, unsigned threads) {
  const std::size_t count = std::min(support.labels.size(), kMostLeftOut);
  std::vector<std::size_t> labels(count);
  std::vector<std::vector<float>> rows(support.rows.size());
  std::vector<MatrixView<const float>> queries;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t sample = i * support.labels.size() / count;
    labels[i] = support.labels[sample];
    for (std::size_t v = 0; v < rows.size(); ++v) {
      const std::span<const float> row = support.view(v)[sample];
      rows[v].insert(rows[v].end(), row.begin(), row.end());
    }
  }
  queries.reserve(rows.size());
  for (const std::vector<float>& view : rows) queries.emplace_back(view.data(), count, support.dim);
  const Matrix<double> influence = influences(ensemble, members, queries, threads);
  return calibrate(influence.view(), labels, support.shots());
}

Prediction answer(std::span<const double> influence, const Calibration& calibration) {
  Prediction prediction;
  prediction.influence.assign(influence.begin(), influence.end());
  prediction.probabilities.resize(influence.size());
  probabilities(influence, calibration.temperature, prediction.probabilities);
  prediction.label = cell_of(influence);
  prediction.unknown = !(influence[prediction.label] > calibration.threshold);
  return prediction;
}

}  // namespace

ViewedSamples viewed(const SupportSet& support, const std::vector<std::string>& views) {
  ViewedSamples samples{
      .views = views, .rows = {}, .labels = support.labels, .classes = support.classes.size()};
  for (std::size_t v = 0; v < views.size(); ++v) samples.rows.push_back(support.view(v));
  return samples;
}

Classifier::State::State(SupportSet the_support, ClassifierOptions the_options,
                         std::optional<Calibration> known, unsigned threads)
    : support(std::move(the_support)),
      options(std::move(the_options)),
      pool(members_of(options, support.has_negative())),
      ensemble(pool, viewed(support, options.views), nullptr, Influence(1)),
      calibration(known ? *known : calibrated(ensemble, pool.size(), support, threads)) {}

Classifier::Classifier(std::shared_ptr<const State> state) : state_(std::move(state)) {}

Classifier Classifier::fit(const NamedSamples& samples, ClassifierOptions options,
                           unsigned threads) {
  check_views(options.views);
  SupportSet support = joined({&samples, 1}, options.views.size());
  return Classifier(
      std::make_shared<const State>(std::move(support), std::move(options), std::nullopt, threads));
}

Classifier Classifier::with(const NamedSamples& samples, unsigned threads) const {
  const SupportSet& old = state_->support;
  const std::array parts{old.part(0, old.labels.size()), samples};
  return Classifier(std::make_shared<const State>(joined(parts, views().size()), state_->options,
                                                  std::nullopt, threads));
}

Classifier Classifier::without(const std::string& class_name, unsigned threads) const {
  const SupportSet& old = state_->support;
  const auto found = std::ranges::find(old.classes, class_name);
  if (found == old.classes.end())
    throw data_error(fmt::format("there is no class '{}'", class_name));
  if (old.classes.size() == 1)
    throw data_error(fmt::format("'{}' is the only class; delete the file instead", class_name));
  const auto label = static_cast<std::size_t>(found - old.classes.begin());
  const auto place = [&](std::size_t of_label) {
    return static_cast<std::size_t>(std::ranges::lower_bound(old.labels, of_label) -
                                    old.labels.begin());
  };
  const std::array parts{old.part(0, place(label)), old.part(place(label + 1), old.labels.size())};
  return Classifier(std::make_shared<const State>(joined(parts, views().size()), state_->options,
                                                  std::nullopt, threads));
}

const std::vector<std::string>& Classifier::classes() const {
  return state_->support.classes;
}
const std::vector<std::size_t>& Classifier::labels() const {
  return state_->support.labels;
}
const std::vector<std::string>& Classifier::names() const {
  return state_->support.names;
}
const std::vector<std::string>& Classifier::views() const {
  return state_->options.views;
}
std::size_t Classifier::dim() const {
  return state_->support.dim;
}
const Pool& Classifier::pool() const {
  return state_->pool;
}
const FeatureOrigin& Classifier::origin() const {
  return state_->options.origin;
}
const Calibration& Classifier::calibration() const {
  return state_->calibration;
}

std::vector<Prediction> Classifier::predict(std::span<const MatrixView<const float>> queries,
                                            unsigned threads) const {
  if (queries.size() != views().size())
    throw usage_error(fmt::format("queries need {} views, not {}", views().size(), queries.size()));
  for (const MatrixView<const float>& view : queries)
    if (view.rows() != queries.front().rows() || view.cols() != dim())
      throw usage_error(
          fmt::format("every view of the queries must have {} features a row and the same number "
                      "of rows",
                      dim()));
  const Matrix<double> influence = influences(state_->ensemble, pool().size(), queries, threads);
  std::vector<Prediction> predictions(influence.rows());
  constexpr std::size_t rows_at_once = 16;
  parallel_for(threads, predictions.size(), rows_at_once,
               [&](std::size_t begin, std::size_t end, unsigned) {
                 for (std::size_t q = begin; q < end; ++q)
                   predictions[q] = answer({influence.row(q), influence.cols()}, calibration());
               });
  return predictions;
}

}  // namespace deepvoro
