#pragma once

#include <filesystem>

#include "feature_table.hpp"

namespace deepvoro {

// {class: [vector, ...]} as the feature files of S2M2, Distribution Calibration and DeepVoro have
// it; a matrix in place of a list will do. Rows come out class by class, in ascending order of
// class, so that files whose dicts were filled in another order still agree.
[[nodiscard]] FeatureTable read_pickle_table(const std::filesystem::path& file);

}  // namespace deepvoro
