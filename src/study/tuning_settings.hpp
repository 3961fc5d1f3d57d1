#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "deepvoro/features/store.hpp"
#include "deepvoro/study/tune.hpp"
#include "ensemble/engine.hpp"

namespace deepvoro {

inline constexpr const char* kTuningSplit = "val";

// What a tuning tries, and how many transformations it takes.
[[nodiscard]] std::vector<Transform> transforms_of(const Tuning& request);
[[nodiscard]] std::vector<Plda> pldas_of(const Tuning& request);
[[nodiscard]] std::vector<Surrogate> surrogates_of(const Tuning& request);
[[nodiscard]] std::vector<std::string> networks_of(const std::vector<std::string>& views);
[[nodiscard]] std::size_t top_k_of(const Tuning& request);

// With the views it takes where it names none, and values in ascending order, so that ties go to
// the smaller one. What contradicts itself or does not fit the store is an error.
[[nodiscard]] Tuning completed(const FeatureStore& store, Tuning request);

// Any positive alpha keeps the order of a single member's distances.
[[nodiscard]] inline EpisodeSetting tuning_setting(const FeatureStore& store,
                                                   const EpisodeList& episodes, unsigned threads) {
  return {store, kTuningSplit, episodes, Influence(1), threads};
}

// Everything the result depends on but where the store lies.
[[nodiscard]] nlohmann::ordered_json described(const Tuning& request,
                                               const std::string& store_sha256);

// The request again. Errors begin with `where`.
[[nodiscard]] Tuning tuning_of(const nlohmann::json& description, const std::string& where);

}  // namespace deepvoro
