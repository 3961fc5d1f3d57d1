#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "deepvoro/core/error.hpp"
#include "deepvoro/study/paper_study.hpp"
#include "study/paper/registry.hpp"

namespace deepvoro {

const PaperStudy& study_named(const std::string& name) {
  const auto studies = registered_studies();
  const auto found = std::ranges::find(
      studies, name, [](const PaperStudy& study) { return study.description.name; });
  if (found != studies.end()) return *found;
  std::vector<std::string_view> names;
  for (const PaperStudy& study : studies) names.push_back(study.description.name);
  throw usage_error(
      fmt::format("there is no study '{}'; there are {}", name, fmt::join(names, ", ")));
}

std::vector<StudyDescription> paper_studies() {
  std::vector<StudyDescription> all;
  for (const PaperStudy& study : registered_studies()) all.push_back(study.description);
  return all;
}

void check(const StudyRequest& request) {
  const PaperStudy& study = study_named(request.study);
  if (request.stores.empty()) throw usage_error("a study needs at least one store");
  if (request.threads < 1) throw usage_error("`threads` must be at least 1");
  if (study.shots.empty() && !request.shots.empty())
    throw usage_error(fmt::format("`shots`: study {} has none", request.study));
  for (const std::size_t shots : request.shots) {
    if (shots < study.fewest_shots)
      throw usage_error(fmt::format("`shots` {}: study {} needs at least {}", shots, request.study,
                                    study.fewest_shots));
    if (std::ranges::count(request.shots, shots) > 1)
      throw usage_error(fmt::format("`shots`: {} is given twice", shots));
  }
}

StudyResult run_study(const StudyRequest& request, const std::filesystem::path& out,
                      const Progress& progress) {
  check(request);
  return StudyRun(study_named(request.study), request, out, progress).run();
}

}  // namespace deepvoro
