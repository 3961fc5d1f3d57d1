#pragma once

#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cstddef>
#include <optional>

#include "http.hpp"
#include "server.hpp"

namespace deepvoro::serve {

using RequestParser = boost::beast::http::request_parser<boost::beast::http::string_body>;

// A request as bytes bring it: the header within its limit, and the body within what the
// application admits.
class ParsedRequest {
 public:
  explicit ParsedRequest(std::size_t most_header_bytes);

  // Reads header and body into itself.
  [[nodiscard]] RequestParser& parser() { return parser_; }

  // The answer to bytes that are no request, or one with too much of something; nothing where the
  // error is that of a connection.
  [[nodiscard]] std::optional<Response> refusal_of(const boost::system::error_code& error) const;

  // When the header is there: admits the body, or says why not.
  [[nodiscard]] std::optional<Response> take_head(const Application& application);
  // How many bytes the body may still take.
  [[nodiscard]] std::size_t body_bytes() const;
  [[nodiscard]] bool waits_to_continue() const;
  [[nodiscard]] bool is_head() const { return request_.head.method == "HEAD"; }
  [[nodiscard]] Lane lane() const { return admission_.lane; }

  // When the body is there.
  [[nodiscard]] Request take();

 private:
  [[nodiscard]] Response too_large() const;

  RequestParser parser_;
  Request request_;
  Admission admission_;
};

}  // namespace deepvoro::serve
