#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness.hpp"

namespace deepvoro::fuzz {

// A .safetensors file whose metadata have a description and the hash of it and of some tensors:
// with the right hash, without which nothing beyond it would be reached. `hashed` says which
// tensors, in their order, given the description. What is too broken for that stays as it is.
using HashedTensors = std::function<std::vector<std::string>(const nlohmann::json& description)>;
[[nodiscard]] std::vector<std::byte> with_right_hash(Bytes file, const HashedTensors& hashed);

// Those of statistics of a network.
[[nodiscard]] std::vector<std::string> statistics_arrays(const nlohmann::json& description);

}  // namespace deepvoro::fuzz
