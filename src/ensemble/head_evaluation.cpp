#include "ensemble/head_evaluation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "core/names.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/core/parallel.hpp"
#include "ensemble/drawn_rows.hpp"
#include "ensemble/influence_field.hpp"
#include "heads/base_statistics.hpp"
#include "heads/calibrated.hpp"
#include "heads/cluster_head.hpp"
#include "heads/cosine.hpp"
#include "heads/nearest_mean.hpp"
#include "heads/preparation.hpp"

namespace deepvoro {
namespace {

constexpr std::array kNormalisationNames = {"un", "l2n", "cl2n"};
constexpr std::array kLogisticNames = {"power", "voronoi"};
constexpr std::array kStartNames = {"prototypes", "random"};
constexpr std::size_t kHeadEpisodeGrain = 4;
// Few enough that scores come soon, enough that no thread waits long for the others.
constexpr std::size_t kMostEpisodesAtATime = 512;

bool needs_base(const HeadConfiguration& configuration) {
  return configuration.method == Method::dc || (configuration.method == Method::simpleshot &&
                                                configuration.normalisation == Normalisation::cl2n);
}

// Queries lie anywhere in memory; one is scored in about the time in which a few others arrive.
constexpr std::size_t kRowsAhead = 2;

// One thread's head and the rows of the episode it is fitted on.
template <Head H>
struct Worker {
  Worker(H made, const EpisodeShape& shape, std::size_t dim)
      : head(std::move(made)),
        support(shape.total_support(), dim),
        query(1, dim),
        scores(InfluenceField::values_per_episode(shape)) {}

  H head;
  Matrix<double> support;
  Matrix<double> query;
  std::vector<double> scores;
};

// `episodes`: those of the setting, with places among `rows` in the place of rows.
template <class MakeHead>
std::vector<double> evaluate_with(const EpisodeSetting& setting, const EpisodeList& episodes,
                                  const PreparedView& rows, const MakeHead& make_head,
                                  const ScoreSink& sink, const Progress& progress) {
  using H = decltype(make_head());
  const EpisodeShape& shape = setting.episodes.shape();
  std::vector<std::unique_ptr<Worker<H>>> workers;
  for (unsigned i = 0; i < setting.threads; ++i)
    workers.push_back(std::make_unique<Worker<H>>(make_head(), shape, rows.dim()));

  const auto run_episode = [&](std::size_t e, Worker<H>& worker) {
    const Episode episode = episodes[e];
    rows.gather(episode.support, worker.support);
    worker.head.fit({.rows = worker.support.view(),
                     .ways = shape.ways,
                     .shots = shape.shots,
                     .stream = static_cast<std::uint32_t>(episodes.number(e))});
    for (std::size_t q = 0; q < episode.query.size(); ++q) {
      if (q + kRowsAhead < episode.query.size()) rows.fetch_ahead(episode.query[q + kRowsAhead]);
      worker.head.influence(rows.row(episode.query[q], worker.query.row(0)),
                            std::span(worker.scores).subspan(q * shape.ways, shape.ways));
    }
  };

  // A head's score is F itself, not a distance: the largest wins.
  const Influence largest_wins(-1);
  std::vector<double> accuracy(setting.episodes.size());
  const std::size_t field_bytes =
      std::min(setting.largest_field_bytes,
               kMostEpisodesAtATime * InfluenceField::values_per_episode(shape) * sizeof(double));
  for (const EpisodeRange batch : field_batches(setting.episodes, field_bytes)) {
    const std::size_t count = batch.end - batch.begin;
    InfluenceField field(count, shape, largest_wins);
    parallel_for(setting.threads, count, kHeadEpisodeGrain,
                 [&](std::size_t begin, std::size_t end, unsigned number) {
                   for (std::size_t e = begin; e < end; ++e) {
                     run_episode(batch.begin + e, *workers[number]);
                     field.add(e, workers[number]->scores);
                   }
                   if (number == 0 && progress)
                     progress(static_cast<double>(batch.begin + end) /
                              static_cast<double>(setting.episodes.size()));
                 });
    assign_queries(field, batch, accuracy, sink, setting.threads);
  }
  return accuracy;
}

}  // namespace

Preparation preparation_of(const HeadConfiguration& configuration, std::vector<double> base_mean) {
  constexpr double power_transform_offset = 1e-6;
  Preparation preparation{.is_signed = configuration.is_signed};
  switch (configuration.method) {
    case Method::simpleshot:
      if (configuration.normalisation == Normalisation::cl2n)
        preparation.origin = std::move(base_mean);
      preparation.unit_last = configuration.normalisation != Normalisation::un;
      break;
    case Method::pt_ncm:
      preparation.offset = power_transform_offset;
      preparation.square_root = true;
      preparation.unit_last = true;
      break;
    case Method::s2m2:
      preparation.unit_last = true;
      break;
    case Method::dc:
      preparation.square_root = true;
      break;
    default:
      preparation.unit_first = true;
      preparation.square_root = true;
  }
  return preparation;
}

Normalisation normalisation_named(const std::string& name) {
  return value_named<Normalisation>(name, kNormalisationNames,
                                    "`normalisation` {}: unknown; use un, l2n or cl2n");
}

const char* name(Normalisation normalisation) {
  return name_of(normalisation, kNormalisationNames);
}

LogisticKind logistic_kind_named(const std::string& name) {
  return value_named<LogisticKind>(name, kLogisticNames, "`lr` {}: unknown; use voronoi or power");
}

const char* name(LogisticKind kind) {
  return name_of(kind, kLogisticNames);
}

LogisticStart logistic_start_named(const std::string& name) {
  return value_named<LogisticStart>(name, kStartNames,
                                    "`start` {}: unknown; use prototypes or random");
}

const char* name(LogisticStart start) {
  return name_of(start, kStartNames);
}

bool has_logistic(Method method) {
  return method == Method::power_lr || method == Method::voronoi_lr ||
         method == Method::deepvoro_minus_minus;
}

LogisticOptions logistic_of(const HeadConfiguration& configuration) {
  LogisticOptions options = configuration.logistic;
  if (configuration.method == Method::power_lr) options.kind = LogisticKind::power;
  if (configuration.method == Method::voronoi_lr) options.kind = LogisticKind::voronoi;
  return options;
}

void check_head(const FeatureStore& store, const std::string& split,
                const HeadConfiguration& configuration) {
  (void)store.split(split);
  if (!store.has_view(configuration.view))
    throw data_error(fmt::format("`view` {}: {} does not have it; it has {}", configuration.view,
                                 store.folder().string(), fmt::join(store.views(), ", ")));
  if (!needs_base(configuration)) return;
  if (!store.has_split("base"))
    throw data_error(fmt::format("{}: has no split 'base', which method {} needs; add it{}",
                                 store.folder().string(), name(configuration.method),
                                 configuration.method == Method::simpleshot
                                     ? " or use `normalisation` l2n"
                                     : " or do without the method"));
  if (configuration.method == Method::dc && split == "base")
    throw usage_error(
        "`split` base: method dc borrows from the base classes, so its accuracy there means "
        "nothing; use novel or val");
}

std::vector<double> evaluate_head(const EpisodeSetting& setting,
                                  const HeadConfiguration& configuration, const ScoreSink& scores,
                                  const Progress& progress) {
  check_head(setting.store, setting.split, configuration);
  std::vector<double> mean;
  if (configuration.method == Method::simpleshot && needs_base(configuration))
    mean = base_mean(setting.store, configuration.view, setting.threads);
  const DrawnRows drawn(setting, {0, setting.episodes.size()});
  const PreparedView rows(setting.store, setting.split, configuration.view,
                          preparation_of(configuration, std::move(mean)), setting.threads,
                          PreparedView::kMostKeptBytes, &drawn.rows());
  const auto with = [&](const auto& make_head) {
    return evaluate_with(setting, drawn.episodes(), rows, make_head, scores, progress);
  };
  switch (configuration.method) {
    case Method::power_lr:
    case Method::voronoi_lr:
      return with([&] { return LogisticHead(logistic_of(configuration)); });
    case Method::deepvoro_minus_minus:
      return with(
          [&] { return ClusterHead(LogisticHead(logistic_of(configuration)), setting.influence); });
    case Method::simpleshot:
    case Method::pt_ncm:
      return with([] { return NearestMean(); });
    case Method::s2m2:
      return with([] { return CosineHead(); });
    case Method::dc: {
      const BaseStatistics base(setting.store, configuration.view, setting.threads);
      return with([&] { return CalibratedHead(base); });
    }
    default:
      break;
  }
  throw internal_error(fmt::format("method {} is not a head", name(configuration.method)));
}

}  // namespace deepvoro
