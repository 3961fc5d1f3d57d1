#include <algorithm>
#include <future>
#include <nlohmann/json.hpp>
#include <optional>

#include "api.hpp"
#include "classifier/answer_json.hpp"
#include "core/without_name.hpp"
#include "multipart.hpp"
#include "project/project_error.hpp"

// What a picture shows.
namespace deepvoro::serve {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kNeighbours = 5;

std::string id_of_sample(const ProjectSnapshot& snapshot, const Explanation::Neighbour& sample) {
  const Classifier& classifier = *snapshot.classifier;
  for (std::size_t i = 0; i < snapshot.sample_ids.size(); ++i)
    if (classifier.labels()[i] == sample.label && classifier.names()[i] == sample.name)
      return snapshot.sample_ids[i];
  return {};
}

// What each of them says by itself.
ordered_json answers_of(const Classifier& classifier, const std::vector<Explanation::Part>& parts,
                        const char* kind) {
  ordered_json answers = ordered_json::array();
  for (const Explanation::Part& part : parts) {
    const auto best = std::ranges::max_element(part.influence) - part.influence.begin();
    answers.push_back(
        {{kind, part.name}, {"class", classifier.classes()[static_cast<std::size_t>(best)]}});
  }
  return answers;
}

ordered_json why_json(const ProjectSnapshot& snapshot, const Explanation& explanation) {
  const Classifier& classifier = *snapshot.classifier;
  ordered_json nearest = ordered_json::array();
  for (const Explanation::Neighbour& sample : explanation.neighbours)
    nearest.push_back({{"id", id_of_sample(snapshot, sample)},
                       {"class", classifier.classes()[sample.label]},
                       {"distance", sample.distance}});
  return {{"nearest", nearest},
          {"views", answers_of(classifier, explanation.views, "view")},
          {"diagrams", answers_of(classifier, explanation.geometries, "diagram")},
          {"distance", explanation.prediction.distance},
          {"threshold", threshold_json(classifier.calibration().threshold())}};
}

ordered_json answer_to(const ProjectSnapshot& snapshot, const PictureFeatures& features,
                       const std::string& name, const RequestHead& head) {
  const Classifier& classifier = *snapshot.classifier;
  Prediction prediction;
  std::optional<ordered_json> why;
  if (!head.flag("why", true)) {
    std::vector<MatrixView<const float>> rows;
    for (const std::vector<float>& view : features) rows.emplace_back(view.data(), 1, view.size());
    prediction = classifier.predict(rows).front();
  } else {
    const std::vector<std::span<const float>> query(features.begin(), features.end());
    const Explanation explanation = classifier.explain(query, kNeighbours);
    prediction = explanation.prediction;
    why = why_json(snapshot, explanation);
  }
  const bool rejects = head.flag("reject", false) && prediction.unknown;
  ordered_json answer = answer_json(classifier, prediction, name,
                                    rejects ? "unknown" : classifier.classes()[prediction.label],
                                    classifier.calibration().threshold());
  answer["probabilities"] = probabilities_json(classifier, prediction);
  answer["unknown"] = prediction.unknown;
  if (why) answer["why"] = *std::move(why);
  return answer;
}

}  // namespace

Response Api::predict(const Request& request, const Arguments& /*arguments*/) {
  const std::shared_ptr<Project> current = project();
  const std::vector<SentFile> files = sent_files(request);
  const std::shared_ptr<const ProjectSnapshot> snapshot = current->snapshot();
  if (!snapshot->classifier)
    throw ProjectError(Refusal::invalid, "nothing is taught yet; teach a class first");
  std::vector<std::future<PictureFeatures>> pending(files.size());
  std::vector<std::string> errors(files.size());
  for (std::size_t i = 0; i < files.size(); ++i) {
    try {
      pending[i] = current->look_at(files[i].bytes, files[i].name);
    } catch (const ProjectError&) {
      throw;
    } catch (const Error& error) {
      if (files.size() == 1) throw;
      errors[i] = without_name(error.what(), files[i].name);
    }
  }
  ordered_json answers = ordered_json::array();
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (pending[i].valid())
      answers.push_back(answer_to(*snapshot, pending[i].get(), files[i].name, request.head));
    else
      answers.push_back({{"file", files[i].name}, {"error", errors[i]}});
  }
  return {.body =
              compact_json(ordered_json{{"revision", snapshot->revision}, {"answers", answers}})};
}

}  // namespace deepvoro::serve
