#pragma once

#include <string>
#include <vector>

#include "core/matrix.hpp"
#include "ensemble/selection.hpp"
#include "study/paper/study_run.hpp"

namespace deepvoro {

// The first episode of a unit and the base classes, as a figure shows them: the first view, rows of
// two dimensions as they are, others of unit length and their elements' square roots.
struct ShownEpisode {
  explicit ShownEpisode(const StudyUnit& unit);

  std::string preparation;  // what was done to rows, in words
  EpisodeShape shape;
  std::vector<std::string> classes;  // of the ways
  Matrix<double> support;            // class by class
  Matrix<double> queries;            // class by class
  std::vector<std::string> base_classes;
  std::vector<std::vector<std::size_t>> base_rows;  // of each base class
  Matrix<double> base;
  Matrix<double> base_means;  // of each base class
  Matrix<double> prototypes;  // of the ways
};

}  // namespace deepvoro
