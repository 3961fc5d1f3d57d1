#include "project.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "class_name.hpp"
#include "core/files.hpp"
#include "project_error.hpp"

namespace deepvoro {
namespace {

// Large pictures take much memory while they are decoded.
constexpr std::ptrdiff_t kDecodedAtOnce = 2;

}  // namespace

Project::Project(Parts parts)
    : options_(std::move(parts.options)),
      classifier_file_(std::move(parts.classifier_file)),
      queue_(std::move(parts.queue)),
      read_only_(parts.read_only),
      decoding_(kDecodedAtOnce),
      contents_(std::move(parts.contents)) {
  for (const auto& [id, picture] : contents_.pictures())
    next_order_ = std::max(next_order_, picture.order + 1);
  const bool is_saved = parts.fitted != nullptr;
  const std::shared_ptr<ProjectSnapshot> first = copied();
  add_classifier(*first, options_, std::move(parts.fitted));
  snapshot_ = first;
  if (read_only_) return;
  saver_ = std::make_unique<ClassifierSaver>(
      ClassifierSaver::Parts{.file = classifier_file_,
                             .last_snapshot = [this] { return snapshot(); },
                             .saved = is_saved ? revision_ : 0,
                             .problem = std::move(parts.problem)});
  saver_->wake();
}

std::shared_ptr<const ProjectSnapshot> Project::snapshot() const {
  const std::scoped_lock lock(snapshot_guard_);
  return snapshot_;
}

std::filesystem::path Project::pictures_folder() const {
  return contents_.folder() ? contents_.folder()->pictures() : std::filesystem::path();
}

std::vector<std::byte> Project::file_of(const std::string& id) const {
  const auto& folder = contents_.folder();
  const PictureHome home = snapshot()->picture(id).home;
  if (!folder)
    throw ProjectError(Refusal::missing, "a classifier without a folder has no pictures to show");
  const auto bytes_at = [&](const PictureHome& place) -> std::vector<std::byte> {
    const MappedFile file(folder->file_of(place));
    return {file.bytes().begin(), file.bytes().end()};
  };
  try {
    return bytes_at(home);
  } catch (const Error&) {  // a change that is under way has moved it
    const Lock lock(guard_);
    const auto found = contents_.pictures().find(id);
    if (found == contents_.pictures().end())
      throw ProjectError(Refusal::missing, "there is no such picture");
    return bytes_at(found->second.home);
  }
}

std::uint64_t Project::add_class(const std::string& name) {
  Lock lock(guard_);
  check_class_name(name, class_list());
  if (contents_.classes().contains(name))
    throw ProjectError(Refusal::invalid, fmt::format("there is a class '{}' already", name));
  return change(std::move(lock), {"add " + name, {ClassStep{{}, name}}});
}

std::uint64_t Project::remove_class(const std::string& name) {
  Lock lock(guard_);
  check_has_class(name);
  // No class begins with a dot.
  const ClassStep step{name, {}, fmt::format(".class-{}", removed_classes_++)};
  return change(std::move(lock), {"remove " + name, {step}});
}

std::uint64_t Project::rename_class(const std::string& name, const std::string& to) {
  Lock lock(guard_);
  check_has_class(name);
  if (name == to) return revision_;
  std::vector<std::string> others = class_list();
  std::erase(others, name);
  check_class_name(to, others);
  if (contents_.classes().contains(to))
    throw ProjectError(Refusal::invalid, fmt::format("there is a class '{}' already", to));
  return change(std::move(lock), {fmt::format("rename {} to {}", name, to), {ClassStep{name, to}}});
}

std::uint64_t Project::remove_picture(const std::string& id) {
  Lock lock(guard_);
  const auto found = contents_.pictures().find(id);
  if (found == contents_.pictures().end())
    throw ProjectError(Refusal::missing, "there is no such picture");
  const PictureHome home = found->second.home;
  return change(std::move(lock),
                {"remove a picture of " + home.class_name, {PictureStep{id, home, {}}}});
}

std::uint64_t Project::move_picture(const std::string& id, const std::string& to) {
  Lock lock(guard_);
  const auto found = contents_.pictures().find(id);
  if (found == contents_.pictures().end())
    throw ProjectError(Refusal::missing, "there is no such picture");
  const PictureHome home = found->second.home;
  if (home.class_name == to) return revision_;
  check_class_name(to, class_list());
  ProjectChange moved{fmt::format("move a picture from {} to {}", home.class_name, to), {}};
  if (!contents_.classes().contains(to)) moved.steps.emplace_back(ClassStep{{}, to});
  moved.steps.emplace_back(
      PictureStep{id, home, PictureHome{to, contents_.free_name(to, found->second)}});
  return change(std::move(lock), moved);
}

Project::Done Project::undo() {
  return go(ProjectHistory::Direction::undo);
}

Project::Done Project::redo() {
  return go(ProjectHistory::Direction::redo);
}

Project::Done Project::go(ProjectHistory::Direction direction) {
  Lock lock(guard_);
  const std::optional<ProjectChange> step = history_.next(direction);
  if (!step)
    throw ProjectError(Refusal::invalid, direction == ProjectHistory::Direction::undo
                                             ? "there is nothing that can be undone"
                                             : "there is nothing that can be done again");
  contents_.apply(*step);
  history_.went(direction);
  const std::uint64_t revision = ++revision_;
  lock.unlock();
  publish(revision);
  if (!has_files()) save();
  return {revision, step->what};
}

std::uint64_t Project::change(Lock lock, const ProjectChange& change) {
  contents_.apply(change);
  return did(std::move(lock), change);
}

std::uint64_t Project::did(Lock lock, const ProjectChange& change) {
  history_.add(change);
  const std::uint64_t revision = ++revision_;
  lock.unlock();
  publish(revision);
  if (has_files()) return revision;
  try {
    save();
  } catch (const Error& error) {
    revert(change);
    throw ProjectError(Refusal::storage, error.what());
  }
  return revision;
}

// A change that could not be saved. Where others came after it, it stays: they have it in them.
void Project::revert(const ProjectChange& change) {
  Lock lock(guard_);
  if (!history_.forget(change)) return;
  contents_.apply(inverse(change));
  const std::uint64_t revision = ++revision_;
  lock.unlock();
  publish(revision);
}

// Changes that come while one is fitted are fitted together.
void Project::publish(std::uint64_t revision) {
  const std::scoped_lock fitting(fitting_);
  if (const auto current = snapshot(); current && current->revision >= revision) return;
  std::shared_ptr<ProjectSnapshot> next;
  {
    const Lock lock(guard_);
    next = copied();
  }
  add_classifier(*next, options_);
  {
    const std::scoped_lock lock(snapshot_guard_);
    snapshot_ = next;
  }
  if (saver_) saver_->wake();
}

std::shared_ptr<ProjectSnapshot> Project::copied() const {
  auto copy = std::make_shared<ProjectSnapshot>();
  copy->revision = revision_;
  copy->classes = class_list();
  copy->pictures = contents_.pictures();
  copy->undo = history_.what(ProjectHistory::Direction::undo);
  copy->redo = history_.what(ProjectHistory::Direction::redo);
  return copy;
}

void Project::check_has_class(const std::string& name) const {
  if (!contents_.classes().contains(name))
    throw ProjectError(Refusal::missing, fmt::format("there is no class '{}'", name));
}

std::vector<std::string> Project::class_list() const {
  return {contents_.classes().begin(), contents_.classes().end()};
}

void Project::save() {
  if (saver_) saver_->save();
}

}  // namespace deepvoro
