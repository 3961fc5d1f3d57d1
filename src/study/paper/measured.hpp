#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "deepvoro/episodes/statistics.hpp"
#include "deepvoro/study/evaluate.hpp"
#include "study/paper/study_run.hpp"

// The steps that studies have in common.
namespace deepvoro {

// What an evaluation gave.
struct Measured {
  EpisodeShape shape;
  std::vector<std::uint64_t> correct;  // queries of each episode
  std::size_t members = 1;
  std::optional<double> val_accuracy = {};  // of members that were chosen there

  [[nodiscard]] std::vector<double> episode_accuracy() const;  // percent
  [[nodiscard]] Estimate accuracy() const;
};

// What outcomes of these members on the episodes of a unit depend on.
[[nodiscard]] nlohmann::json study_key(const StudyUnit& unit, const Pool& members);

// A method as it is without any options, on novel.
[[nodiscard]] Evaluation usual_evaluation(const StudyUnit& unit, Method method);

[[nodiscard]] Measured measured(const StudyUnit& unit, const Evaluation& request, double share);

// The members that `tune` chooses on val for the unit's store and shots.
struct TunedPool {
  std::filesystem::path file;
  Pool members;
};
[[nodiscard]] TunedPool tuned_pool(const StudyUnit& unit, Method method, double share);

// The tuned members, as many as did best together on val.
[[nodiscard]] Evaluation guided_evaluation(const StudyUnit& unit, Method method,
                                           const TunedPool& pool);

// All these members together on novel.
[[nodiscard]] Measured measured_together(const StudyUnit& unit, const Pool& members, double share);

// The mean over members of what each gives by itself, of each episode of novel, in percent.
[[nodiscard]] std::vector<double> mean_of_members(const StudyUnit& unit, const Pool& members,
                                                  double share);

// Each member by itself on a split, episode by episode: for few members.
[[nodiscard]] std::vector<Measured> measured_alone(const StudyUnit& unit, const std::string& split,
                                                   const Pool& members, double share);

// Accuracy of each member by itself on a split, in percent.
[[nodiscard]] std::vector<double> member_accuracy(const StudyUnit& unit, const std::string& split,
                                                  const Pool& members, double share);

}  // namespace deepvoro
