#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "deepvoro/study/answers.hpp"
#include "deepvoro/study/compare.hpp"
#include "report/recorded_study.hpp"

namespace deepvoro {

// A result of `deepvoro evaluate`, with all that a report shows of it.
struct ReportedResult {
  RecordedResult recorded;
  double seconds = 0;  // choosing and evaluating
  std::string version;
  std::string commit;
  std::optional<std::size_t> pool_size;  // that members were chosen from
  std::optional<Answers> answers;        // not in files of older versions
  std::optional<double> calibration_error;
  std::optional<double> open_set_auroc;
  std::optional<double> open_set_auroc_ci95;
};

struct ReportInputs {
  std::vector<ReportedResult> results;
  std::vector<RecordedStudy> studies;
};

// Reads result and study files; of a folder, those that lie in it. A file that is neither is a data
// error, unless it just lies in a folder.
[[nodiscard]] ReportInputs read_inputs(std::span<const std::filesystem::path> paths);

}  // namespace deepvoro
