#pragma once

#include <filesystem>

namespace deepvoro {

// What is written beside its final name, file or folder, has a random name that begins as the final
// one, and is locked by the process that writes it. A lock ends with its process, however that
// ends: what nobody holds is left over.

// A name that does not exist yet.
[[nodiscard]] std::filesystem::path temporary_name(const std::filesystem::path& final_name);

// Locks the file or folder of a descriptor; false where somebody took it for left over before.
[[nodiscard]] bool lock_temporary(int descriptor);

// Removes what earlier processes left over beside a final name.
void remove_leftovers(const std::filesystem::path& final_name);

}  // namespace deepvoro
