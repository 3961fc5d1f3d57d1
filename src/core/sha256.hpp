#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace deepvoro {

// Of bytes that come one after the other.
class Sha256 {
 public:
  Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  ~Sha256();

  void add(std::span<const std::byte> bytes);
  void add(std::string_view text);
  // Hexadecimal. Once.
  [[nodiscard]] std::string hex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Hexadecimal SHA-256 of some bytes.
[[nodiscard]] std::string sha256_hex(std::span<const std::byte> bytes);
[[nodiscard]] std::string sha256_hex(std::string_view text);

// "HASH  NAME", as sha256sum writes it; the hash of such lines is that of what they name.
[[nodiscard]] std::string sha256_line(std::span<const std::byte> bytes, std::string_view name);
[[nodiscard]] std::string sha256_line(std::string_view text, std::string_view name);

}  // namespace deepvoro
