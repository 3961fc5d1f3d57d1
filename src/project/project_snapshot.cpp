#include "project_snapshot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "deepvoro/core/parallel.hpp"
#include "project_error.hpp"

namespace deepvoro {
namespace {

NamedSamples samples_of(const std::map<std::string, ProjectPicture>& pictures) {
  NamedSamples samples;
  std::map<std::string, std::size_t> labels;
  for (const auto& [id, picture] : pictures) labels.try_emplace(picture.home.class_name, 0);
  for (auto& [name, label] : labels) {
    label = samples.classes.size();
    samples.classes.push_back(name);
  }
  for (const auto& [id, picture] : pictures) {
    samples.labels.push_back(labels.at(picture.home.class_name));
    samples.names.push_back(picture.home.name);
    samples.views.resize(picture.features->size());
    for (std::size_t v = 0; v < samples.views.size(); ++v) {
      const std::vector<float>& row = (*picture.features)[v];
      samples.dim = row.size();
      samples.views[v].insert(samples.views[v].end(), row.begin(), row.end());
    }
  }
  return samples;
}

std::vector<std::string> ids_of_samples(const Classifier& classifier,
                                        const std::map<std::string, ProjectPicture>& pictures) {
  std::map<std::pair<std::string, std::string>, std::string> ids;
  for (const auto& [id, picture] : pictures) ids[{picture.home.class_name, picture.home.name}] = id;
  std::vector<std::string> of_samples;
  for (std::size_t i = 0; i < classifier.labels().size(); ++i)
    of_samples.push_back(
        ids.at({classifier.classes()[classifier.labels()[i]], classifier.names()[i]}));
  return of_samples;
}

}  // namespace

bool ProjectSnapshot::has_class(const std::string& name) const {
  return std::ranges::binary_search(classes, name);
}

const ProjectPicture& ProjectSnapshot::picture(const std::string& id) const {
  const auto found = pictures.find(id);
  if (found == pictures.end()) throw ProjectError(Refusal::missing, "there is no such picture");
  return found->second;
}

std::vector<const ProjectPicture*> ProjectSnapshot::pictures_of(const std::string& name) const {
  if (!has_class(name))
    throw ProjectError(Refusal::missing, fmt::format("there is no class '{}'", name));
  std::vector<const ProjectPicture*> found;
  for (const auto& [id, picture] : pictures)
    if (picture.home.class_name == name) found.push_back(&picture);
  std::ranges::sort(found, std::ranges::greater(), [](const auto* one) { return one->order; });
  return found;
}

void add_classifier(ProjectSnapshot& snapshot, const ClassifierOptions& options,
                    std::shared_ptr<const Classifier> fitted) {
  if (snapshot.pictures.empty()) return;
  if (!fitted)
    fitted = std::make_shared<const Classifier>(
        Classifier::fit(samples_of(snapshot.pictures), options, available_threads()));
  snapshot.classifier = std::move(fitted);
  snapshot.sample_ids = ids_of_samples(*snapshot.classifier, snapshot.pictures);
}

}  // namespace deepvoro
