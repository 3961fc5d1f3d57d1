#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/files.hpp"

namespace deepvoro {

// The files in one folder of an npm package, which is a .tgz or was unpacked. Nothing is written.
class Package {
 public:
  // `from` is the .tgz, the package's own folder, one that holds it as `package`, or the `folder`
  // in it.
  Package(const std::filesystem::path& from, const std::string& folder);

  // Bytes of a file, as long as the package lives. A name that is missing or leads elsewhere is a
  // data error.
  [[nodiscard]] std::span<const std::byte> file(const std::string& name);
  [[nodiscard]] bool has(const std::string& name) const;
  [[nodiscard]] std::string where(const std::string& name) const;

 private:
  void open_archive(const std::string& folder);

  std::filesystem::path from_;
  std::map<std::string, std::vector<std::byte>> members_;
  std::filesystem::path folder_;
  std::map<std::string, MappedFile> files_;
};

}  // namespace deepvoro
