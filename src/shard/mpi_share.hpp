#pragma once

#include <optional>

#include "deepvoro/shard/share.hpp"

namespace deepvoro {

// Which of how many processes this is, where mpirun says so.
[[nodiscard]] std::optional<Share> share_of_mpi();

}  // namespace deepvoro
