#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "project.hpp"

namespace deepvoro {

// What would be said of each picture if it had not been taught.
struct ProjectCheck {
  struct Picture {
    std::string id;
    std::size_t label = 0;                   // its class
    std::size_t answer = 0;                  // class that it is taken for
    std::optional<double> probability = {};  // of that one
    double doubt = 0;                        // 1 minus the probability of its own class
  };
  std::vector<std::string> classes;  // of the classifier
  std::vector<Picture> pictures;     // the most doubtful first; not those alone in a class
  std::vector<std::vector<std::size_t>> counts;  // [class][answer]
  std::map<std::string, std::size_t> places;     // in `pictures`, by id

  [[nodiscard]] std::size_t right() const;
};

[[nodiscard]] ProjectCheck check_project(const ProjectSnapshot& project);

}  // namespace deepvoro
