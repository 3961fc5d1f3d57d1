#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "cluster/crew.hpp"

namespace deepvoro {

// That of rank 0: a thread of its own answers the others, so that they need not wait until a piece
// is finished here.
class DealersDesk final : public Desk {
 public:
  explicit DealersDesk(Messenger& messenger);
  DealersDesk(const DealersDesk&) = delete;
  DealersDesk& operator=(const DealersDesk&) = delete;
  ~DealersDesk() override;

  void lay_out(const std::vector<PieceRange>& runs) override;
  [[nodiscard]] Dealt ask() override;
  [[nodiscard]] Dealt fail() override;
  [[nodiscard]] double dealt() const override;

 private:
  void serve();
  [[nodiscard]] bool serve_once();
  void take(const Letter& letter);
  [[nodiscard]] Dealt wait_for_answer(std::unique_lock<std::mutex>& lock);

  Messenger& messenger_;
  mutable std::mutex mutex_;
  std::condition_variable answered_;
  DealingTable table_;
  std::optional<Dealt> own_answer_;
  std::thread server_;
};

// That of the others.
class DistantDesk final : public Desk {
 public:
  explicit DistantDesk(Messenger& messenger) : messenger_(messenger) {}
  DistantDesk(const DistantDesk&) = delete;
  DistantDesk& operator=(const DistantDesk&) = delete;
  ~DistantDesk() override;

  void lay_out(const std::vector<PieceRange>& runs) override;
  [[nodiscard]] Dealt ask() override;
  [[nodiscard]] Dealt fail() override;
  [[nodiscard]] double dealt() const override { return 0; }

 private:
  [[nodiscard]] Dealt wait_for_answer();

  Messenger& messenger_;
};

}  // namespace deepvoro
