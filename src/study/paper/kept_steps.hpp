#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

namespace deepvoro {

// Outcomes of long computations, a file for each in a folder, found again by what they depend on. A
// file that is damaged is a data error.
class KeptSteps {
 public:
  explicit KeptSteps(std::filesystem::path folder);

  // `key`: everything the outcome depends on.
  [[nodiscard]] std::optional<nlohmann::json> find(const nlohmann::json& key) const;
  void keep(const nlohmann::json& key, const nlohmann::json& value) const;
  void forget(const nlohmann::json& key) const;
  [[noreturn]] void refuse_as_damaged(const nlohmann::json& key) const;

 private:
  [[nodiscard]] std::filesystem::path file_of(const nlohmann::json& key) const;

  std::filesystem::path folder_;
};

}  // namespace deepvoro
