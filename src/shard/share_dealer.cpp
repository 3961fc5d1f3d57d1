#include <fmt/format.h>

#include "shard/piece_folder.hpp"

namespace deepvoro {

PieceRange ShareDealer::own_part(PieceRange group) const {
  const PieceRange part = part_of_share(share_, group.size());
  return {group.begin + part.begin, group.begin + part.end};
}

std::string ShareDealer::name() const {
  return fmt::format("share {} of {}", share_.index, share_.count);
}

std::size_t ShareDealer::count(std::span<const PieceRange> groups) const {
  std::size_t pieces = 0;
  for (const PieceRange& group : groups) pieces += own_part(group).size();
  return pieces;
}

std::size_t ShareDealer::deal(std::span<const PieceRange> groups, const MissingPieces& missing,
                              const MakePieces& make, const Progress& progress) {
  std::vector<PieceRange> runs;
  for (const PieceRange& group : groups)
    for (const PieceRange& run : missing(own_part(group))) runs.push_back(run);
  std::size_t made = 0;
  for (std::size_t i = 0; i < runs.size(); made += runs[i++].size())
    make(runs[i], part_of(progress, i, runs.size()));
  return made;
}

}  // namespace deepvoro
