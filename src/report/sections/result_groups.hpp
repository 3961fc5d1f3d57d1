#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "report/document.hpp"
#include "report/inputs.hpp"

namespace deepvoro {

// Results on episodes drawn alike from one store; those of the same number of shots are on the very
// same episodes. Refers to the results.
struct ResultGroup {
  std::string store;  // its folder's name
  std::string split;
  std::size_t ways = 0;
  std::vector<const ReportedResult*> results;

  [[nodiscard]] std::set<std::size_t> shots() const;
  // Method, scheme where it is not full, and the file where these are not enough.
  [[nodiscard]] std::string label(const ReportedResult& result) const;
  // "cub-wrn28-10, novel: 5-way, ..."
  [[nodiscard]] std::string title() const;
  [[nodiscard]] const ReportedResult* best(std::size_t shots) const;
  // The best of what is none of the paper's methods and not plda, which came after; the first
  // result where there is nothing else. nullptr without results.
  [[nodiscard]] const ReportedResult* best_baseline(std::size_t shots) const;
  [[nodiscard]] Provenance made_by() const;
};

[[nodiscard]] std::vector<ResultGroup> group_results(const std::vector<ReportedResult>& results);

}  // namespace deepvoro
