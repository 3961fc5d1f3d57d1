#include "project_history.hpp"

#include <utility>

namespace deepvoro {
namespace {

constexpr std::size_t kMostUndone = 200;

}  // namespace

void ProjectHistory::add(const ProjectChange& change) {
  if (!change.group.empty() && !done_.empty() && done_.back().group == change.group) {
    std::vector<ProjectStep>& steps = done_.back().steps;
    steps.insert(steps.end(), change.steps.begin(), change.steps.end());
    done_.back().what = "teach pictures";
  } else {
    done_.push_back(change);
  }
  if (done_.size() > kMostUndone) done_.erase(done_.begin());
  undone_.clear();
}

bool ProjectHistory::forget(const ProjectChange& change) {
  if (done_.empty() || done_.back().what != change.what || !change.group.empty()) return false;
  done_.pop_back();
  return true;
}

std::optional<std::string> ProjectHistory::what(Direction direction) const {
  const std::vector<ProjectChange>& from = direction == Direction::undo ? done_ : undone_;
  if (from.empty()) return std::nullopt;
  return from.back().what;
}

std::optional<ProjectChange> ProjectHistory::next(Direction direction) const {
  const std::vector<ProjectChange>& from = direction == Direction::undo ? done_ : undone_;
  if (from.empty()) return std::nullopt;
  return inverse(from.back());
}

void ProjectHistory::went(Direction direction) {
  std::vector<ProjectChange>& from = direction == Direction::undo ? done_ : undone_;
  std::vector<ProjectChange>& to = direction == Direction::undo ? undone_ : done_;
  to.push_back(inverse(from.back()));
  from.pop_back();
}

}  // namespace deepvoro
