#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "embedding_queue.hpp"
#include "project_folder.hpp"

namespace deepvoro {

struct ProjectPicture {
  std::string id;  // made here, and kept while the project is open
  PictureHome home;
  std::uint64_t order = 0;  // larger is newer
  std::shared_ptr<const PictureFeatures> features;
};

// A picture goes from one place to another; no place is that of removed ones.
struct PictureStep {
  std::string id;
  std::optional<PictureHome> from;
  std::optional<PictureHome> to;
};

// A class gets its name, loses it, or gets another one.
struct ClassStep {
  std::optional<std::string> from;
  std::optional<std::string> to;
  // What its folder is called among removed ones. Empty: it has no pictures when it comes or goes.
  std::string kept = {};
};

using ProjectStep = std::variant<PictureStep, ClassStep>;

struct ProjectChange {
  std::string what;  // for people: "remove magpie"
  std::vector<ProjectStep> steps;
  std::string group = {};  // neighbours of one group are undone together; empty: by itself
};

// What undoes a change.
[[nodiscard]] ProjectChange inverse(const ProjectChange& change);

// Classes and pictures of a project, and their files, if it has any: both change together. One
// thread at a time.
class ProjectContents {
 public:
  explicit ProjectContents(std::optional<ProjectFolder> folder) : folder_(std::move(folder)) {}

  [[nodiscard]] const std::optional<ProjectFolder>& folder() const { return folder_; }
  [[nodiscard]] const std::set<std::string>& classes() const { return classes_; }
  [[nodiscard]] const std::map<std::string, ProjectPicture>& pictures() const { return pictures_; }

  // What is on disk already.
  void know(const std::string& class_name) { classes_.insert(class_name); }
  void know(ProjectPicture picture);

  // A new picture, in a class that is there.
  void add(ProjectPicture picture, std::span<const std::byte> bytes);

  // All steps, or none where one fails.
  void apply(const ProjectChange& change);

  // A name that no picture of a class has.
  [[nodiscard]] std::string free_name(const std::string& class_name,
                                      const ProjectPicture& picture) const;

 private:
  void apply_step(const PictureStep& step);
  void apply_step(const ClassStep& step);
  void remove_class(const std::string& name, const std::string& kept);
  void restore_class(const std::string& name, const std::string& kept);
  void rename_class(const std::string& from, const std::string& to);
  [[nodiscard]] std::filesystem::path place_of(const std::string& id, const std::string& name,
                                               const std::optional<PictureHome>& home) const;

  std::optional<ProjectFolder> folder_;
  std::set<std::string> classes_;
  std::map<std::string, ProjectPicture> pictures_;  // by id
  std::map<std::string, ProjectPicture> removed_;   // by id
};

}  // namespace deepvoro
