#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "pickle_value.hpp"

namespace deepvoro::pickle {

// One unpickled object; text and bytes in it point into the bytes it was read from.
struct Document {
  Objects objects;
  Value root;
};

// Reads protocols 0 to 5. Only objects of pickle_value.hpp can come out, and nothing is executed.
// Memory stays within a small multiple of the number of bytes. `where` names the file in errors.
[[nodiscard]] Document read_pickle(std::span<const std::byte> bytes, const std::string& where);

}  // namespace deepvoro::pickle
