#include "package.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/archive.hpp"
#include "deepvoro/core/error.hpp"

namespace deepvoro {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLargestArchive = std::size_t{256} << 20U;

}  // namespace

Package::Package(const fs::path& from, const std::string& folder) : from_(from) {
  if (!fs::exists(from))
    throw data_error(
        fmt::format("{}: does not exist; `from` takes a folder or .tgz", from.string()));
  if (!fs::is_directory(from)) {
    open_archive(folder);
    return;
  }
  folder_ = from;
  for (const fs::path& inside : {fs::path(folder), "package" / fs::path(folder)})
    if (fs::is_directory(from / inside)) folder_ = from / inside;
}

void Package::open_archive(const std::string& folder) {
  const MappedFile archive(from_);
  if (archive.bytes().size() > kLargestArchive)
    throw data_error(fmt::format("{}: has more than the {} bytes a package may have",
                                 from_.string(), kLargestArchive));
  const std::string start = "package/" + folder + "/";  // npm packs everything in `package`
  ArchiveReader reader(archive.bytes(), from_.string());
  std::size_t left = kLargestArchive;
  while (const std::optional<std::string> path = reader.next()) {
    if (!path->starts_with(start)) continue;
    auto [in_place, unpacked] = reader.content(left);
    if (unpacked.empty()) unpacked.assign(in_place.begin(), in_place.end());
    left -= std::min(left, unpacked.size());
    members_[path->substr(start.size())] = std::move(unpacked);
  }
}

std::span<const std::byte> Package::file(const std::string& name) {
  if (name.empty() || name.find('/') != std::string::npos || name == "..")
    throw data_error(
        fmt::format("{}: lists a file '{}' outside of its folder; get the package again",
                    from_.string(), name));
  if (!folder_.empty()) {
    const auto [found, is_new] = files_.try_emplace(name);
    if (is_new) found->second = MappedFile(folder_ / name);
    return found->second.bytes();
  }
  const auto found = members_.find(name);
  if (found == members_.end())
    throw data_error(
        fmt::format("{}: holds no {}; it is another package or damaged", from_.string(), name));
  return found->second;
}

bool Package::has(const std::string& name) const {
  return folder_.empty() ? members_.contains(name) : fs::exists(folder_ / name);
}

std::string Package::where(const std::string& name) const {
  return folder_.empty() ? fmt::format("{}: {}", from_.string(), name) : (folder_ / name).string();
}

}  // namespace deepvoro
