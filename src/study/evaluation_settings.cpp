#include "study/evaluation_settings.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/sha256.hpp"
#include "deepvoro/core/error.hpp"
#include "features/json_fields.hpp"
#include "study/plan_json.hpp"

namespace deepvoro {
namespace {

using nlohmann::json;

Evaluation unchecked_request(const JsonFields& fields) {
  Evaluation request{.method = method_named(fields.text("method")),
                     .split = fields.text("split"),
                     .scheme = scheme_named(fields.text("scheme")),
                     .is_signed = fields.flag("signed"),
                     .alpha = fields.number("alpha")};
  request.plan = plan_of(fields);
  if (fields.has("size")) request.size = fields.whole("size", 1);
  if (fields.has("view")) request.view = fields.text("view");
  const JsonFields logistic = fields.object("logistic");
  request.logistic = {.kind = logistic_kind_named(logistic.text("lr")),
                      .epochs = logistic.whole("epochs", 1),
                      .weight_decay = logistic.number("weight_decay"),
                      .start = logistic_start_named(logistic.text("start")),
                      .sigmoid = logistic.flag("sigmoid")};
  request.normalisation = normalisation_named(fields.text("normalisation"));
  return request;
}

}  // namespace

json settings_of(const Evaluation& request, const Pool& pool) {
  nlohmann::ordered_json plan;
  add_plan(plan, request.plan);
  json settings = plan;
  settings["method"] = name(request.method);
  settings["split"] = request.split;
  settings["scheme"] = name(request.scheme);
  if (request.size) settings["size"] = *request.size;
  if (request.view) settings["view"] = *request.view;
  settings["alpha"] = request.alpha;
  settings["signed"] = request.is_signed;
  settings["logistic"] = {{"lr", name(request.logistic.kind)},
                          {"epochs", request.logistic.epochs},
                          {"weight_decay", request.logistic.weight_decay},
                          {"start", name(request.logistic.start)},
                          {"sigmoid", request.logistic.sigmoid}};
  settings["normalisation"] = name(request.normalisation);
  settings["pool_sha256"] = sha256_hex(members_json(pool));
  return settings;
}

Evaluation request_of(const json& settings, const std::string& where) {
  try {
    Evaluation request = unchecked_request(JsonFields(settings, where));
    check(request);
    return request;
  } catch (const Error& error) {
    // What a file says was not typed by whoever runs this.
    if (error.kind() != ErrorKind::usage) throw;
    throw data_error(fmt::format("{}: {}", where, error.what()));
  }
}

}  // namespace deepvoro
