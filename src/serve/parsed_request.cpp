#include "parsed_request.hpp"

#include <fmt/format.h>

#include <limits>
#include <string>
#include <utility>

#include "core/text.hpp"

namespace deepvoro::serve {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;

// What was sent is not HTTP; other errors are those of the connection.
bool is_protocol_error(const boost::system::error_code& error) {
  return error.category() == http::make_error_code(http::error::bad_method).category() &&
         error != http::error::end_of_stream && error != http::error::partial_message;
}

}  // namespace

ParsedRequest::ParsedRequest(std::size_t most_header_bytes) {
  parser_.header_limit(static_cast<std::uint32_t>(most_header_bytes));
  parser_.body_limit(std::numeric_limits<std::uint64_t>::max());  // told with the header
}

std::optional<Response> ParsedRequest::refusal_of(const boost::system::error_code& error) const {
  if (error == http::error::header_limit || error == http::error::buffer_overflow)
    return error_response(431, "the header of the request is too large");
  if (error == http::error::body_limit) return too_large();
  if (!is_protocol_error(error)) return std::nullopt;
  return error_response(400, "this is not an HTTP request: " + error.message());
}

std::optional<Response> ParsedRequest::take_head(const Application& application) {
  const auto& message = parser_.get();
  RequestHead& head = request_.head;
  head.method = std::string(message.method_string());
  for (const auto& field : message)
    head.fields.try_emplace(lower_case(std::string(field.name_string())),
                            std::string(field.value()));
  if (!parse_target(std::string(message.target()), head))
    return error_response(400, "the address of the request is broken, or has a parameter twice");
  admission_ = application.admit(head);
  if (admission_.refusal) return std::exchange(admission_.refusal, std::nullopt);
  if (parser_.content_length().value_or(0) > admission_.most_body_bytes) return too_large();
  parser_.body_limit(admission_.most_body_bytes);
  return std::nullopt;
}

std::size_t ParsedRequest::body_bytes() const {
  if (const auto length = parser_.content_length()) return static_cast<std::size_t>(*length);
  return parser_.chunked() ? admission_.most_body_bytes : 0;
}

bool ParsedRequest::waits_to_continue() const {
  return beast::iequals(parser_.get()[http::field::expect], "100-continue");
}

Request ParsedRequest::take() {
  request_.body = std::move(parser_.get().body());
  return std::move(request_);
}

Response ParsedRequest::too_large() const {
  return error_response(413, fmt::format("the body is larger than {} MiB; send less at once",
                                         admission_.most_body_bytes >> 20U));
}

}  // namespace deepvoro::serve
