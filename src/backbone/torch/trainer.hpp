#pragma once

#include <filesystem>

#include "deepvoro/backbone/training.hpp"

namespace deepvoro {

// BackboneLibrary::train
void train_network(const TrainingSet& set, const TrainingOptions& options,
                   const std::filesystem::path& model, TrainingMonitor& monitor);

}  // namespace deepvoro
