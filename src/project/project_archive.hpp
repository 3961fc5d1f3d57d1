#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "project.hpp"

namespace deepvoro {

// A whole project as a .zip: pictures/CLASS/NAME of each picture, and classifier.dv. Whole or not
// at all; a picture that was removed meanwhile is left out.
void write_archive(const Project& project, const ProjectSnapshot& snapshot,
                   const std::filesystem::path& file);

// The pictures of an archive: in folders that are called as their class, at any depth; everything
// else is passed over. `files` own what the pictures refer to.
struct ArchivedPictures {
  std::vector<std::vector<std::byte>> files;
  std::vector<Project::NewPicture> pictures;
};
// `limit`: bytes of all of them unpacked; more is a data error.
[[nodiscard]] ArchivedPictures read_archive(std::span<const std::byte> file, std::size_t limit);

}  // namespace deepvoro
