#include "study/tuning_pieces.hpp"

#include <cstring>
#include <functional>
#include <span>

namespace deepvoro {
namespace {

Counts counts_of_piece(const PieceFile& piece, std::size_t members, std::uint64_t most) {
  const std::span<const std::byte> content = piece.content();
  Counts counts(members);
  if (content.size() != std::as_bytes(std::span(counts)).size()) piece.refuse_as_damaged();
  std::memcpy(counts.data(), content.data(), content.size());
  if (std::ranges::max(counts) > most) piece.refuse_as_damaged();
  return counts;
}

}  // namespace

std::span<const std::byte> bytes_of_counts(const Counts& counts) {
  return std::as_bytes(std::span(counts));
}

std::vector<Counts> counts_of_stage(const TuningPieces& pieces, std::size_t number,
                                    const std::vector<TuningStep>& stage, const EpisodeShape& shape,
                                    const std::function<PieceFile(std::size_t)>& open) {
  std::vector<Counts> sums;
  sums.reserve(stage.size());
  for (const TuningStep& step : stage) sums.emplace_back(step.members.size());
  const PieceRange all = pieces.pieces_of_stage(number);
  for (std::size_t piece = all.begin; piece < all.end; ++piece) {
    Counts& sum = sums[pieces.step_of(number, piece)];
    const Counts counts = counts_of_piece(open(piece), sum.size(),
                                          pieces.episodes_of(piece).size() * shape.total_queries());
    std::ranges::transform(sum, counts, sum.begin(), std::plus{});
  }
  return sums;
}

}  // namespace deepvoro
