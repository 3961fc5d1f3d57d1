#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace deepvoro {

// The word that was probably meant: the one that takes the fewest letters to add, drop or change,
// unless that is more than a third of what was written.
[[nodiscard]] std::optional<std::string> closest_word(std::string_view written,
                                                      std::span<const std::string> words);

}  // namespace deepvoro
