#include <mpi.h>

#include "cluster/messenger.hpp"
#include "deepvoro/core/export.hpp"

namespace deepvoro {
namespace {

// Errors end the job, as MPI does where nothing else is asked for.
class MpiMessenger final : public Messenger {
 public:
  MpiMessenger() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  MpiMessenger(const MpiMessenger&) = delete;
  MpiMessenger& operator=(const MpiMessenger&) = delete;
  ~MpiMessenger() override { MPI_Finalize(); }

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }

  void send(const Letter& to) override {
    MPI_Send(to.words.data(), static_cast<int>(to.words.size()), MPI_UINT64_T, to.rank, 0,
             MPI_COMM_WORLD);
  }

  std::optional<Letter> receive() override {
    int has_arrived = 0;
    MPI_Status status{};
    MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &has_arrived, &status);
    if (has_arrived == 0) return {};
    Letter letter{status.MPI_SOURCE, {}};
    MPI_Recv(letter.words.data(), static_cast<int>(letter.words.size()), MPI_UINT64_T, letter.rank,
             0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return letter;
  }

 private:
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace
}  // namespace deepvoro

extern "C" DEEPVORO_API deepvoro::Messenger* deepvoro_mpi_messenger() {
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
  if (provided < MPI_THREAD_SERIALIZED) {
    MPI_Finalize();
    return nullptr;
  }
  return new deepvoro::MpiMessenger();
}
