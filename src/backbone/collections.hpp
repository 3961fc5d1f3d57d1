#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "picture/collection.hpp"

namespace deepvoro {

// Where the pictures of each split lie: `pictures` may hold base, val and novel as folders, .json,
// .csv, .tar, .tar.gz, .tgz, .zip or idx files. Empty when it holds none of them, and so is one
// collection itself.
[[nodiscard]] std::map<std::string, std::filesystem::path> split_collections(
    const std::filesystem::path& pictures);

// A folder that has pictures and no folders holds pictures of one class, "unlabelled".
[[nodiscard]] PictureCollection open_collection(const std::filesystem::path& path,
                                                ClassFolders folders);

}  // namespace deepvoro
