#pragma once

#include <string>
#include <string_view>

// Names of classes, stores and files come from anywhere. They become part of a document here.
namespace deepvoro {

// For text and for attributes in double quotes.
[[nodiscard]] std::string html(std::string_view text);
[[nodiscard]] std::string latex(std::string_view text);
[[nodiscard]] std::string markdown(std::string_view text);

// Numbers below zero with a minus instead of a hyphen, for what is read and not computed with.
[[nodiscard]] std::string with_minus(std::string_view text);

}  // namespace deepvoro
