#include "deepvoro/classifier/classifier.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "core/matrix.hpp"
#include "core/names.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/core/parallel.hpp"
#include "ordered_samples.hpp"
#include "state.hpp"
#include "store_samples.hpp"
#include "support_points.hpp"

namespace deepvoro {
namespace {

// More would sharpen the temperature no further.
constexpr std::size_t kMostLeftOut = 1000;

constexpr std::array kFitMethodNames = {"ridge-vd", "deepvoro", "plda"};

void check_views(const std::vector<std::string>& views) {
  if (views.empty()) throw usage_error("a classifier needs at least one view");
  std::set<std::string> seen;
  for (const std::string& view : views)
    if (!is_view_name(view) || !seen.insert(view).second)
      throw usage_error(fmt::format("view '{}' appears twice or is not a valid name", view));
}

// With the method that is meant, and no statistics but those it uses.
ClassifierOptions completed(ClassifierOptions options, std::size_t dim) {
  check_views(options.views);
  options.method = method_of(options.method, options.pool);
  if (options.method == FitMethod::deepvoro) options.statistics = nullptr;
  const BackboneStatistics* statistics = options.statistics.get();
  if (statistics != nullptr && statistics->dim() != dim)
    throw data_error(fmt::format("the statistics are those of {} dimensions, but features have {}",
                                 statistics->dim(), dim));
  if (options.method == FitMethod::plda && (statistics == nullptr || !statistics->plda))
    throw data_error("`method` plda needs statistics of the network that were made for plda");
  return options;
}

Pool members_of(const ClassifierOptions& options, bool is_signed) {
  if (options.method == FitMethod::ridge_vd) return {};
  if (options.method == FitMethod::plda) return options.statistics->plda->pool(options.views);
  Pool pool = options.pool.empty() ? default_pool(Method::deepvoro, options.views) : options.pool;
  for (Member& member : pool) {
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

// Samples from all parts of the support are left out, kMostLeftOut at most.
Calibration calibrated(const FittedEnsemble& ensemble, const Pool& pool,
                       const NamedSamples& support, unsigned threads) {
  const std::size_t members = pool.size();
  const bool has_space =
      std::ranges::any_of(pool, [](const Member& member) { return member.geometry.has_space(); });
  const std::size_t count = std::min(support.labels.size(), kMostLeftOut);
  std::vector<std::size_t> samples(count);
  std::vector<std::size_t> labels(count);
  std::vector<std::vector<float>> rows(support.views.size());
  const std::vector<MatrixView<const float>> views = support.rows();
  std::vector<MatrixView<const float>> queries;
  for (std::size_t i = 0; i < count; ++i) {
    samples[i] = i * support.labels.size() / count;
    labels[i] = support.labels[samples[i]];
    for (std::size_t v = 0; v < rows.size(); ++v) {
      const std::span<const float> row = views[v][samples[i]];
      rows[v].insert(rows[v].end(), row.begin(), row.end());
    }
  }
  queries.reserve(rows.size());
  for (const std::vector<float>& view : rows) queries.emplace_back(view.data(), count, support.dim);
  const Matrix<double> influence = influences(ensemble, members, queries, threads);
  Matrix<double> without;
  if (has_space) {
    without = Matrix<double>(count, ensemble.classes());
    ensemble.influence_without(queries, labels, without.view(), threads);
    to_means(without.view(), members);
  }
  Calibration calibration =
      calibrate(influence.view(), labels, samples_per_class(support),
                has_space ? std::optional<MatrixView<const double>>(without.view()) : std::nullopt);
  std::vector<std::optional<std::size_t>> left_out(support.labels.size());
  for (std::size_t i = 0; i < count; ++i) left_out[samples[i]] = calibration.left_out[i];
  calibration.left_out = std::move(left_out);
  return calibration;
}

Prediction prediction_of(std::vector<double> influence, double temperature, double distance,
                         const Calibration& calibration) {
  Prediction prediction{.query = 0,
                        .label = cell_of(influence),
                        .distance = distance,
                        .unknown = !(distance < calibration.threshold()),
                        .influence = {},
                        .probabilities = {}};
  prediction.influence = std::move(influence);
  prediction.probabilities.resize(prediction.influence.size());
  probabilities(prediction.influence, temperature, prediction.probabilities);
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

// `fast_decode` changes features a little. Stores of which nobody knows how they were made are as
// good as any.
void check_same_decoding(const FeatureStore& store, const FeatureOrigin& origin) {
  if (store.model_sha256().empty() || origin.sha256.empty()) return;
  if (store.fast_decode() != origin.fast_decode)
    throw data_error(fmt::format(
        "{}: its features were made {} `fast_decode`, and those of the "
        "classifier {}; extract them again {} it",
        store.folder().string(), store.fast_decode() ? "with" : "without",
        origin.fast_decode ? "with" : "without", origin.fast_decode ? "with" : "without"));
}

std::shared_ptr<const BackboneStatistics> statistics_of_store(const FeatureStore& store) {
  if (auto installed = statistics_of_network(store.model_sha256())) return installed;
  if (!store.has_split("base")) return nullptr;
  return std::make_shared<const BackboneStatistics>(BackboneStatistics::of({&store, 1}));
}

SpaceProvider spaces_of(const ClassifierOptions& options) {
  if (options.method != FitMethod::plda) return {};
  const PldaStatistics& statistics = *options.statistics->plda;
  return [space = statistics.plda.space(statistics.model)](const Member&) { return space; };
}

std::variant<RidgeVoronoi, FittedEnsemble> fitted_on(const NamedSamples& support,
                                                     const ClassifierOptions& options,
                                                     const Pool& pool, const SpaceProvider& spaces,
                                                     const std::optional<Calibration>& known,
                                                     unsigned threads) {
  const ViewedSamples samples = viewed(support, options.views);
  if (options.method == FitMethod::ridge_vd)
    return RidgeVoronoi(samples, options.statistics.get(), threads, known);
  return FittedEnsemble(pool, samples, nullptr, Influence(1), spaces);
}

}  // namespace

FitMethod fit_method_named(const std::string& name) {
  return value_named<FitMethod>(name, kFitMethodNames,
                                "`method` {}: unknown; classifiers are made by {}");
}

const char* name(FitMethod method) {
  return name_of(method, kFitMethodNames);
}

FitMethod method_of(std::optional<FitMethod> method, const Pool& pool) {
  if (pool.empty()) return method.value_or(FitMethod::ridge_vd);
  if (method && *method != FitMethod::deepvoro)
    throw usage_error(fmt::format(
        "`pool`: `method` {} has no members to replace; give one of the two", name(*method)));
  return FitMethod::deepvoro;
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
      options(completed(std::move(the_options), support.dim)),
      pool(members_of(options, has_negative(support))),
      spaces(spaces_of(options)),
      fitted(fitted_on(support, options, pool, spaces, known, threads)),
      networks(std::move(the_networks)) {
  if (const auto* rule = std::get_if<RidgeVoronoi>(&fitted))
    calibration = rule->calibration();
  else
    calibration =
        known ? *known : calibrated(std::get<FittedEnsemble>(fitted), pool, support, threads);
}

std::vector<Prediction> Classifier::State::predict(std::span<const MatrixView<const float>> queries,
                                                   unsigned threads) const {
  std::vector<Prediction> predictions(queries.front().rows());
  if (const auto* rule = std::get_if<RidgeVoronoi>(&fitted)) {
    const std::vector<RidgeVoronoi::Answer> answers = rule->ask(queries, threads);
    std::ranges::transform(answers, predictions.begin(), [&](const RidgeVoronoi::Answer& answer) {
      return prediction_of(answer.scores(), answer.temperature, answer.distance(), calibration);
    });
    return predictions;
  }
  const Matrix<double> influence =
      influences(std::get<FittedEnsemble>(fitted), pool.size(), queries, threads);
  constexpr std::size_t rows_at_once = 16;
  parallel_for(threads, predictions.size(), rows_at_once,
               [&](std::size_t begin, std::size_t end, unsigned) {
                 for (std::size_t q = begin; q < end; ++q) {
                   const std::span<const double> row = influence.view()[q];
                   predictions[q] = prediction_of({row.begin(), row.end()}, calibration.temperature,
                                                  -*std::ranges::max_element(row), calibration);
                 }
               });
  return predictions;
}

const Matrix<double>& Classifier::State::points() const {
  std::call_once(placed_,
                 [&] { points_ = support_points(support, calibration, options.statistics.get()); });
  return points_;
}

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
                           unsigned threads, std::optional<FitMethod> method) {
  check_one_network(store);
  const std::string of = split.empty() ? store.usual_split() : split;
  const FitMethod meant = method_of(method, pool);
  ClassifierOptions options{store.views(),
                            std::move(pool),
                            {.sha256 = store.model_sha256(),
                             .description_json = "{}",
                             .fast_decode = store.fast_decode()},
                            meant};
  if (meant == FitMethod::plda)
    options.statistics =
        std::make_shared<const BackboneStatistics>(BackboneStatistics::of({&store, 1}, Plda{}));
  if (meant == FitMethod::ridge_vd) options.statistics = statistics_of_store(store);
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
  check_same_decoding(store, origin());
  const std::string of = split.empty() ? store.usual_split() : split;
  const NamedSamples samples =
      new_among(read_samples(store, of, views(), class_name), state_->support);
  return samples.labels.empty() ? *this : with(samples, threads);
}

std::size_t Classifier::label_of(const std::string& class_name) const {
  const auto found = std::ranges::find(classes(), class_name);
  if (found == classes().end())
    throw data_error(fmt::format("there is no class '{}'", class_name), ErrorCode::missing_class);
  return static_cast<std::size_t>(found - classes().begin());
}

Classifier Classifier::refitted(const NamedSamples& samples, unsigned threads) const {
  const std::array parts{SamplesPart{samples}};
  return Classifier(std::make_shared<const State>(ordered(parts, views().size()), state_->options,
                                                  std::nullopt, state_->networks, threads));
}

Classifier Classifier::with_only(const std::vector<char>& is_kept, unsigned threads) const {
  const NamedSamples& old = state_->support;
  NamedSamples rest{.classes = {}, .labels = {}, .names = {}, .views = {}, .dim = old.dim};
  rest.views.resize(old.views.size());
  for (std::size_t i = 0; i < is_kept.size(); ++i) {
    if (is_kept[i] == 0) continue;
    const std::string& name = old.classes[old.labels[i]];
    if (rest.classes.empty() || rest.classes.back() != name) rest.classes.push_back(name);
    rest.labels.push_back(rest.classes.size() - 1);
    rest.names.push_back(old.names[i]);
    for (std::size_t v = 0; v < old.views.size(); ++v) {
      const auto row = old.views[v].begin() + static_cast<std::ptrdiff_t>(i * old.dim);
      rest.views[v].insert(rest.views[v].end(), row, row + static_cast<std::ptrdiff_t>(old.dim));
    }
  }
  if (rest.classes.empty()) throw data_error("no class would be left; delete the file instead");
  return refitted(rest, threads);
}

Classifier Classifier::without(const std::string& what, unsigned threads) const {
  return without(std::span(&what, 1), threads);
}

Classifier Classifier::without(std::span<const std::string> what, unsigned threads) const {
  std::vector<char> is_kept(labels().size(), 1);
  for (const std::string& word : what) {
    if (std::ranges::count(classes(), word) == 0)
      if (const auto sample = sample_named(word)) {
        is_kept[*sample] = 0;
        continue;
      }
    const std::size_t label = label_of(word);
    for (std::size_t i = 0; i < is_kept.size(); ++i)
      if (labels()[i] == label) is_kept[i] = 0;
  }
  return with_only(is_kept, threads);
}

// Names of classes and of samples may both hold slashes.
std::optional<std::size_t> Classifier::sample_named(const std::string& class_and_name) const {
  std::optional<std::string> of_class;
  for (std::size_t i = 0; i < labels().size(); ++i) {
    const std::string& name = classes()[labels()[i]];
    if (!class_and_name.starts_with(name + "/")) continue;
    of_class = name;
    if (class_and_name.substr(name.size() + 1) == names()[i]) return i;
  }
  if (of_class)
    throw data_error(fmt::format("class '{}' has no picture '{}'", *of_class,
                                 class_and_name.substr(of_class->size() + 1)));
  return std::nullopt;
}

Classifier Classifier::renamed(const std::string& class_name, const std::string& to,
                               unsigned threads) const {
  NamedSamples samples = state_->support;
  std::string& name = samples.classes[label_of(class_name)];
  if (std::ranges::count(samples.classes, to) > 0 && to != class_name)
    throw data_error(fmt::format("there is a class '{}' already", to));
  for (std::size_t i = 0; i < labels().size(); ++i)
    if (classes()[labels()[i]] + "/" + names()[i] == to)
      throw data_error(fmt::format("'{}' is a picture of class '{}'; choose another name", to,
                                   classes()[labels()[i]]));
  name = to;
  return refitted(samples, threads);
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
FitMethod Classifier::method() const {
  return *state_->options.method;
}
const BackboneStatistics* Classifier::statistics() const {
  return state_->options.statistics.get();
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

const NamedSamples& Classifier::samples() const {
  return state_->support;
}
const ClassifierOptions& Classifier::options() const {
  return state_->options;
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
  std::vector<Prediction> predictions = state_->predict(queries, threads);
  for (std::size_t q = 0; q < predictions.size(); ++q) predictions[q].query = q;
  return predictions;
}

std::vector<Prediction> Classifier::predict_rows(const std::filesystem::path& file,
                                                 unsigned threads) const {
  return predict(read_rows(file, views(), dim()).rows(), threads);
}

std::vector<Prediction> Classifier::predict(const FeatureStore& store, const std::string& split,
                                            unsigned threads) const {
  check_same_origin(store, origin(), dim());
  // As pictures: any classifier can be asked with `fast_decode`, one that was fitted with it
  // always.
  if (origin().fast_decode) check_same_decoding(store, origin());
  const NamedSamples samples =
      read_samples(store, split.empty() ? store.usual_split() : split, views());
  return predict(samples.rows(), threads);
}

}  // namespace deepvoro
