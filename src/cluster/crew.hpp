#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "cluster/dealing_table.hpp"
#include "cluster/messenger.hpp"
#include "deepvoro/shard/piece_dealer.hpp"

namespace deepvoro {

// How a process asks rank 0, which may be itself.
class Desk {
 public:
  Desk() = default;
  Desk(const Desk&) = delete;
  Desk& operator=(const Desk&) = delete;
  virtual ~Desk() = default;

  // Of rank 0 alone: the others wait for it.
  virtual void lay_out(const std::vector<PieceRange>& runs) = 0;
  [[nodiscard]] virtual Dealt ask() = 0;
  [[nodiscard]] virtual Dealt fail() = 0;
  [[nodiscard]] virtual double dealt() const = 0;
};

// Processes that make the pieces of some work together: rank 0 deals them to whoever has nothing to
// do, itself among them. All processes of the messenger must do the same work.
class Crew final : public PieceDealer {
 public:
  // When this goes, rank 0 waits until all others are gone.
  explicit Crew(Messenger& messenger);

  [[nodiscard]] std::string name() const override;
  [[nodiscard]] bool speaks() const override { return messenger_.rank() == 0; }
  [[nodiscard]] std::size_t count(std::span<const PieceRange> groups) const override;
  // Ends when all are made, whoever made them. Throws StoppedByAnother where another one failed.
  std::size_t deal(std::span<const PieceRange> groups, const MissingPieces& missing,
                   const MakePieces& make, const Progress& progress) override;

  // To be told when this process fails. Whether it is the first one, which says why.
  [[nodiscard]] bool fail() { return desk_->fail().answer == Answer::complain; }

 private:
  Messenger& messenger_;
  std::unique_ptr<Desk> desk_;
};

}  // namespace deepvoro
