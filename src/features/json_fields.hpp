#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace deepvoro {

// Reads the keys of a JSON object from a file of unknown origin. What does not fit is a data error
// that begins with `where` and names the key. Refers to the object.
class JsonFields {
 public:
  JsonFields(const nlohmann::json& object, std::string where);

  [[nodiscard]] bool has(const char* key) const;
  [[nodiscard]] std::string text(const char* key) const;
  [[nodiscard]] double number(const char* key) const;  // finite
  [[nodiscard]] std::size_t whole(const char* key, std::size_t least) const;
  [[nodiscard]] bool flag(const char* key) const;  // false when it is not there
  [[nodiscard]] const nlohmann::json& list(const char* key) const;
  [[nodiscard]] JsonFields object(const char* key) const;

  [[noreturn]] void fail(const char* key, const std::string& what) const;

 private:
  const nlohmann::json& object_;
  std::string where_;
};

}  // namespace deepvoro
