#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace deepvoro {

// In which setting `theirs` is another work than `ours`, in words for people: the one they most
// likely changed, such as the store, before what follows from it. How many pieces there are follows
// from the others.
[[nodiscard]] std::string difference_of_works(const nlohmann::json& theirs,
                                              const nlohmann::json& ours);

}  // namespace deepvoro
