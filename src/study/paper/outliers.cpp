#include <array>
#include <cmath>

#include "deepvoro/core/parallel.hpp"
#include "ensemble/selection.hpp"
#include "heads/preparation.hpp"
#include "kernels/kernels.hpp"
#include "study/paper/line_fit.hpp"
#include "study/paper/measured.hpp"

namespace deepvoro {
namespace {

struct OutlierMethod {
  Method method;
  double share;
};

// The first is the one whose accuracy the gains of the others are measured from.
constexpr std::array kOutlierMethods{
    OutlierMethod{Method::s2m2, 0.1},
    OutlierMethod{Method::dc, 0.5},
    OutlierMethod{Method::vd, 0.01},
    OutlierMethod{Method::deepvoro, 0.1},
    OutlierMethod{Method::deepvoro_plus_plus, 0.15},
    OutlierMethod{Method::plda, 0.14},
};

// Mean distance of two support samples of a class, of unit length and their elements' square roots,
// in the first view. The paper's sum has each pair twice.
std::vector<double> geometric_variances(const StudyUnit& unit) {
  const FeatureStore& store = unit.store.features;
  const EpisodeList episodes = draw_episodes(store, "novel", unit.plan);
  const PreparedView rows(
      store, "novel", store.views().front(),
      {.unit_first = true, .square_root = true, .is_signed = unit.run.is_signed()},
      unit.run.threads());
  const EpisodeShape& shape = unit.plan.shape;
  const std::size_t pairs = shape.ways * shape.shots * (shape.shots - 1) / 2;
  std::vector<double> variances(episodes.size());
  parallel_for(unit.run.threads(), episodes.size(), 1, [&](std::size_t e, std::size_t, unsigned) {
    Matrix<double> support(shape.total_support(), rows.dim());
    rows.gather(episodes[e].support, support);
    std::vector<double> squared(shape.shots);
    double sum = 0;
    for (std::size_t i = 0; i < support.rows(); ++i) {
      const std::size_t later = shape.shots - 1 - i % shape.shots;  // of the same class
      kernels::squared_distances(kernels::active(), support.row(i),
                                 support.row(i) + support.stride(), support.stride(), later,
                                 support.stride(), squared.data());
      for (std::size_t j = 0; j < later; ++j) sum += std::sqrt(squared[j]);
    }
    variances[e] = sum / static_cast<double>(pairs);
  });
  return variances;
}

void run_outliers(const StudyUnit& unit) {
  const std::vector<double> variances = geometric_variances(unit);
  std::vector<std::vector<double>> accuracy;
  for (const auto& [method, share] : kOutlierMethods) {
    const bool is_tuned = is_ensemble(method) && method != Method::vd;
    const Evaluation request =
        is_tuned ? guided_evaluation(unit, method, tuned_pool(unit, method, 0.7 * share))
                 : usual_evaluation(unit, method);
    accuracy.push_back(measured(unit, request, is_tuned ? 0.3 * share : share).episode_accuracy());
  }
  for (std::size_t e = 0; e < variances.size(); ++e) {
    StudyTable::Row row{unit.store.name, unit.shots(), e, variances[e]};
    for (const std::vector<double>& of_method : accuracy) row.emplace_back(of_method[e]);
    unit.run.table("episodes").add(std::move(row));
  }
  for (std::size_t m = 0; m < accuracy.size(); ++m) {
    std::vector<double> gain = accuracy[m];
    for (std::size_t e = 0; e < gain.size(); ++e) gain[e] -= accuracy.front()[e];
    const LineFit fit = fit_line(variances, accuracy[m]);
    const LineFit of_gain = fit_line(variances, gain);
    unit.run.table("slopes").add({unit.store.name, unit.shots(), name(kOutlierMethods[m].method),
                                  fit.slope, fit.slope_ci95, of_gain.slope, of_gain.slope_ci95,
                                  fit.r});
  }
}

}  // namespace

PaperStudy outliers_study() {
  std::vector<StudyColumn> episodes{{"store", "store"},
                                    {"shots", "shots"},
                                    {"episode", "episode"},
                                    {"variance", "geometric variance"}};
  for (const OutlierMethod& row : kOutlierMethods)
    episodes.push_back({name(row.method), name(row.method), "%"});
  return {.description = {.name = "outliers",
                          .title = "Accuracy of episodes over the variance of their support",
                          .paper = "Figure GeoV",
                          .example = "data/quickdraw --out paper"},
          .shots = {5},
          .splits = {"val", "base"},
          .tables = {{"episodes", "Every episode", std::move(episodes)},
                     {"slopes",
                      "Accuracy lost for each unit of geometric variance",
                      {{"store", "store"},
                       {"shots", "shots"},
                       {"method", "method"},
                       {"slope", "slope of accuracy", "%"},
                       {"slope_ci95", "95 % interval of the slope, half", "%"},
                       {"gain_slope", "slope of the gain over s2m2", "%"},
                       {"gain_slope_ci95", "95 % interval of that slope, half", "%"},
                       {"r", "correlation"}}}},
          .run = run_outliers,
          .fewest_shots = 2};
}

}  // namespace deepvoro
