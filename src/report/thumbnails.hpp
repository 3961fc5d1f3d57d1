#pragma once

#include <filesystem>

#include "report/sections/sections.hpp"

namespace deepvoro {

// Small pictures of the samples of a store, from the collection its features were made of: the
// n-th sample of a class is its n-th picture, if it has as many of both.
[[nodiscard]] Thumbnails thumbnails_from(const std::filesystem::path& collection);

}  // namespace deepvoro
