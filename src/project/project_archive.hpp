#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "project.hpp"

namespace deepvoro {

// A whole project as a .zip: pictures/CLASS/NAME of each picture, pictures/CLASS/ of each class
// without any, and classifier.dv. Whole or not at all; a picture that was removed meanwhile is left
// out.
void write_archive(const Project& project, const ProjectSnapshot& snapshot,
                   const std::filesystem::path& file);

// The pictures of an archive: in folders that are called as their class, at any depth; everything
// else is passed over. `files` own what the pictures refer to. `classes` are those of a project
// that may have no pictures.
struct ArchivedPictures {
  std::vector<std::vector<std::byte>> files;
  std::vector<Project::NewPicture> pictures;
  std::vector<std::string> classes;
};
// `limit`: bytes of all of them unpacked; more is a data error.
[[nodiscard]] ArchivedPictures read_archive(std::span<const std::byte> file, std::size_t limit);

}  // namespace deepvoro
