#include "project_check.hpp"

#include <algorithm>

#include "classifier/left_out_answers.hpp"
#include "deepvoro/core/parallel.hpp"

namespace deepvoro {

std::size_t ProjectCheck::right() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      pictures, [](const Picture& picture) { return picture.answer == picture.label; }));
}

ProjectCheck check_project(const ProjectSnapshot& project) {
  ProjectCheck check;
  if (!project.classifier) return check;
  const Classifier& classifier = *project.classifier;
  check.classes = classifier.classes();
  check.counts.assign(check.classes.size(), std::vector<std::size_t>(check.classes.size()));
  for (const LeftOutAnswer& answer : left_out_answers(classifier, available_threads())) {
    const std::size_t label = classifier.labels()[answer.sample];
    ProjectCheck::Picture picture{.id = project.sample_ids[answer.sample],
                                  .label = label,
                                  .answer = answer.label,
                                  .doubt = answer.label == label ? 0.0 : 1.0};
    if (!answer.probabilities.empty()) {
      picture.probability = answer.probabilities[answer.label];
      picture.doubt = 1 - answer.probabilities[label];
    }
    check.pictures.push_back(picture);
    ++check.counts[label][answer.label];
  }
  std::ranges::stable_sort(check.pictures, std::ranges::greater(), &ProjectCheck::Picture::doubt);
  for (std::size_t i = 0; i < check.pictures.size(); ++i) check.places[check.pictures[i].id] = i;
  return check;
}

}  // namespace deepvoro
