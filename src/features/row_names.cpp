#include "deepvoro/features/row_names.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <sstream>

#include "core/files.hpp"
#include "core/text.hpp"
#include "deepvoro/core/error.hpp"
#include "store_files.hpp"

namespace deepvoro {

std::vector<std::string> row_names(const FeatureStore& store, const std::string& split) {
  const std::filesystem::path file = names_file(store.folder(), split);
  const std::size_t rows = store.split(split).samples;
  std::error_code unreadable;
  if (!std::filesystem::exists(file, unreadable)) return {};
  std::vector<std::string> names;
  std::istringstream lines(read_text(file));
  for (std::string line; std::getline(lines, line);) {
    if (!is_text_line(line))
      throw data_error(
          fmt::format("{}: line {} is not UTF-8 text", file.string(), names.size() + 1));
    names.push_back(line);
  }
  if (names.size() != rows)
    throw data_error(fmt::format("{}: has {}, but the split has {}; extract the features again",
                                 file.string(), counted(names.size(), "name"),
                                 counted(rows, "row")));
  return names;
}

}  // namespace deepvoro
