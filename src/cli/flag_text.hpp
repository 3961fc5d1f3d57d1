#pragma once

#include <string>

namespace deepvoro {

// A text of the library as users of the program know it: where it names an option by its field,
// `top_k`, this names the flag, --top-k. It is a line that a terminal can show, whatever names of
// files it quotes.
[[nodiscard]] std::string with_flags(const std::string& message);

}  // namespace deepvoro
