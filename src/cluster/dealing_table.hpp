#pragma once

#include <cstddef>
#include <deque>
#include <vector>

#include "deepvoro/shard/piece_dealer.hpp"

namespace deepvoro {

enum class Answer : unsigned char {
  make,      // these pieces
  all_made,  // every piece that was laid out
  stop,      // another process failed
  complain,  // this process is the first that failed
};

struct Dealt {
  int rank = 0;
  Answer answer = Answer::stop;
  PieceRange pieces{};
};

// What rank 0 knows: pieces that nobody makes yet, and who waits for what. All processes ask until
// everything is made, so whoever asks has made what it was given before.
class DealingTable {
 public:
  explicit DealingTable(int ranks) : ranks_(static_cast<std::size_t>(ranks)) {}

  // Rank 0 alone knows what is missing.
  void lay_out(const std::vector<PieceRange>& runs);
  void ask(int rank) { at(rank) = State::asking; }
  void fail(int rank) { at(rank) = State::failed; }
  void leave(int rank) { at(rank) = State::gone; }

  [[nodiscard]] bool is_deserted() const;
  // What can be answered by now, to those who asked or failed.
  [[nodiscard]] std::vector<Dealt> answers();
  // The fraction of what was laid out that was dealt.
  [[nodiscard]] double dealt() const;

 private:
  enum class State : unsigned char { working, asking, failed, gone };

  [[nodiscard]] State& at(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] Dealt answer_failed(int rank);
  [[nodiscard]] PieceRange take_pieces();
  [[nodiscard]] bool nobody_works() const;
  [[nodiscard]] bool nothing_will_come() const;

  std::vector<State> ranks_;
  std::deque<PieceRange> runs_;
  std::size_t left_ = 0;  // pieces in them
  std::size_t laid_out_ = 0;
  bool is_laid_out_ = false;
  bool is_stopped_ = false;
};

}  // namespace deepvoro
