#include "study/paper/shown_episode.hpp"

#include <numeric>

#include "ensemble/base_classes.hpp"
#include "heads/preparation.hpp"

namespace deepvoro {
namespace {

Matrix<double> gathered(const PreparedView& view, std::span<const SampleIndex> rows) {
  Matrix<double> found(rows.size(), view.dim());
  view.gather(rows, found);
  return found;
}

Matrix<double> means_of(const Matrix<double>& rows,
                        const std::vector<std::vector<std::size_t>>& by_class) {
  Matrix<double> means(by_class.size(), rows.cols());
  for (std::size_t c = 0; c < by_class.size(); ++c)
    for (std::size_t d = 0; d < rows.cols(); ++d) {
      double sum = 0;
      for (const std::size_t row : by_class[c]) sum += rows.row(row)[d];
      means.row(c)[d] = sum / static_cast<double>(by_class[c].size());
    }
  return means;
}

}  // namespace

ShownEpisode::ShownEpisode(const StudyUnit& unit) : shape(unit.plan.shape) {
  const FeatureStore& store = unit.store.features;
  const std::string& view = store.views().front();
  const bool is_plane = store.dim(view) == 2;
  preparation = is_plane ? "features as they are" : "unit length, then square roots";
  const Preparation how{
      .unit_first = !is_plane, .square_root = !is_plane, .is_signed = unit.run.is_signed()};
  EpisodePlan plan = unit.plan;
  plan.count = 1;
  const EpisodeList episodes = draw_episodes(store, "novel", plan);
  const PreparedView novel(store, "novel", view, how, unit.run.threads());
  support = gathered(novel, episodes[0].support);
  queries = gathered(novel, episodes[0].query);
  const std::vector<std::size_t> labels = store.labels("novel");
  std::vector<std::vector<std::size_t>> support_rows(shape.ways);
  for (std::size_t way = 0; way < shape.ways; ++way) {
    classes.push_back(store.split("novel").classes[labels[episodes[0].support[way * shape.shots]]]);
    for (std::size_t i = 0; i < shape.shots; ++i)
      support_rows[way].push_back(way * shape.shots + i);
  }
  prototypes = means_of(support, support_rows);

  base_classes = store.split("base").classes;
  base_rows = deepvoro::base_classes(store);
  std::vector<SampleIndex> all(store.split("base").samples);
  std::iota(all.begin(), all.end(), SampleIndex{0});
  base = gathered(PreparedView(store, "base", view, how, unit.run.threads()), all);
  base_means = means_of(base, base_rows);
}

}  // namespace deepvoro
