#pragma once

#include <cstddef>
#include <ctime>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "core/descriptor.hpp"

namespace deepvoro {

// Where a picture lies: in the folder of its class, under a name that may have folders in it.
struct PictureHome {
  std::string class_name;
  std::string name;

  bool operator==(const PictureHome&) const = default;
};

// The files of a project: a folder of pictures for each class in `pictures`, or in the project's
// folder itself, and `classifier.dv`. What is removed lies in `.removed` until the project is
// opened again. Every change is on disk when its function returns, whole or not at all; one that
// fails is a ProjectError (storage). One process at a time has a folder for changes.
class ProjectFolder {
 public:
  enum class Access { read_only, changes };
  // A folder that is not there is made. A data error where another process has it.
  ProjectFolder(const std::filesystem::path& folder, Access access);
  // The same data error, or one where nothing can be written there. What is made to find out is
  // removed again.
  static void check_for_changes(const std::filesystem::path& folder);

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  [[nodiscard]] const std::filesystem::path& pictures() const { return pictures_; }
  [[nodiscard]] std::filesystem::path classifier_file() const { return folder_ / "classifier.dv"; }
  // The name of the network, which is needed before there is a classifier to tell it.
  [[nodiscard]] std::filesystem::path backbone_file() const { return folder_ / ".backbone"; }
  [[nodiscard]] std::filesystem::path file_of(const PictureHome& home) const;
  // Where a removed picture or class is kept.
  [[nodiscard]] std::filesystem::path removed(const std::string& name) const;
  [[nodiscard]] std::filesystem::path folder_of(const std::string& class_name) const;

  struct Found {
    PictureHome home;
    timespec changed{};  // when anything about the file changed last
    timespec written{};  // when its contents did
  };
  struct Contents {
    std::vector<std::string> classes;  // by name; some may have no pictures
    std::vector<Found> pictures;       // by class and name
  };
  [[nodiscard]] Contents contents() const;

  void write(const PictureHome& home, std::span<const std::byte> bytes) const;
  void make_class(const std::string& class_name) const;
  // A picture, or the folder of a class with all that is in it.
  void move(const std::filesystem::path& from, const std::filesystem::path& to) const;
  void remove_empty_class(const std::string& class_name) const;

 private:
  std::filesystem::path folder_;
  std::filesystem::path pictures_;
  Descriptor lock_;
};

}  // namespace deepvoro
