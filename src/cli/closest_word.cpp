#include "closest_word.hpp"

#include <CLI/StringTools.hpp>
#include <algorithm>
#include <string>
#include <vector>

namespace deepvoro {
namespace {

// Letters that are missing, too many, other ones or exchanged with the next.
std::size_t edits(std::string_view from, std::string_view to) {
  std::vector<std::vector<std::size_t>> table(from.size() + 1,
                                              std::vector<std::size_t>(to.size() + 1));
  for (std::size_t i = 0; i <= from.size(); ++i)
    for (std::size_t j = 0; j <= to.size(); ++j) {
      if (i == 0 || j == 0) {
        table[i][j] = i + j;
        continue;
      }
      const std::size_t other = from[i - 1] == to[j - 1] ? 0 : 1;
      table[i][j] =
          std::min({table[i - 1][j] + 1, table[i][j - 1] + 1, table[i - 1][j - 1] + other});
      if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1])
        table[i][j] = std::min(table[i][j], table[i - 2][j - 2] + 1);
    }
  return table.back().back();
}

}  // namespace

std::optional<std::string> closest_word(std::string_view written,
                                        std::span<const std::string> words) {
  const std::string small = CLI::detail::to_lower(std::string(written));
  const auto distance = [&](const std::string& word) {
    return edits(small, CLI::detail::to_lower(word));
  };
  const auto closest = std::ranges::min_element(words, {}, distance);
  if (closest == words.end() || 3 * distance(*closest) > std::max(written.size(), closest->size()))
    return {};
  return *closest;
}

}  // namespace deepvoro
