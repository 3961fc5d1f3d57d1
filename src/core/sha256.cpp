#include "sha256.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>

#include "deepvoro/core/error.hpp"

namespace deepvoro {
namespace {

void check_digest(int succeeded) {
  if (succeeded != 1) throw internal_error("a SHA-256 could not be computed");
}

}  // namespace

struct Sha256::State {
  struct Free {
    void operator()(EVP_MD_CTX* owned) const { EVP_MD_CTX_free(owned); }
  };
  std::unique_ptr<EVP_MD_CTX, Free> context{EVP_MD_CTX_new()};
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  check_digest(EVP_DigestInit_ex(state_->context.get(), EVP_sha256(), nullptr));
}

Sha256::~Sha256() = default;

void Sha256::add(std::span<const std::byte> bytes) {
  check_digest(EVP_DigestUpdate(state_->context.get(), bytes.data(), bytes.size()));
}

void Sha256::add(std::string_view text) {
  add(std::as_bytes(std::span(text)));
}

std::string Sha256::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  check_digest(EVP_DigestFinal_ex(state_->context.get(), digest.data(), &length));
  std::string hex;
  for (unsigned i = 0; i < length; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

std::string sha256_hex(std::span<const std::byte> bytes) {
  Sha256 sum;
  sum.add(bytes);
  return sum.hex();
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
