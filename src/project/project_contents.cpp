#include "project_contents.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

#include "project_error.hpp"

namespace deepvoro {
namespace {

namespace fs = std::filesystem;

struct Inverse {
  ProjectStep operator()(const PictureStep& step) const {
    return PictureStep{step.id, step.to, step.from};
  }
  ProjectStep operator()(const ClassStep& step) const {
    return ClassStep{step.to, step.from, step.kept};
  }
};

}  // namespace

ProjectChange inverse(const ProjectChange& change) {
  ProjectChange back{change.what, {}, change.group};
  std::transform(change.steps.rbegin(), change.steps.rend(), std::back_inserter(back.steps),
                 [](const ProjectStep& step) { return std::visit(Inverse{}, step); });
  return back;
}

void ProjectContents::know(ProjectPicture picture) {
  classes_.insert(picture.home.class_name);
  std::string id = picture.id;
  pictures_.insert_or_assign(std::move(id), std::move(picture));
}

void ProjectContents::add(ProjectPicture picture, std::span<const std::byte> bytes) {
  if (folder_) folder_->write(picture.home, bytes);
  know(std::move(picture));
}

void ProjectContents::apply(const ProjectChange& change) {
  ProjectChange done{change.what, {}};
  try {
    for (const ProjectStep& step : change.steps) {
      std::visit([this](const auto& one) { apply_step(one); }, step);
      done.steps.push_back(step);
    }
  } catch (...) {
    for (const ProjectStep& step : inverse(done).steps)
      std::visit([this](const auto& one) { apply_step(one); }, step);
    throw;
  }
}

std::string ProjectContents::free_name(const std::string& class_name,
                                       const ProjectPicture& picture) const {
  const PictureHome wanted{class_name, picture.home.name};
  const bool is_taken = std::ranges::any_of(
      pictures_, [&](const auto& other) { return other.second.home == wanted; });
  if (!is_taken) return picture.home.name;
  return picture.id + fs::path(picture.home.name).extension().string();
}

fs::path ProjectContents::place_of(const std::string& id, const std::string& name,
                                   const std::optional<PictureHome>& home) const {
  return home ? folder_->file_of(*home)
              : folder_->removed(id + fs::path(name).extension().string());
}

void ProjectContents::apply_step(const PictureStep& step) {
  auto& source = step.from ? pictures_ : removed_;
  const auto found = source.find(step.id);
  if (found == source.end()) throw ProjectError(Refusal::missing, "the picture is not there");
  ProjectPicture picture = found->second;
  if (folder_)
    folder_->move(place_of(step.id, picture.home.name, step.from),
                  place_of(step.id, picture.home.name, step.to));
  source.erase(found);
  if (step.to) picture.home = *step.to;
  (step.to ? pictures_ : removed_).insert_or_assign(step.id, std::move(picture));
}

void ProjectContents::apply_step(const ClassStep& step) {
  if (step.from && step.to)
    rename_class(*step.from, *step.to);
  else if (step.from)
    remove_class(*step.from, step.kept);
  else if (step.to)
    restore_class(*step.to, step.kept);
}

void ProjectContents::remove_class(const std::string& name, const std::string& kept) {
  if (folder_ && kept.empty()) folder_->remove_empty_class(name);
  if (folder_ && !kept.empty()) folder_->move(folder_->folder_of(name), folder_->removed(kept));
  classes_.erase(name);
  for (auto picture = pictures_.begin(); picture != pictures_.end();)
    if (picture->second.home.class_name == name) {
      picture->second.home.class_name = kept;
      removed_.insert(pictures_.extract(picture++));
    } else {
      ++picture;
    }
}

void ProjectContents::restore_class(const std::string& name, const std::string& kept) {
  if (folder_ && kept.empty()) folder_->make_class(name);
  if (folder_ && !kept.empty()) folder_->move(folder_->removed(kept), folder_->folder_of(name));
  classes_.insert(name);
  if (kept.empty()) return;
  for (auto picture = removed_.begin(); picture != removed_.end();)
    if (picture->second.home.class_name == kept) {
      picture->second.home.class_name = name;
      pictures_.insert(removed_.extract(picture++));
    } else {
      ++picture;
    }
}

void ProjectContents::rename_class(const std::string& from, const std::string& to) {
  if (folder_) folder_->move(folder_->folder_of(from), folder_->folder_of(to));
  classes_.erase(from);
  classes_.insert(to);
  for (auto& [id, picture] : pictures_)
    if (picture.home.class_name == from) picture.home.class_name = to;
}

}  // namespace deepvoro
