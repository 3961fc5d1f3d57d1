#include "core/text.hpp"

#include <stdexcept>

#include "fuzz/harness.hpp"

namespace deepvoro::fuzz {
namespace {

// Names of files as a terminal sees them.
const Harness text_harness("text", [](Bytes bytes) {
  const std::string line = as_text_line(text_of(bytes));
  if (!line.empty() && !is_text_line(line)) throw std::logic_error("not a line of text");
});

}  // namespace
}  // namespace deepvoro::fuzz
