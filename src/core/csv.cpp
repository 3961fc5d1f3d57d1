#include "csv.hpp"

#include "core/text.hpp"

namespace deepvoro {

std::string csv_field(std::string_view text) {
  std::string shown = with_control_characters_escaped(std::string(text));
  if (shown.find_first_of(",\"") == std::string::npos) return shown;
  std::string quoted = "\"";
  for (const char c : shown) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

}  // namespace deepvoro
