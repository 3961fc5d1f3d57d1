#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace deepvoro {

struct TarMember {
  std::string path;  // as the archive has it
  std::size_t offset = 0;
  std::size_t size = 0;
};

// The regular files of an archive. Folders, links and devices are passed over; what is damaged is a
// data error.
[[nodiscard]] std::vector<TarMember> tar_members(std::string_view archive,
                                                 const std::string& where);

}  // namespace deepvoro
