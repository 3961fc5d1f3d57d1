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

// Throws where `pictures` holds others besides, which would be ignored: `splits` are not all three,
// and a folder with pictures, an archive or a picture belongs to none.
void check_nothing_beside(const std::filesystem::path& pictures,
                          const std::map<std::string, std::filesystem::path>& splits);

// A folder that has pictures and no folders holds pictures of one class, "unlabelled".
[[nodiscard]] PictureCollection open_collection(const std::filesystem::path& path,
                                                ClassFolders folders);

}  // namespace deepvoro
