#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "deepvoro/core/export.hpp"
#include "deepvoro/core/progress.hpp"
#include "deepvoro/shard/share.hpp"

namespace deepvoro {

// Pieces from `begin` to before `end`.
struct PieceRange {
  std::size_t begin = 0;
  std::size_t end = 0;

  bool operator==(const PieceRange&) const = default;
  [[nodiscard]] std::size_t size() const { return end - begin; }
};

// Those among a range that are not there yet, as far as they follow each other.
using MissingPieces = std::function<std::vector<PieceRange>(PieceRange)>;
using MakePieces = std::function<void(PieceRange, const Progress&)>;

// Says which pieces of some work this process makes.
class DEEPVORO_API PieceDealer {
 public:
  PieceDealer() = default;
  PieceDealer(const PieceDealer&) = delete;
  PieceDealer& operator=(const PieceDealer&) = delete;
  virtual ~PieceDealer() = default;

  // As in "share 2 of 8".
  [[nodiscard]] virtual std::string name() const = 0;
  // Whether this process tells of the work; of several that work together one does.
  [[nodiscard]] virtual bool speaks() const = 0;
  // How many pieces of some groups are dealt to those this process speaks for.
  [[nodiscard]] virtual std::size_t count(std::span<const PieceRange> groups) const = 0;
  // Has the missing ones of these made, ranges within one group at a time; how many they were. A
  // group is pieces that cost about the same, so that each worker gets some of each.
  virtual std::size_t deal(std::span<const PieceRange> groups, const MissingPieces& missing,
                           const MakePieces& make, const Progress& progress) = 0;
};

// Deals one of several equal shares, without knowing of the others.
class DEEPVORO_API ShareDealer final : public PieceDealer {
 public:
  explicit ShareDealer(const Share& share) : share_(share) {}

  [[nodiscard]] std::string name() const override;
  [[nodiscard]] bool speaks() const override { return true; }
  [[nodiscard]] std::size_t count(std::span<const PieceRange> groups) const override;
  std::size_t deal(std::span<const PieceRange> groups, const MissingPieces& missing,
                   const MakePieces& make, const Progress& progress) override;

 private:
  [[nodiscard]] PieceRange own_part(PieceRange group) const;

  Share share_;
};

}  // namespace deepvoro
