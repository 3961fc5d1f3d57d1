#include "cluster/crew.hpp"

#include <fmt/format.h>

#include <vector>

#include "cluster/desks.hpp"
#include "core/text.hpp"
#include "deepvoro/cluster/work_in_crew.hpp"
#include "shard/mpi_share.hpp"

namespace deepvoro {

Crew::Crew(Messenger& messenger) : messenger_(messenger) {
  if (speaks())
    desk_ = std::make_unique<DealersDesk>(messenger);
  else
    desk_ = std::make_unique<DistantDesk>(messenger);
}

std::string Crew::name() const {
  const auto size = static_cast<std::size_t>(messenger_.size());
  const std::string work = fmt::format("the work of {}", counted(size, "process", "processes"));
  return size == 1 && !share_of_mpi() ? work + " (not started by mpirun)" : work;
}

std::size_t Crew::count(std::span<const PieceRange> groups) const {
  std::size_t pieces = 0;
  for (const PieceRange& group : groups) pieces += group.size();
  return pieces;
}

std::size_t Crew::deal(std::span<const PieceRange> groups, const MissingPieces& missing,
                       const MakePieces& make, const Progress& progress) {
  std::size_t made = 0;
  if (speaks()) {
    std::vector<PieceRange> runs;
    for (const PieceRange& group : groups)
      for (const PieceRange& run : missing(group)) runs.push_back(run);
    made = count(runs);
    desk_->lay_out(runs);
  }
  for (;;) {
    const Dealt dealt = desk_->ask();
    if (dealt.answer == Answer::all_made) return made;
    if (dealt.answer != Answer::make) throw StoppedByAnother();
    if (progress) progress(desk_->dealt());
    make(dealt.pieces, {});
  }
}

}  // namespace deepvoro
