#include "study/tuning_file.hpp"

#include <utility>

#include "core/json_text.hpp"
#include "ensemble/pool_json.hpp"

namespace deepvoro {

using nlohmann::ordered_json;

std::string pool_file_text(const TuningResult& result, ordered_json tuning,
                           const std::string& store_path) {
  tuning["store"]["path"] = store_path;
  tuning["transformations"] = ordered_json::array();
  for (std::size_t i = 0; i < result.transforms.size(); ++i)
    tuning["transformations"].push_back({{"b", result.transforms[i].transform.b},
                                         {"lambda", result.transforms[i].transform.lambda},
                                         {"val_accuracy", result.transforms[i].val_accuracy},
                                         {"chosen", i < result.top_k}});
  if (!result.surrogates.empty()) tuning["surrogates"] = ordered_json::array();
  for (const TriedSurrogate& tried : result.surrogates)
    tuning["surrogates"].push_back({{"R", tried.surrogate.R},
                                    {"beta", tried.surrogate.beta},
                                    {"val_accuracy", tried.val_accuracy},
                                    {"chosen", tried.is_chosen}});
  if (!result.pldas.empty()) tuning["plda"] = ordered_json::array();
  for (const TriedPlda& tried : result.pldas) {
    ordered_json entry = ordered_json::object();
    if (!tried.network.empty()) entry["network"] = tried.network;
    entry["shrink_within"] = tried.plda.shrink_within;
    entry["shrink_between"] = tried.plda.shrink_between;
    entry["kappa"] = tried.plda.kappa;
    entry["val_accuracy"] = tried.val_accuracy;
    entry["chosen"] = tried.is_chosen;
    tuning["plda"].push_back(std::move(entry));
  }
  ordered_json members = to_json(result.members);
  for (std::size_t i = 0; i < members.size(); ++i)
    members[i]["val_accuracy"] = result.member_val_accuracy[i];
  const ordered_json document = {
      {"format", "deepvoro-pool"}, {"version", 1}, {"tuning", tuning}, {"members", members}};
  return json_text(document);
}

}  // namespace deepvoro
