#pragma once

#include <optional>
#include <string>
#include <vector>

#include "http.hpp"

namespace deepvoro::serve {

// Who is let in. Pages of other sites are not: they come with a name for this machine that is not
// its own (DNS rebinding), or say where they are from (Origin), and do not know the token.
class Gate {
 public:
  struct Rules {
    std::string token;
    bool is_public = false;               // listens beyond this machine
    std::vector<std::string> names = {};  // further names that this machine goes by
  };
  explicit Gate(Rules rules) : rules_(std::move(rules)) {}

  // The answer to a request that is refused.
  [[nodiscard]] std::optional<Response> refusal(const RequestHead& request) const;

  // Whether the page that is asked for may have the token.
  [[nodiscard]] bool gives_token(const RequestHead& request) const;

  [[nodiscard]] const std::string& token() const { return rules_.token; }
  [[nodiscard]] bool is_public() const { return rules_.is_public; }
  // What a browser keeps, so that pictures of a page can be fetched. Cannot change anything.
  [[nodiscard]] std::string cookie() const;

 private:
  [[nodiscard]] bool is_own_name(const std::string& host) const;
  [[nodiscard]] bool is_token(const std::string& given) const;
  [[nodiscard]] bool has_cookie(const RequestHead& request) const;

  Rules rules_;
};

// 128 random bits, as letters and digits.
[[nodiscard]] std::string new_token();

}  // namespace deepvoro::serve
