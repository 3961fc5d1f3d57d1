#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "backbone/model_file.hpp"
#include "network.hpp"

namespace deepvoro {

struct LoadedNetwork {
  ModelDescription description;
  std::unique_ptr<Network> network;  // on the CPU
};

[[nodiscard]] LoadedNetwork read_network(const std::filesystem::path& file);

// Gives every tensor of a network the values it has in a file.
void read_tensors(const ModelFile& file, const std::vector<NamedTensor>& tensors);

void write_network(const std::filesystem::path& file, const ModelDescription& description,
                   const std::vector<NamedTensor>& tensors, WeightType type = WeightType::float32,
                   const std::map<std::string, std::string>& metadata = {});

}  // namespace deepvoro
