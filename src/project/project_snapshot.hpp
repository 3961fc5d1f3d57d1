#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "deepvoro/classifier/classifier.hpp"
#include "project_contents.hpp"

namespace deepvoro {

// A project as it was after one of its changes. Never changes itself.
struct ProjectSnapshot {
  std::uint64_t revision = 0;
  std::vector<std::string> classes;                // by name; some may have no pictures
  std::map<std::string, ProjectPicture> pictures;  // by id
  std::shared_ptr<const Classifier> classifier;    // nullptr where there are no pictures
  std::vector<std::string> sample_ids;             // pictures that are its samples
  std::optional<std::string> undo;                 // what the last change was, if it can be undone
  std::optional<std::string> redo;

  [[nodiscard]] bool has_class(const std::string& name) const;
  // A ProjectError (missing) where there is none.
  [[nodiscard]] const ProjectPicture& picture(const std::string& id) const;
  [[nodiscard]] std::vector<const ProjectPicture*> pictures_of(const std::string& name) const;
};

// The classifier of the pictures, which is `fitted` where there is one already.
void add_classifier(ProjectSnapshot& snapshot, const ClassifierOptions& options,
                    std::shared_ptr<const Classifier> fitted = nullptr);

}  // namespace deepvoro
