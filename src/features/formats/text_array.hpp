#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace deepvoro {

// The elements of a .npy vector of texts (NumPy's <U and |S) as UTF-8; nothing where it holds
// something else. Errors name `where`.
[[nodiscard]] std::optional<std::vector<std::string>> npy_texts(std::span<const std::byte> bytes,
                                                                const std::string& where);

}  // namespace deepvoro
