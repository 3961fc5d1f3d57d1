#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "report/paper_numbers.hpp"
#include "report/sections/sections.hpp"

// Accuracies of a study beside those of the paper.
namespace deepvoro {

// What the paper says of a row of a study, at its number of shots; nullptr where it says nothing.
using Published = std::function<const PaperNumber*(const StudyRows& rows, std::size_t row)>;
using RowLabel = std::function<std::string(const StudyRows& rows, std::size_t row)>;

// 0 where a study has none.
[[nodiscard]] std::size_t shots_of(const StudyRows& rows, std::size_t row);
[[nodiscard]] std::string method_label(const StudyRows& rows, std::size_t row);

// "plda is best with 83.17 ± 0.42 % at 1 shot and 93.51 ± 0.19 % at 5 shots"
[[nodiscard]] std::string best_sentence(const StudyRows& rows, const RowLabel& label_of);

// A table and a dot plot of every store of a study's table. With a label of their own in panels,
// rows are more than methods, and methods have panels of their own.
[[nodiscard]] std::vector<Block> compared_blocks(const RecordedStudy& study,
                                                 const RecordedTable& table,
                                                 const std::string& what, const RowLabel& label_of,
                                                 const Published& published_of,
                                                 const RowLabel& panel_label_of = {});

}  // namespace deepvoro
