#pragma once

#include <optional>
#include <string>
#include <vector>

#include "project_contents.hpp"

namespace deepvoro {

// What was done to a project and can be undone, and what was undone and can be done again.
class ProjectHistory {
 public:
  enum class Direction { undo, redo };

  // Neighbours of one group become one. Nothing can be done again after it.
  void add(const ProjectChange& change);
  // Of the change that could not be kept, if it is the last and a step by itself.
  bool forget(const ProjectChange& change);

  // What the next step that way is about.
  [[nodiscard]] std::optional<std::string> what(Direction direction) const;
  // What to apply to go one step that way; nothing where there is none.
  [[nodiscard]] std::optional<ProjectChange> next(Direction direction) const;
  // After that was applied.
  void went(Direction direction);

 private:
  std::vector<ProjectChange> done_;
  std::vector<ProjectChange> undone_;
};

}  // namespace deepvoro
