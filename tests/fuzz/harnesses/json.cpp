#include <nlohmann/json.hpp>
#include <stdexcept>

#include "core/json_text.hpp"
#include "fuzz/harness.hpp"

namespace deepvoro::fuzz {
namespace {

const Harness json_harness("json", [](Bytes bytes) {
  const nlohmann::json document = parse_json(text_of(bytes));
  if (document.is_discarded()) return;
  if (parse_json(json_text(document)) != document) throw std::logic_error("another document");
});

}  // namespace
}  // namespace deepvoro::fuzz
