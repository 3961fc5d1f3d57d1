#include "answer_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>
#include <vector>

#include "classifier/answer_json.hpp"
#include "core/csv.hpp"

namespace deepvoro {
namespace {

using nlohmann::ordered_json;

const std::string kUnknown = "unknown";

// Classes, the most probable first; of equal ones in their own order.
std::vector<std::size_t> most_probable(const Prediction& prediction, std::size_t count) {
  std::vector<std::size_t> classes(prediction.probabilities.size());
  std::iota(classes.begin(), classes.end(), std::size_t{0});
  std::ranges::stable_sort(classes, std::ranges::greater(),
                           [&](std::size_t k) { return prediction.probabilities[k]; });
  classes.resize(std::min(count, classes.size()));
  return classes;
}

}  // namespace

// Nothing is written before the first answer: until then, anything may still go wrong.
void AnswerRows::begin() {
  if (std::exchange(begun_, true)) return;
  if (form_.as_json) {
    fmt::print("[");
    return;
  }
  std::string header = "file,class,nearest";
  const std::vector<std::string>& classes = classifier_.classes();
  if (form_.top)
    for (std::size_t i = 1; i <= std::min(*form_.top, classes.size()); ++i)
      header += fmt::format(",class_{0},probability_{0}", i);
  else
    for (const std::string& name : classes) header += "," + csv_field(name);
  fmt::print("{},error\n", header);
}

void AnswerRows::add(const std::string& file, const Prediction& prediction) {
  const std::vector<std::string>& classes = classifier_.classes();
  const std::string& nearest = classes[prediction.label];
  const std::vector<std::size_t> shown =
      form_.top ? most_probable(prediction, *form_.top) : std::vector<std::size_t>();
  if (form_.as_json) {
    ordered_json row =
        answer_json(classifier_, prediction, file, answer(prediction), form_.threshold);
    for (const std::size_t k : shown)
      row["top"].push_back({{"class", classes[k]}, {"probability", prediction.probabilities[k]}});
    if (!form_.top) row["probabilities"] = probabilities_json(classifier_, prediction);
    write(row.dump(-1, ' ', false, ordered_json::error_handler_t::replace));
    return;
  }
  std::string row =
      csv_field(file) + "," + csv_field(answer(prediction)) + "," + csv_field(nearest);
  for (const std::size_t k : shown)
    row += fmt::format(",{},{:.6g}", csv_field(classes[k]), prediction.probabilities[k]);
  if (!form_.top)
    for (const double probability : prediction.probabilities)
      row += fmt::format(",{:.6g}", probability);
  write(row + ",");
}

void AnswerRows::add_unreadable(const std::string& file, const std::string& reason) {
  if (form_.as_json) {
    write(ordered_json{{"file", file}, {"error", reason}}.dump(
        -1, ' ', false, ordered_json::error_handler_t::replace));
    return;
  }
  const std::size_t classes = classifier_.classes().size();
  const std::size_t empty = form_.top ? 2 * std::min(*form_.top, classes) : classes;
  write(csv_field(file) + ",," + std::string(empty + 1, ',') + csv_field(reason));
}

void AnswerRows::end() {
  begin();
  if (form_.as_json) fmt::print("\n]\n");
  std::fflush(stdout);
}

const std::string& AnswerRows::answer(const Prediction& prediction) const {
  if (form_.reject && !(prediction.distance < *form_.reject)) return kUnknown;
  return classifier_.classes()[prediction.label];
}

void AnswerRows::write(const std::string& row) {
  begin();
  if (form_.as_json)
    fmt::print("{}{}", has_rows_ ? ",\n" : "\n", row);
  else
    fmt::print("{}\n", row);
  has_rows_ = true;
  std::fflush(stdout);
}

}  // namespace deepvoro
