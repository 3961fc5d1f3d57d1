#include "cluster/dealing_table.hpp"

#include <algorithm>

namespace deepvoro {

void DealingTable::lay_out(const std::vector<PieceRange>& runs) {
  runs_.assign(runs.begin(), runs.end());
  left_ = 0;
  for (const PieceRange& run : runs) left_ += run.size();
  laid_out_ = left_;
  is_laid_out_ = true;
}

bool DealingTable::is_deserted() const {
  return std::ranges::all_of(ranks_, [](State state) { return state == State::gone; });
}

bool DealingTable::nobody_works() const {
  return std::ranges::none_of(ranks_, [](State state) { return state == State::working; });
}

// Rank 0 may go before the others where it finds that nothing can be done.
bool DealingTable::nothing_will_come() const {
  return ranks_.front() == State::gone && !is_laid_out_;
}

// Large ranges first, as beginning one costs something; small ones at the end, so that all end at
// the same time.
PieceRange DealingTable::take_pieces() {
  PieceRange& run = runs_.front();
  const std::size_t fair = std::max<std::size_t>(1, left_ / (2 * ranks_.size()));
  const PieceRange taken{run.begin, run.begin + std::min(fair, run.size())};
  left_ -= taken.size();
  run.begin = taken.end;
  if (run.size() == 0) runs_.pop_front();
  return taken;
}

Dealt DealingTable::answer_failed(int rank) {
  const Answer answer = is_stopped_ ? Answer::stop : Answer::complain;
  is_stopped_ = true;
  return {rank, answer};
}

std::vector<Dealt> DealingTable::answers() {
  std::vector<Dealt> given;
  const auto count = static_cast<int>(ranks_.size());
  for (int rank = 0; rank < count; ++rank)
    if (at(rank) == State::failed) {
      given.push_back(answer_failed(rank));
      at(rank) = State::working;  // on leaving
    }
  const bool is_all_made = is_laid_out_ && left_ == 0 && nobody_works();
  for (int rank = 0; rank < count; ++rank) {
    if (at(rank) != State::asking) continue;
    if (is_stopped_)
      given.push_back({rank, Answer::stop});
    else if (is_all_made || nothing_will_come())
      given.push_back({rank, Answer::all_made});
    else if (left_ > 0)
      given.push_back({rank, Answer::make, take_pieces()});
    else
      continue;
    at(rank) = State::working;
  }
  if (is_all_made) is_laid_out_ = false;
  return given;
}

double DealingTable::dealt() const {
  return laid_out_ == 0 ? 1.0
                        : static_cast<double>(laid_out_ - left_) / static_cast<double>(laid_out_);
}

}  // namespace deepvoro
