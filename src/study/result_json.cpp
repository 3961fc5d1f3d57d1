#include <nlohmann/json.hpp>

#include "deepvoro/core/version.hpp"
#include "deepvoro/kernels/kernels.hpp"
#include "deepvoro/study/evaluate.hpp"
#include "ensemble/pool_json.hpp"

namespace deepvoro {
namespace {

using nlohmann::ordered_json;

// A head in the place of the members of an ensemble; its key "head" tells it from one.
ordered_json to_json(const HeadConfiguration& head) {
  ordered_json object = {{"view", head.view}, {"head", name(head.method)}};
  if (head.method == Method::deepvoro_minus_minus) object["lr"] = name(head.lr);
  if (head.method == Method::simpleshot) object["normalisation"] = name(head.normalisation);
  if (head.method == Method::power_lr || head.method == Method::voronoi_lr ||
      head.method == Method::deepvoro_minus_minus) {
    object["lambda"] = 0.5;
    object["epochs"] = head.epochs;
  }
  if (head.is_signed) object["signed"] = true;
  return object;
}

ordered_json to_json(const EvaluationResult& result, const ordered_json& store) {
  const Evaluation& request = result.request;
  ordered_json object = {
      {"format", "deepvoro-result"},
      {"version", 1},
      {"method", name(request.method)},
      {"split", request.split},
      {"ways", request.plan.shape.ways},
      {"shots", request.plan.shape.shots},
      {"queries", request.plan.shape.queries},
      {"episodes", request.plan.count},
      {"seed", request.plan.seed},
      {"protocol", name(request.plan.protocol)},
      {"scheme", name(request.scheme)},
      {"alpha", request.alpha},
      {"accuracy", result.accuracy.mean},
      {"ci95", result.accuracy.ci95},
      {"episode_accuracy", result.episode_accuracy},
      {"members", result.member_count()},
      {"pool",
       result.head ? ordered_json::array({to_json(*result.head)}) : to_json(result.members)},
  };
  if (result.guidance)
    object["guided"] = {{"pool_size", result.guidance->pool_size},
                        {"val_accuracy", result.guidance->val_accuracy}};
  if (result.oracle)
    object["oracle"] = {
        {"note", "size chosen on the evaluated split itself: test leakage, not a result"},
        {"members", result.oracle->size},
        {"accuracy", result.oracle->accuracy.mean},
        {"ci95", result.oracle->accuracy.ci95}};
  object["store"] = store;
  object["seconds"] = {{"selection", result.selection_seconds},
                       {"evaluation", result.evaluation_seconds}};
  object["program"] = {{"version", version()},
                       {"commit", commit()},
                       {"isa", kernels::name(kernels::active().level)},
                       {"threads", request.threads}};
  return object;
}

}  // namespace

std::string results_json(std::span<const EvaluationResult> results, const std::string& store_path,
                         const std::string& store_sha256) {
  const ordered_json store = {{"path", store_path}, {"sha256", store_sha256}};
  ordered_json document = ordered_json::array();
  for (const EvaluationResult& result : results) document.push_back(to_json(result, store));
  return (results.size() == 1 ? document[0] : document)
             .dump(1, ' ', false, ordered_json::error_handler_t::replace) +
         "\n";
}

ResultFile::ResultFile(const std::filesystem::path& file, const FeatureStore& store,
                       unsigned threads)
    : file_(file), store_path_(store.folder().string()), store_sha256_(store.sha256(threads)) {}

void ResultFile::write(std::span<const EvaluationResult> results) {
  file_.write(results_json(results, store_path_, store_sha256_));
  file_.commit();
}

}  // namespace deepvoro
