#include "closest_word.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace deepvoro {
namespace {

// Levenshtein's distance, a row of its table at a time.
std::size_t edits(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < to.size(); ++j) {
      const std::size_t changed = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j + 1] + 1, row[j] + 1, changed});
    }
  }
  return row.back();
}

}  // namespace

std::optional<std::string> closest_word(std::string_view written,
                                        std::span<const std::string> words) {
  const auto distance = [&](const std::string& word) { return edits(written, word); };
  const auto closest = std::ranges::min_element(words, {}, distance);
  if (closest == words.end() || 3 * distance(*closest) > std::max(written.size(), closest->size()))
    return {};
  return *closest;
}

}  // namespace deepvoro
