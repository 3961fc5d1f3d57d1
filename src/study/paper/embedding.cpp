#include <algorithm>

#include "ensemble/selection.hpp"
#include "features/transformed_rows.hpp"
#include "heads/preparation.hpp"
#include "study/paper/measured.hpp"
#include "study/paper/tsne.hpp"

namespace deepvoro {
namespace {

using nlohmann::json;

constexpr std::size_t kMostSamplesPerClass = 100;
constexpr std::size_t kUsualPerplexity = 30;
constexpr std::size_t kSteps = 1000;

// Samples of the classes of the first episode.
struct ShownSamples {
  std::vector<std::uint32_t> rows;
  std::vector<std::string> classes;  // of each
};

ShownSamples shown_samples(const StudyUnit& unit) {
  const FeatureStore& store = unit.store.features;
  EpisodePlan plan = unit.plan;
  plan.count = 1;
  const EpisodeList episodes = draw_episodes(store, "novel", plan);
  const std::vector<std::size_t> labels = store.labels("novel");
  const auto by_class = store.rows_by_class("novel");
  ShownSamples shown;
  for (std::size_t way = 0; way < plan.shape.ways; ++way) {
    const std::size_t label = labels[episodes[0].support[way * plan.shape.shots]];
    for (std::size_t i = 0; i < std::min(kMostSamplesPerClass, by_class[label].size()); ++i) {
      shown.rows.push_back(static_cast<std::uint32_t>(by_class[label][i]));
      shown.classes.push_back(store.split("novel").classes[label]);
    }
  }
  return shown;
}

Matrix<double> prepared(const StudyUnit& unit, const ShownSamples& shown, Preparation preparation) {
  const FeatureStore& store = unit.store.features;
  preparation.is_signed = unit.run.is_signed();
  const PreparedView view(store, "novel", store.views().front(), preparation, unit.run.threads());
  Matrix<double> rows(shown.rows.size(), view.dim());
  view.gather(shown.rows, rows);
  return rows;
}

Matrix<double> composed(const StudyUnit& unit, const ShownSamples& shown) {
  const FeatureStore& store = unit.store.features;
  const std::size_t dim = store.dim(store.views().front());
  LoadedView view(store, dim, unit.run.threads());
  view.load("novel", store.views().front());
  const RowTransformer transformer(
      view, {.b = 0.04, .lambda = 0, .is_signed = unit.run.is_signed()}, std::vector<float>(dim));
  Matrix<double> rows(shown.rows.size(), dim);
  std::vector<double> scratch(padded(dim));
  for (std::size_t i = 0; i < shown.rows.size(); ++i)
    transformer.columns(shown.rows[i], 0, rows.stride(), scratch.data(), rows.row(i));
  return rows;
}

void add_panel(const StudyUnit& unit, const char* panel, const char* what,
               const ShownSamples& shown, const Matrix<double>& rows) {
  const std::size_t perplexity = std::min(kUsualPerplexity, (rows.rows() - 1) / 3);
  if (perplexity < 1) return;
  const auto compute = [&](const Progress&) -> json {
    const Embedding embedding = embed_in_plane(rows.view(), perplexity, kSteps, unit.run.threads());
    return {{"points", embedding.points}, {"divergence", embedding.divergence}};
  };
  const auto is_sound = [&](const json& value) {
    return value.is_object() && value.value("divergence", json()).is_number() &&
           value.contains("points") && value["points"].is_array() &&
           value["points"].size() == rows.rows() &&
           std::ranges::all_of(value["points"], [](const json& point) {
             return point.is_array() && point.size() == 2 && point[0].is_number() &&
                    point[1].is_number();
           });
  };
  const json value = unit.run.step(
      unit.store,
      {{"embedding", panel}, {"rows", shown.rows}, {"steps", kSteps}, {"perplexity", perplexity}},
      0.25, compute, is_sound);
  for (std::size_t i = 0; i < rows.rows(); ++i)
    unit.run.table("points").add({unit.store.name, panel, shown.classes[i], shown.rows[i],
                                  value["points"][i][0], value["points"][i][1]});
  unit.run.table("panels").add(
      {unit.store.name, panel, what, rows.rows(), perplexity, kSteps, value["divergence"]});
}

void run_embedding(const StudyUnit& unit) {
  const ShownSamples shown = shown_samples(unit);
  add_panel(unit, "raw", "features as they are", shown, prepared(unit, shown, {}));
  add_panel(unit, "l2", "unit length", shown, prepared(unit, shown, {.unit_first = true}));
  add_panel(unit, "tukey", "square roots", shown, prepared(unit, shown, {.square_root = true}));
  add_panel(unit, "composed", "unit length, then the logarithm with b = 0.04", shown,
            composed(unit, shown));
}

}  // namespace

PaperStudy embedding_study() {
  return {.description = {.name = "embedding",
                          .title = "Novel classes in the plane after transformations",
                          .paper = "Figure tsne",
                          .example = "data/quickdraw --out paper"},
          .shots = {},
          .splits = {},
          .tables = {{"points",
                      "Samples of the classes of the first episode, by t-SNE of the first view",
                      {{"store", "store"},
                       {"panel", "panel"},
                       {"class", "class"},
                       {"sample", "row of the split novel"},
                       {"x", "x"},
                       {"y", "y"}}},
                     {"panels",
                      "What the panels show",
                      {{"store", "store"},
                       {"panel", "panel"},
                       {"transformation", "transformation"},
                       {"samples", "samples"},
                       {"perplexity", "perplexity"},
                       {"steps", "steps"},
                       {"divergence", "Kullback-Leibler divergence"}}}},
          .run = run_embedding};
}

}  // namespace deepvoro
