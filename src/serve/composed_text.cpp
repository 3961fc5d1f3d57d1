#include "composed_text.hpp"

#include <utf8proc.h>

#include <cstdlib>
#include <memory>

namespace deepvoro::serve {

std::string composed(const std::string& text) {
  utf8proc_uint8_t* made = nullptr;
  const utf8proc_ssize_t length =
      ::utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                     static_cast<utf8proc_ssize_t>(text.size()), &made,
                     static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owned(made, &std::free);
  if (length < 0) return text;
  return {reinterpret_cast<const char*>(made), static_cast<std::size_t>(length)};
}

}  // namespace deepvoro::serve
