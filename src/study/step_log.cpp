#include "step_log.hpp"

#include <fmt/format.h>

#include <span>
#include <string>
#include <utility>

#include "core/files.hpp"
#include "core/json_difference.hpp"
#include "core/json_text.hpp"
#include "core/sha256.hpp"
#include "deepvoro/core/error.hpp"

namespace deepvoro {
namespace {

using nlohmann::json;

constexpr const char* kFormat = "deepvoro-checkpoint";

}  // namespace

StepLog::StepLog(std::filesystem::path file, const nlohmann::ordered_json& request)
    : file_(std::move(file)), request_(request) {
  std::error_code unreadable;
  if (std::filesystem::exists(file_, unreadable))
    read();
  else
    write();  // shows early whether it can be written
}

void StepLog::read() {
  json document;
  try {
    document = read_json(file_);
  } catch (const Error&) {
    refuse_as_damaged();
  }
  if (!document.is_object() || document.value("format", json()) != kFormat ||
      document.value("version", json()) != 1)
    refuse_as_damaged();
  const json theirs = document.value("request", json());
  if (theirs != request_)
    throw data_error(
        fmt::format("{}: is the checkpoint of another run ({}); finish that one, or delete the "
                    "file to start over",
                    file_.string(), first_difference(theirs, request_)));
  try {
    steps_ = document.at("steps").get<std::vector<Step>>();
  } catch (const json::exception&) {
    refuse_as_damaged();
  }
  if (document.value("sha256", json()) != checksum()) refuse_as_damaged();
}

void StepLog::append(Step step) {
  steps_.push_back(std::move(step));
  write();
}

void StepLog::write() const {
  const json document = {{"format", kFormat},
                         {"version", 1},
                         {"request", request_},
                         {"steps", steps_},
                         {"sha256", checksum()}};
  AtomicFile out(file_);
  out.write(document.dump());
  out.write("\n");
  out.commit();
}

void StepLog::remove() const {
  std::error_code already_gone;
  std::filesystem::remove(file_, already_gone);
}

void StepLog::refuse_as_damaged() const {
  throw data_error(fmt::format("{}: is not a checkpoint, or is damaged; delete it to start over",
                               file_.string()));
}

std::string StepLog::checksum() const {
  const std::string text = request_.dump() + json(steps_).dump();
  return sha256_hex(std::as_bytes(std::span(text)));
}

}  // namespace deepvoro
