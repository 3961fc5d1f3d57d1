#include "cluster/desks.hpp"

#include <chrono>
#include <utility>

#include "deepvoro/core/error.hpp"

namespace deepvoro {
namespace {

enum class Request : std::uint64_t { ask, fail, leave };

// Waiting inside of MPI would take a core from those who work.
void wait_a_little() {
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

Letter letter_of(Request request) {
  return {0, {static_cast<std::uint64_t>(request), 0, 0}};
}

Letter letter_of(const Dealt& dealt) {
  return {dealt.rank,
          {static_cast<std::uint64_t>(dealt.answer), dealt.pieces.begin, dealt.pieces.end}};
}

}  // namespace

DealersDesk::DealersDesk(Messenger& messenger)
    : messenger_(messenger), table_(messenger.size()), server_([this] { serve(); }) {}

DealersDesk::~DealersDesk() {
  {
    const std::lock_guard lock(mutex_);
    table_.leave(0);
  }
  server_.join();
}

void DealersDesk::serve() {
  while (serve_once()) wait_a_little();
}

bool DealersDesk::serve_once() {
  while (const auto letter = messenger_.receive()) take(*letter);
  const std::lock_guard lock(mutex_);
  for (const Dealt& dealt : table_.answers())
    if (dealt.rank == 0)
      own_answer_ = dealt;
    else
      messenger_.send(letter_of(dealt));
  answered_.notify_one();
  return !table_.is_deserted();
}

void DealersDesk::take(const Letter& letter) {
  const std::lock_guard lock(mutex_);
  switch (static_cast<Request>(letter.words[0])) {
    case Request::ask:
      return table_.ask(letter.rank);
    case Request::fail:
      return table_.fail(letter.rank);
    case Request::leave:
      return table_.leave(letter.rank);
  }
}

void DealersDesk::lay_out(const std::vector<PieceRange>& runs) {
  const std::lock_guard lock(mutex_);
  table_.lay_out(runs);
}

Dealt DealersDesk::wait_for_answer(std::unique_lock<std::mutex>& lock) {
  answered_.wait(lock, [this] { return own_answer_.has_value(); });
  return *std::exchange(own_answer_, std::nullopt);
}

Dealt DealersDesk::ask() {
  std::unique_lock lock(mutex_);
  table_.ask(0);
  return wait_for_answer(lock);
}

Dealt DealersDesk::fail() {
  std::unique_lock lock(mutex_);
  table_.fail(0);
  return wait_for_answer(lock);
}

double DealersDesk::dealt() const {
  const std::lock_guard lock(mutex_);
  return table_.dealt();
}

DistantDesk::~DistantDesk() {
  messenger_.send(letter_of(Request::leave));
}

void DistantDesk::lay_out(const std::vector<PieceRange>& /*runs*/) {
  throw internal_error("only rank 0 knows what is missing");
}

Dealt DistantDesk::wait_for_answer() {
  for (;; wait_a_little())
    if (const auto letter = messenger_.receive())
      return {messenger_.rank(),
              static_cast<Answer>(letter->words[0]),
              {letter->words[1], letter->words[2]}};
}

Dealt DistantDesk::ask() {
  messenger_.send(letter_of(Request::ask));
  return wait_for_answer();
}

Dealt DistantDesk::fail() {
  messenger_.send(letter_of(Request::fail));
  return wait_for_answer();
}

}  // namespace deepvoro
