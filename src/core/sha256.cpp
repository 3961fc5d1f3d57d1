#include "sha256.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>

#include "deepvoro/core/error.hpp"

namespace deepvoro {

std::string sha256_hex(std::span<const std::byte> bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &length, EVP_sha256(), nullptr) != 1)
    throw internal_error("the SHA-256 of a file could not be computed");
  std::string hex;
  for (unsigned i = 0; i < length; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

std::string sha256_hex(std::string_view text) {
  return sha256_hex(std::as_bytes(std::span(text)));
}

std::string sha256_line(std::span<const std::byte> bytes, std::string_view name) {
  return fmt::format("{}  {}\n", sha256_hex(bytes), name);
}

std::string sha256_line(std::string_view text, std::string_view name) {
  return sha256_line(std::as_bytes(std::span(text)), name);
}

}  // namespace deepvoro
