#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "deepvoro/study/evaluate.hpp"

namespace deepvoro {

// What evaluate prints of its results, whoever computed them: one process, or shares. `store`: as
// people named it.
void print_evaluations(std::span<const EvaluationResult> results, const std::string& store);

// What is best depends on the number of shots. `tuned`: what the pool says of itself.
void note_other_shots(const std::filesystem::path& pool, std::optional<std::size_t> tuned,
                      std::size_t asked);

}  // namespace deepvoro
