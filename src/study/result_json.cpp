#include <nlohmann/json.hpp>

#include "core/files.hpp"
#include "core/json_text.hpp"
#include "deepvoro/core/version.hpp"
#include "deepvoro/study/evaluate.hpp"
#include "ensemble/head_evaluation.hpp"
#include "ensemble/pool_json.hpp"
#include "kernels/kernels.hpp"
#include "plan_json.hpp"

namespace deepvoro {
namespace {

using nlohmann::ordered_json;

// A head in the place of the members of an ensemble; its key "head" tells it from one.
ordered_json to_json(const HeadConfiguration& head) {
  ordered_json object = {{"view", head.view}, {"head", name(head.method)}};
  if (head.method == Method::deepvoro_minus_minus) object["lr"] = name(head.logistic.kind);
  if (head.method == Method::simpleshot) object["normalisation"] = name(head.normalisation);
  if (has_logistic(head.method)) {
    object["lambda"] = 0.5;
    object["epochs"] = head.logistic.epochs;
    object["weight_decay"] = head.logistic.weight_decay;
    object["start"] = name(head.logistic.start);
    object["sigmoid"] = head.logistic.sigmoid;
  }
  if (head.is_signed) object["signed"] = true;
  return object;
}

// Lists that belong together, one value for each class: a list of objects would be several times
// as long.
ordered_json to_json(const Answers& answers) {
  ordered_json names = ordered_json::array();
  ordered_json samples = ordered_json::array();
  ordered_json asked = ordered_json::array();
  ordered_json right = ordered_json::array();
  ordered_json ci95 = ordered_json::array();
  for (const Answers::OfClass& one : answers.classes) {
    names.push_back(one.name);
    samples.push_back(one.samples);
    asked.push_back(one.asked);
    right.push_back(one.right);
    ci95.push_back(one.ci95);
  }
  ordered_json object = {
      {"classes", names}, {"samples", samples}, {"asked", asked}, {"right", right}, {"ci95", ci95}};
  if (!answers.confusion.empty()) object["confusion"] = answers.confusion;
  ordered_json hardest = ordered_json::array();
  for (const Answers::HardQuery& one : answers.hardest)
    hardest.push_back({{"class", one.of_class},
                       {"place", one.place},
                       {"asked", one.asked},
                       {"wrong", one.wrong},
                       {"taken_for", one.taken_for}});
  object["hardest"] = hardest;
  return object;
}

ordered_json to_json(const EvaluationResult& result, const ordered_json& store) {
  const Evaluation& request = result.request;
  ordered_json object = {{"format", "deepvoro-result"},
                         {"version", 1},
                         {"method", name(request.method)},
                         {"split", request.split}};
  add_plan(object, request.plan);
  object["scheme"] = name(request.scheme);
  object["alpha"] = request.alpha;
  object["accuracy"] = result.accuracy.mean;
  object["ci95"] = result.accuracy.ci95;
  object["episode_accuracy"] = result.episode_accuracy;
  object["members"] = result.member_count();
  object["pool"] =
      result.head ? ordered_json::array({to_json(*result.head)}) : to_json(result.members);
  if (result.guidance)
    object[name(request.scheme)] = {{"pool_size", result.guidance->pool_size},
                                    {"val_accuracy", result.guidance->val_accuracy}};
  if (request.scheme == Scheme::greedy) object["greedy"]["counts"] = result.guidance->counts;
  if (result.oracle)
    object["oracle"] = {
        {"note", "size chosen on the evaluated split itself: test leakage, not a result"},
        {"members", result.oracle->size},
        {"accuracy", result.oracle->accuracy.mean},
        {"ci95", result.oracle->accuracy.ci95}};
  if (result.reliability && result.reliability->calibration) {
    const auto& calibration = *result.reliability->calibration;
    object["calibration"] = {{"ece", calibration.error_percent},
                             {"nll", calibration.negative_log_likelihood.mean},
                             {"nll_ci95", calibration.negative_log_likelihood.ci95}};
  }
  if (result.reliability && result.reliability->open_set) {
    const auto& open_set = *result.reliability->open_set;
    object["open_set"] = {{"auroc", open_set.auroc_percent.mean},
                          {"auroc_ci95", open_set.auroc_percent.ci95},
                          {"kept", open_set.kept_percent},
                          {"found", open_set.found_percent}};
  }
  object["answers"] = to_json(result.answers);
  object["store"] = store;
  object["seconds"] = {{"selection", result.selection_seconds},
                       {"evaluation", result.evaluation_seconds}};
  object["program"] = {{"version", version()},
                       {"commit", commit()},
                       {"isa", kernels::name(kernels::active().level)},
                       {"threads", request.threads},
                       {"device", request.device}};
  return object;
}

}  // namespace

std::string results_json(std::span<const EvaluationResult> results, const std::string& store_path,
                         const std::string& store_sha256) {
  const ordered_json store = {{"path", store_path}, {"sha256", store_sha256}};
  ordered_json document = ordered_json::array();
  for (const EvaluationResult& result : results) document.push_back(to_json(result, store));
  return json_text(results.size() == 1 ? document[0] : document);
}

ResultFile::ResultFile(const std::filesystem::path& file, const FeatureStore& store,
                       unsigned threads)
    : file_(std::make_shared<AtomicFile>(file)),
      store_path_(store.folder().string()),
      store_sha256_(store.sha256(threads)) {}

void ResultFile::write(std::span<const EvaluationResult> results) {
  file_->write(results_json(results, store_path_, store_sha256_));
  file_->commit();
}

}  // namespace deepvoro
