#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

namespace deepvoro {

// The finished steps of a long computation, in a file next to its output. The file belongs to one
// request; one that belongs to another request, or is damaged, is a data error.
class StepLog {
 public:
  using Step = std::vector<std::uint64_t>;

  // `request`: everything the steps depend on.
  StepLog(std::filesystem::path file, const nlohmann::ordered_json& request);

  [[nodiscard]] const std::vector<Step>& steps() const { return steps_; }
  void append(Step step);
  void remove() const;
  [[noreturn]] void refuse_as_damaged() const;

 private:
  void read();
  void write() const;
  [[nodiscard]] std::string checksum() const;

  std::filesystem::path file_;
  nlohmann::json request_;
  std::vector<Step> steps_;
};

}  // namespace deepvoro
