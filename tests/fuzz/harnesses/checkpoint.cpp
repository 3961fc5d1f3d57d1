#include <nlohmann/json.hpp>

#include "core/json_text.hpp"
#include "core/sha256.hpp"
#include "fuzz/harness.hpp"
#include "study/step_log.hpp"

namespace deepvoro::fuzz {
namespace {

using nlohmann::json;

// With the right checksum, without which nothing beyond it would be reached.
std::string mended(Bytes bytes) {
  json document = parse_json(text_of(bytes));
  if (!document.is_object() || !document.contains("steps")) return text_of(bytes);
  document["sha256"] = sha256_hex(
      document.value("request", json()).dump(-1, ' ', false, json::error_handler_t::replace) +
      document["steps"].dump(-1, ' ', false, json::error_handler_t::replace));
  return json_text(document);
}

const Harness checkpoint_harness("checkpoint", [](Bytes bytes) {
  const std::string text = mended(bytes);
  const StepLog log(file_with(std::as_bytes(std::span(text)), "pool.json.partial"), {{"seed", 0}});
  (void)log.steps();
});

}  // namespace
}  // namespace deepvoro::fuzz
