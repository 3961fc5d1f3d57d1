#include "deepvoro/cluster/work_in_crew.hpp"

#include <fmt/format.h>

#include "cluster/crew.hpp"
#include "cluster/load_library.hpp"
#include "shard/mpi_share.hpp"

namespace deepvoro {
namespace {

// With the mpirun of another MPI, each process takes itself for the only one.
void refuse_other_mpi(const Messenger& messenger) {
  const std::optional<Share> told = share_of_mpi();
  if (!told || told->count == static_cast<std::size_t>(messenger.size())) return;
  throw data_error(
      fmt::format("`shard` mpi: mpirun started {} processes, but the MPI of this build sees {}; "
                  "use the mpirun of the same MPI",
                  told->count, messenger.size()));
}

}  // namespace

void work_in_crew(const std::function<void(PieceDealer&)>& work) {
  const std::unique_ptr<Messenger> messenger = mpi_messenger();
  refuse_other_mpi(*messenger);
  Crew crew(*messenger);
  try {
    work(crew);
  } catch (const StoppedByAnother&) {
    throw;
  } catch (...) {
    if (!crew.fail()) throw StoppedByAnother();
    throw;
  }
}

}  // namespace deepvoro
