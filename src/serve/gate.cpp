#include "gate.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/crypto.h>

#include <algorithm>
#include <array>
#include <random>
#include <string_view>

#include "core/text.hpp"

namespace deepvoro::serve {
namespace {

constexpr std::string_view kCookie = "deepvoro-token=";

// Without the port; an address of version 6 without its brackets.
std::string host_without_port(const std::string& host) {
  if (host.starts_with('[')) {
    const std::size_t end = host.find(']');
    return end == std::string::npos ? "" : host.substr(1, end - 1);
  }
  return host.substr(0, host.find(':'));
}

bool is_address(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> parsed{};
  return ::inet_pton(AF_INET, host.c_str(), parsed.data()) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), parsed.data()) == 1;
}

// An API request but those that a machine which watches this one sends.
bool is_private(const RequestHead& request) {
  return !request.path.empty() && request.path.front() == "api" &&
         (request.path.size() != 2 || request.path[1] != "health");
}

}  // namespace

std::string new_token() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", device(), device(), device(), device());
}

std::optional<Response> Gate::refusal(const RequestHead& request) const {
  const std::string& host = request.field("host");
  if (!is_own_name(host))
    return error_response(
        403, "this name is not one of this machine's; use localhost, or allow the name by --host");
  const std::string& origin = request.field("origin");
  if (!origin.empty() && origin != "http://" + host && origin != "https://" + host)
    return error_response(403, "pages of other sites have no access");
  const bool knows_token = is_token(request.field("x-deepvoro-token"));
  if (request.changes_something() && request.path != std::vector<std::string>{"api", "predict"} &&
      !knows_token)
    return error_response(403,
                          "the header X-Deepvoro-Token is missing or wrong; the token was "
                          "printed at the start, or is in the file of --token-file");
  if (rules_.is_public && is_private(request) && !knows_token && !has_cookie(request))
    return error_response(403, "the header X-Deepvoro-Token is missing or wrong");
  return std::nullopt;
}

bool Gate::gives_token(const RequestHead& request) const {
  return !rules_.is_public || is_token(request.parameter("token")) || has_cookie(request);
}

std::string Gate::cookie() const {
  return fmt::format("{}{}; Path=/; HttpOnly; SameSite=Strict", kCookie, rules_.token);
}

// Numbers are never rebound. On this machine alone no other name is needed.
bool Gate::is_own_name(const std::string& host) const {
  const std::string name = lower_case(host_without_port(host));
  if (name == "localhost" || name == "127.0.0.1" || name == "::1") return true;
  if (rules_.is_public && is_address(name)) return true;
  return std::ranges::any_of(rules_.names,
                             [&](const std::string& own) { return lower_case(own) == name; });
}

bool Gate::is_token(const std::string& given) const {
  return given.size() == rules_.token.size() &&
         CRYPTO_memcmp(given.data(), rules_.token.data(), given.size()) == 0;
}

bool Gate::has_cookie(const RequestHead& request) const {
  const std::string& cookies = request.field("cookie");
  for (std::size_t at = cookies.find(kCookie); at != std::string::npos;
       at = cookies.find(kCookie, at + 1)) {
    const std::size_t begin = at + kCookie.size();
    if (is_token(cookies.substr(begin, cookies.find(';', begin) - begin))) return true;
  }
  return false;
}

}  // namespace deepvoro::serve
