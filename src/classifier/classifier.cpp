#include "deepvoro/classifier/classifier.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "core/matrix.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/core/parallel.hpp"
#include "ordered_samples.hpp"
#include "state.hpp"
#include "store_samples.hpp"

namespace deepvoro {
namespace {

// More would sharpen the temperature no further.
constexpr std::size_t kMostLeftOut = 1000;

void check_views(const std::vector<std::string>& views) {
  if (views.empty()) throw usage_error("a classifier needs at least one view");
  std::set<std::string> seen;
  for (const std::string& view : views)
    if (!is_view_name(view) || !seen.insert(view).second)
      throw usage_error(fmt::format("view '{}' appears twice or is not a valid name", view));
}

Pool own_members(const ClassifierOptions& options) {
  return options.statistics == nullptr ? default_pool(Method::deepvoro, options.views)
                                       : options.statistics->pool(options.views);
}

Pool members_of(const ClassifierOptions& options, std::size_t dim, bool is_signed) {
  check_views(options.views);
  const BackboneStatistics* statistics = options.statistics.get();
  if (statistics != nullptr && statistics->dim() != dim)
    throw data_error(fmt::format("the statistics are those of {} dimensions, but features have {}",
                                 statistics->dim(), dim));
  Pool pool = options.pool.empty() ? own_members(options) : options.pool;
  for (Member& member : pool) {
    if (statistics != nullptr && statistics->fits(member)) continue;
    if (member.geometry.needs_base())
      throw usage_error(
          fmt::format("{} members need base classes, which a classifier does not have; use members "
                      "of the geometry vd, or `method` plda",
                      member.geometry.name()));
    if (is_signed) member.transform.is_signed = true;
  }
  return pool;
}

// Sums over the members become means.
void to_means(MatrixView<double> sums, std::size_t members) {
  for (std::size_t q = 0; q < sums.rows(); ++q)
    for (double& value : sums[q]) value /= static_cast<double>(members);
}

// Mean over the members, [queries x classes].
Matrix<double> influences(const FittedEnsemble& ensemble, std::size_t members,
                          std::span<const MatrixView<const float>> queries, unsigned threads) {
  Matrix<double> out(queries.front().rows(), ensemble.classes());
  ensemble.influence(queries, out.view(), threads);
  to_means(out.view(), members);
  return out;
}

// Samples from all parts of the support, `most` at most.
Calibration calibrated(const FittedEnsemble& ensemble, const Pool& pool,
                       const NamedSamples& support, unsigned threads) {
  const std::size_t members = pool.size();
  const bool has_space =
      std::ranges::any_of(pool, [](const Member& member) { return member.geometry.has_space(); });
  const std::size_t count = std::min(support.labels.size(), kMostLeftOut);
  std::vector<std::size_t> labels(count);
  std::vector<std::vector<float>> rows(support.views.size());
  const std::vector<MatrixView<const float>> views = support.rows();
  std::vector<MatrixView<const float>> queries;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t sample = i * support.labels.size() / count;
    labels[i] = support.labels[sample];
    for (std::size_t v = 0; v < rows.size(); ++v) {
      const std::span<const float> row = views[v][sample];
      rows[v].insert(rows[v].end(), row.begin(), row.end());
    }
  }
  queries.reserve(rows.size());
  for (const std::vector<float>& view : rows) queries.emplace_back(view.data(), count, support.dim);
  const Matrix<double> influence = influences(ensemble, members, queries, threads);
  if (!has_space) return calibrate(influence.view(), labels, samples_per_class(support));
  Matrix<double> without(count, ensemble.classes());
  ensemble.influence_without(queries, labels, without.view(), threads);
  to_means(without.view(), members);
  return calibrate(influence.view(), labels, samples_per_class(support), without.view());
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

// Features of one kind alone can be told apart.
void check_same_origin(const FeatureStore& store, const FeatureOrigin& origin, std::size_t dim) {
  const std::string where = store.folder().string();
  const std::string model = store.model_sha256();
  check_one_network(store);
  const std::size_t store_dim = store.dim(store.views().front());
  if (store_dim != dim)
    throw data_error(fmt::format("{}: has features of {} dimensions, but the classifier needs {}",
                                 where, store_dim, dim));
  if (model != origin.sha256 &&
      (!origin.backbone.empty() || (!model.empty() && !origin.sha256.empty())))
    throw data_error(fmt::format(
        "{}: its features were made by another model than those of the classifier", where));
}

SpaceProvider spaces_of(const ClassifierOptions& options) {
  if (options.statistics == nullptr) return {};
  return [space = options.statistics->plda.space(options.statistics->model)](const Member&) {
    return space;
  };
}

}  // namespace

void check_method(Method method, const Pool& pool) {
  if (method != Method::deepvoro && method != Method::plda)
    throw usage_error(fmt::format(
        "`method` {}: classifiers are made by deepvoro or plda; other members go into a `pool`",
        name(method)));
  if (method == Method::plda && !pool.empty())
    throw usage_error("`pool`: `method` plda has its own members; give one of the two");
}

ViewedSamples viewed(const NamedSamples& support, const std::vector<std::string>& views) {
  return {.views = views,
          .rows = support.rows(),
          .labels = support.labels,
          .classes = support.classes.size()};
}

Classifier::State::State(NamedSamples the_support, ClassifierOptions the_options,
                         std::optional<Calibration> known,
                         std::shared_ptr<NetworkSlot> the_networks, unsigned threads)
    : support(std::move(the_support)),
      options(std::move(the_options)),
      pool(members_of(options, support.dim, has_negative(support))),
      spaces(spaces_of(options)),
      ensemble(pool, viewed(support, options.views), nullptr, Influence(1), spaces),
      calibration(known ? *known : calibrated(ensemble, pool, support, threads)),
      networks(std::move(the_networks)) {}

Classifier::Classifier(std::shared_ptr<const State> state) : state_(std::move(state)) {}

Classifier Classifier::fit(const NamedSamples& samples, ClassifierOptions options,
                           unsigned threads) {
  if (options.views.empty())
    for (std::size_t v = 1; v <= samples.views.size(); ++v)
      options.views.push_back(fmt::format("view{}", v));
  return fit(samples, std::move(options), std::make_shared<NetworkSlot>(), threads);
}

Classifier Classifier::fit(const NamedSamples& samples, ClassifierOptions options,
                           std::shared_ptr<NetworkSlot> networks, unsigned threads) {
  check_views(options.views);
  const std::array parts{SamplesPart{samples}};
  NamedSamples support = ordered(parts, options.views.size());
  return Classifier(std::make_shared<const State>(std::move(support), std::move(options),
                                                  std::nullopt, std::move(networks), threads));
}

Classifier Classifier::fit(const FeatureStore& store, const std::string& split, Pool pool,
                           unsigned threads, Method method) {
  check_method(method, pool);
  const std::string of = split.empty() ? store.usual_split() : split;
  ClassifierOptions options{store.views(), std::move(pool), {"", store.model_sha256(), "{}"}};
  if (method == Method::plda)
    options.statistics =
        std::make_shared<const BackboneStatistics>(BackboneStatistics::of({&store, 1}));
  return fit(read_samples(store, of, store.views()), std::move(options), threads);
}

Classifier Classifier::with(const NamedSamples& samples, unsigned threads) const {
  const std::array parts{SamplesPart{state_->support}, SamplesPart{samples}};
  return Classifier(std::make_shared<const State>(ordered(parts, views().size()), state_->options,
                                                  std::nullopt, state_->networks, threads));
}

Classifier Classifier::with(const FeatureStore& store, const std::string& class_name,
                            const std::string& split, unsigned threads) const {
  check_same_origin(store, origin(), dim());
  const std::string of = split.empty() ? store.usual_split() : split;
  return with(read_samples(store, of, views(), class_name), threads);
}

Classifier Classifier::without(const std::string& class_name, unsigned threads) const {
  const NamedSamples& old = state_->support;
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
  const std::array parts{SamplesPart{old, 0, place(label)}, SamplesPart{old, place(label + 1)}};
  return Classifier(std::make_shared<const State>(ordered(parts, views().size()), state_->options,
                                                  std::nullopt, state_->networks, threads));
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
          fmt::format("every view of the queries must have {} features per row and the same number "
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

std::vector<Prediction> Classifier::predict(const FeatureStore& store, const std::string& split,
                                            unsigned threads) const {
  check_same_origin(store, origin(), dim());
  const NamedSamples samples =
      read_samples(store, split.empty() ? store.usual_split() : split, views());
  return predict(samples.rows(), threads);
}

}  // namespace deepvoro
