#pragma once

#include <memory>

#include "cluster/messenger.hpp"

namespace deepvoro {

// MPI, by the library that sees it, which is loaded now. Once in a process.
[[nodiscard]] std::unique_ptr<Messenger> mpi_messenger();

}  // namespace deepvoro
