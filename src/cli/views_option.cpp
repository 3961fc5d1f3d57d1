#include "views_option.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace deepvoro {

CLI::Validator views_text() {
  return {[](const std::string& text) -> std::string {
            constexpr std::array<std::string_view, 5> numbers{"1", "4", "8", "16", "64"};
            const bool has_names = text.find_first_not_of("0123456789, ") != std::string::npos;
            if (has_names || std::ranges::find(numbers, text) != numbers.end()) return "";
            return fmt::format(
                "'{}' is no number of views; there are 1, 4, 8, 16 and 64, or names with commas, "
                "as in s84_r0_f0,s84_r0_f1",
                text);
          },
          ""};
}

}  // namespace deepvoro
