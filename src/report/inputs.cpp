#include "report/inputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/json_text.hpp"
#include "core/text.hpp"
#include "deepvoro/core/error.hpp"
#include "features/json_fields.hpp"
#include "study/recorded_result.hpp"

namespace deepvoro {
namespace {

using nlohmann::json;

template <class Number>
std::vector<Number> numbers(const JsonFields& fields, const char* key, std::size_t count) {
  const json& list = fields.list(key);
  if (list.size() != count)
    fields.fail(key, fmt::format("has {} values instead of {}", list.size(), count));
  std::vector<Number> found;
  for (const json& value : list) {
    const bool fits =
        std::is_floating_point_v<Number> ? value.is_number() : value.is_number_unsigned();
    if (!fits) fields.fail(key, fmt::format("is no such number at place {}", found.size()));
    found.push_back(value.get<Number>());
  }
  return found;
}

Answers answers_of(const json& object, const std::string& where) {
  const JsonFields fields(object, where);
  Answers answers;
  for (const json& name : fields.list("classes")) {
    if (!name.is_string()) fields.fail("classes", "has something that is no name");
    answers.classes.push_back({.name = as_text_line(name.get<std::string>())});
  }
  const std::size_t classes = answers.classes.size();
  const auto samples = numbers<std::size_t>(fields, "samples", classes);
  const auto asked = numbers<std::uint64_t>(fields, "asked", classes);
  const auto right = numbers<std::uint64_t>(fields, "right", classes);
  const auto ci95 = numbers<double>(fields, "ci95", classes);
  for (std::size_t c = 0; c < classes; ++c) {
    if (right[c] > asked[c]) fields.fail("right", "is more than was asked");
    answers.classes[c].samples = samples[c];
    answers.classes[c].asked = asked[c];
    answers.classes[c].right = right[c];
    answers.classes[c].ci95 = ci95[c];
  }
  if (fields.has("confusion")) {
    if (classes > kMostConfusedClasses)
      fields.fail("confusion", fmt::format("is for at most {} classes", kMostConfusedClasses));
    answers.confusion = numbers<std::uint64_t>(fields, "confusion", classes * classes);
  }
  if (!fields.has("hardest")) return answers;
  const json& hardest = object.at("hardest");
  if (!hardest.is_array()) fields.fail("hardest", "is not a list");
  for (const json& query : hardest) {
    const JsonFields one(query, where + ": \"hardest\"");
    answers.hardest.push_back({.of_class = one.whole("class", 0),
                               .place = one.whole("place", 0),
                               .asked = one.whole("asked", 1),
                               .wrong = one.whole("wrong", 0),
                               .taken_for = one.whole("taken_for", 0)});
    if (answers.hardest.back().of_class >= classes || answers.hardest.back().taken_for >= classes)
      fields.fail("hardest", "names a class that there is not");
  }
  return answers;
}

ReportedResult result_of(const json& object, const std::string& file, const std::string& where) {
  ReportedResult result{.recorded = recorded_result(object, file, where)};
  RecordedResult& recorded = result.recorded;
  for (std::string* text : {&recorded.method, &recorded.scheme, &recorded.store_path,
                            &recorded.store_sha256, &recorded.split, &recorded.protocol})
    *text = as_text_line(*text);
  const JsonFields fields(object, where);
  if (fields.has("seconds")) {
    const JsonFields seconds = fields.object("seconds");
    for (const char* part : {"selection", "evaluation"})
      if (seconds.has(part)) result.seconds += seconds.number(part);
  }
  if (fields.has("program")) {
    const JsonFields program = fields.object("program");
    result.version = as_text_line(program.text("version"));
    result.commit = as_text_line(program.text("commit"));
  }
  for (const char* scheme : {"guided", "greedy"})
    if (fields.has(scheme)) result.pool_size = fields.object(scheme).whole("pool_size", 1);
  if (fields.has("answers"))
    result.answers = answers_of(object.at("answers"), where + ": \"answers\"");
  if (fields.has("calibration"))
    result.calibration_error = fields.object("calibration").number("ece");
  if (fields.has("open_set")) {
    result.open_set_auroc = fields.object("open_set").number("auroc");
    result.open_set_auroc_ci95 = fields.object("open_set").number("auroc_ci95");
  }
  return result;
}

std::string format_of(const json& document) {
  const json& object = document.is_array() && !document.empty() ? document.front() : document;
  if (!object.is_object()) return "";
  const auto format = object.find("format");
  return format != object.end() && format->is_string() ? format->get<std::string>() : "";
}

constexpr const char* kWhatItTakes =
    "a report is made of results of 'deepvoro evaluate --json' and studies of 'deepvoro study'";

json read_document(const std::filesystem::path& file) {
  try {
    return read_json(file);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::missing_file) throw;
    throw Error(error.kind(), fmt::format("{}; {}", error.what(), kWhatItTakes));
  }
}

// Whether the file is one that a report is made of.
bool read_file(const std::filesystem::path& file, ReportInputs& inputs) {
  const json document = read_document(file);
  const std::string name = file.string();
  const std::string format = format_of(document);
  if (format == "deepvoro-study" && document.is_object()) {
    inputs.studies.push_back(parse_study(document, name));
    return true;
  }
  if (format != "deepvoro-result") return false;
  if (document.is_object()) {
    inputs.results.push_back(result_of(document, name, name));
    return true;
  }
  for (std::size_t i = 0; i < document.size(); ++i)
    inputs.results.push_back(result_of(document[i], name, fmt::format("{}: result {}", name, i)));
  return true;
}

void read_folder(const std::filesystem::path& folder, ReportInputs& inputs) {
  std::vector<std::filesystem::path> files;
  std::error_code failure;
  for (std::filesystem::directory_iterator entry(folder, failure), end; !failure && entry != end;
       entry.increment(failure))
    if (entry->path().extension() == ".json" && entry->is_regular_file(failure))
      files.push_back(entry->path());
  if (failure)
    throw data_error(fmt::format("{}: cannot be listed: {}", folder.string(), failure.message()));
  std::ranges::sort(files);
  bool found = false;
  for (const std::filesystem::path& file : files) found = read_file(file, inputs) || found;
  if (!found)
    throw data_error(
        fmt::format("{}: holds neither a result nor a study; {}", folder.string(), kWhatItTakes));
}

}  // namespace

ReportInputs read_inputs(std::span<const std::filesystem::path> paths) {
  ReportInputs inputs;
  for (const std::filesystem::path& path : paths) {
    std::error_code failure;
    if (std::filesystem::is_directory(path, failure)) {
      read_folder(path, inputs);
    } else if (!read_file(path, inputs)) {
      throw data_error(
          fmt::format("{}: is neither a result nor a study; {}", path.string(), kWhatItTakes));
    }
  }
  return inputs;
}

}  // namespace deepvoro
