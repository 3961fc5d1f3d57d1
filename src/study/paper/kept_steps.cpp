#include "study/paper/kept_steps.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "core/files.hpp"
#include "core/json_text.hpp"
#include "core/sha256.hpp"
#include "deepvoro/core/error.hpp"

namespace deepvoro {
namespace {

using nlohmann::json;

constexpr const char* kStepFormat = "deepvoro-step";

std::string checksum_of(const json& key, const json& value) {
  return sha256_hex(key.dump() + value.dump());
}

}  // namespace

KeptSteps::KeptSteps(std::filesystem::path folder) : folder_(std::move(folder)) {
  std::error_code failed;
  std::filesystem::create_directories(folder_, failed);
  if (failed)
    throw data_error(fmt::format("{}: the folder cannot be made: {}{}",
                                 folder_.parent_path().string(), failed.message(),
                                 writing_advice(failed.value())));
}

std::filesystem::path KeptSteps::file_of(const json& key) const {
  return folder_ / (sha256_hex(key.dump()) + ".json");
}

std::optional<json> KeptSteps::find(const json& key) const {
  const std::filesystem::path file = file_of(key);
  std::error_code unreadable;
  if (!std::filesystem::exists(file, unreadable)) return std::nullopt;
  json document;
  try {
    document = read_json(file);
  } catch (const Error&) {
    refuse_as_damaged(key);
  }
  if (!document.is_object() || document.value("format", json()) != kStepFormat ||
      document.value("version", json()) != 1 || document.value("key", json()) != key ||
      document.value("sha256", json()) != checksum_of(key, document.value("value", json())))
    refuse_as_damaged(key);
  return std::move(document["value"]);
}

void KeptSteps::keep(const json& key, const json& value) const {
  const json document = {{"format", kStepFormat},
                         {"version", 1},
                         {"key", key},
                         {"value", value},
                         {"sha256", checksum_of(key, value)}};
  AtomicFile out(file_of(key));
  out.write(document.dump());
  out.write("\n");
  out.commit();
}

void KeptSteps::forget(const json& key) const {
  std::error_code already_gone;
  std::filesystem::remove(file_of(key), already_gone);
}

void KeptSteps::refuse_as_damaged(const json& key) const {
  throw data_error(fmt::format("{}: is not a kept step, or is damaged; delete it to start over",
                               file_of(key).string()));
}

}  // namespace deepvoro
