#include <algorithm>
#include <numeric>

#include "deepvoro/classifier/classifier.hpp"
#include "state.hpp"

namespace deepvoro {
namespace {

using Part = Explanation::Part;

void add_opinion(const std::string& name, std::span<const double> influence,
                 std::vector<Part>& parts) {
  auto part = std::ranges::find(parts, name, &Part::name);
  if (part == parts.end())
    part = parts.insert(parts.end(), {name, 0, std::vector<double>(influence.size()),
                                      std::vector<std::size_t>(influence.size())});
  ++part->members;
  ++part->votes[cell_of(influence)];
  for (std::size_t k = 0; k < influence.size(); ++k) part->influence[k] += influence[k];
}

void divide_by_members(std::vector<Part>& parts) {
  for (Part& part : parts)
    for (double& value : part.influence) value /= static_cast<double>(part.members);
}

// What each member says, and how far samples are in the mean over the members.
void explain_members(const Pool& pool, const SpaceProvider& spaces, const ViewedSamples& support,
                     std::span<const std::span<const float>> query, Explanation& explanation,
                     std::vector<double>& distances) {
  std::vector<std::size_t> own_class(support.labels.size());
  std::iota(own_class.begin(), own_class.end(), std::size_t{0});
  ViewedSamples alone = support;
  alone.labels = own_class;
  alone.classes = own_class.size();
  std::vector<double> of_classes(support.classes);
  std::vector<double> of_samples(own_class.size());
  for (const Member& member : pool) {
    const Influence influence(1);
    FittedEnsemble({member}, support, nullptr, influence, spaces).influence(query, of_classes);
    add_opinion(member.view, of_classes, explanation.views);
    add_opinion(member.transform.id(), of_classes, explanation.transformations);
    add_opinion(std::string(member.geometry.name()), of_classes, explanation.geometries);
    FittedEnsemble({member}, alone, nullptr, influence, spaces).influence(query, of_samples);
    for (std::size_t i = 0; i < distances.size(); ++i)
      distances[i] -= of_samples[i] / static_cast<double>(pool.size());
  }
}

// What the diagrams say, what each view alone would say, and how far samples are as points.
void explain_points(const RidgeVoronoi& rule, std::span<const std::span<const float>> query,
                    const Matrix<double>& points, const std::vector<std::string>& views,
                    Explanation& explanation, std::vector<double>& distances) {
  const RidgeVoronoi::Answer answer = rule.ask(query);
  if (answer.logistic.empty()) {
    add_opinion("ridge", answer.ridge, explanation.geometries);
    add_opinion("vd", answer.nearness, explanation.geometries);
  } else {
    add_opinion("logistic", answer.logistic, explanation.geometries);
  }
  add_opinion(Transform{.lambda = rule.calibration().ridge_vd->exponent, .is_signed = true}.id(),
              answer.scores(), explanation.transformations);
  for (std::size_t v = 0; v < views.size(); ++v) {
    const std::vector<std::span<const float>> alone(views.size(), query[v]);
    add_opinion(views[v], rule.ask(alone).scores(), explanation.views);
  }
  distances = rule.point_distances(query, points.view());
}

}  // namespace

Explanation Classifier::explain(std::span<const std::span<const float>> query,
                                std::size_t neighbours) const {
  const NamedSamples& support = state_->support;
  std::vector<MatrixView<const float>> queries;
  for (const std::span<const float> row : query) queries.emplace_back(row.data(), 1, row.size());
  Explanation explanation;
  explanation.prediction = predict(queries).front();

  std::vector<double> distances(support.labels.size());
  if (const auto* rule = std::get_if<RidgeVoronoi>(&state_->fitted))
    explain_points(*rule, query, state_->points(), views(), explanation, distances);
  else
    explain_members(pool(), state_->spaces, viewed(support, views()), query, explanation,
                    distances);
  divide_by_members(explanation.views);
  divide_by_members(explanation.transformations);
  divide_by_members(explanation.geometries);

  std::vector<std::size_t> order(distances.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return distances[i]; });
  order.resize(std::min(neighbours, order.size()));
  for (const std::size_t i : order)
    explanation.neighbours.push_back({support.labels[i], support.names[i], distances[i]});
  return explanation;
}

}  // namespace deepvoro
