#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

namespace deepvoro::serve {

// What comes before the body of a request.
struct RequestHead {
  std::string method;
  std::vector<std::string> path;              // parts between slashes, decoded
  std::map<std::string, std::string> query;   // decoded
  std::map<std::string, std::string> fields;  // by name in lower case; of several the first

  // Empty where there is none.
  [[nodiscard]] const std::string& field(const std::string& name) const;
  [[nodiscard]] const std::string& parameter(const std::string& name) const;
  // A ProjectError (invalid) where it is something else.
  [[nodiscard]] bool flag(const std::string& name, bool otherwise) const;  // 0 or 1
  [[nodiscard]] std::size_t whole(const std::string& name, std::size_t otherwise) const;
  [[nodiscard]] bool changes_something() const { return method != "GET" && method != "HEAD"; }
};

struct Request {
  RequestHead head;
  std::string body;
};

struct Response {
  unsigned status = 200;
  std::string type = "application/json";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> fields = {};
  std::filesystem::path file = {};  // sent instead of the body, and removed then
  std::string route = {};           // what kind of request it answers, for statistics
};

// Method and target of a request line, without fields. False where the target is none, or names a
// parameter twice.
[[nodiscard]] bool parse_target(const std::string& target, RequestHead& head);

// On one line. What is not UTF-8 is replaced.
[[nodiscard]] std::string compact_json(const nlohmann::ordered_json& document);

// {"error": what}
[[nodiscard]] Response error_response(unsigned status, const std::string& what);

}  // namespace deepvoro::serve
