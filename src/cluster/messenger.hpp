#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace deepvoro {

// What processes of a crew tell each other.
using Words = std::array<std::uint64_t, 3>;

struct Letter {
  int rank = 0;  // whom it is from, or to
  Words words{};
};

// Small messages among processes that were started together, ranks 0 to size - 1. Of two processes,
// letters arrive in the order they were sent in. Used by one thread at a time.
class Messenger {
 public:
  Messenger() = default;
  Messenger(const Messenger&) = delete;
  Messenger& operator=(const Messenger&) = delete;
  virtual ~Messenger() = default;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  virtual void send(const Letter& to) = 0;
  // The next letter, where one has arrived.
  [[nodiscard]] virtual std::optional<Letter> receive() = 0;
};

}  // namespace deepvoro
