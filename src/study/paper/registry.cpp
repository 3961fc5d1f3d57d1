#include "study/paper/registry.hpp"

#include <array>

namespace deepvoro {

// Each in a file of its own.
PaperStudy members_study();
PaperStudy ensemble_size_study();
PaperStudy ablation_study();
PaperStudy joint_study();
PaperStudy surrogate_grid_study();
PaperStudy surrogate_pattern_study();
PaperStudy shots_study();
PaperStudy outliers_study();
PaperStudy embedding_study();
PaperStudy diagram_study();
PaperStudy time_study();
PaperStudy backbones_study();
PaperStudy procedures_study();
PaperStudy cross_domain_study();

std::span<const PaperStudy> registered_studies() {
  static const std::array studies{
      members_study(),        ensemble_size_study(),     ablation_study(), joint_study(),
      surrogate_grid_study(), surrogate_pattern_study(), shots_study(),    outliers_study(),
      embedding_study(),      diagram_study(),           time_study(),     backbones_study(),
      procedures_study(),     cross_domain_study(),
  };
  return studies;
}

}  // namespace deepvoro
