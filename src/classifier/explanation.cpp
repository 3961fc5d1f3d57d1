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

}  // namespace

Explanation Classifier::explain(std::span<const std::span<const float>> query,
                                std::size_t neighbours) const {
  const NamedSamples& support = state_->support;
  std::vector<MatrixView<const float>> queries;
  for (const std::span<const float> row : query) queries.emplace_back(row.data(), 1, row.size());
  Explanation explanation;
  explanation.prediction = predict(queries).front();

  std::vector<std::size_t> own_class(support.labels.size());
  std::iota(own_class.begin(), own_class.end(), std::size_t{0});
  ViewedSamples alone = viewed(support, views());
  alone.labels = own_class;
  alone.classes = own_class.size();
  std::vector<double> distances(own_class.size());
  std::vector<double> of_classes(classes().size());
  std::vector<double> of_samples(own_class.size());
  for (const auto& member : pool()) {
    const Influence influence(1);
    FittedEnsemble({member}, viewed(support, views()), nullptr, influence, state_->spaces)
        .influence(query, of_classes);
    add_opinion(member.view, of_classes, explanation.views);
    add_opinion(member.transform.id(), of_classes, explanation.transformations);
    add_opinion(std::string(member.geometry.name()), of_classes, explanation.geometries);
    FittedEnsemble({member}, alone, nullptr, influence, state_->spaces)
        .influence(query, of_samples);
    for (std::size_t i = 0; i < distances.size(); ++i)
      distances[i] -= of_samples[i] / static_cast<double>(pool().size());
  }
  divide_by_members(explanation.views);
  divide_by_members(explanation.transformations);
  divide_by_members(explanation.geometries);

  std::ranges::stable_sort(own_class, {}, [&](std::size_t i) { return distances[i]; });
  own_class.resize(std::min(neighbours, own_class.size()));
  for (const std::size_t i : own_class)
    explanation.neighbours.push_back({support.labels[i], support.names[i], distances[i]});
  return explanation;
}

}  // namespace deepvoro
