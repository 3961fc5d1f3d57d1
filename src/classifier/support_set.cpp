#include "support_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "core/text.hpp"
#include "deepvoro/core/error.hpp"

namespace deepvoro {
namespace {

struct Sample {
  std::string class_name;
  std::string name;
  const NamedSamples* part = nullptr;
  std::size_t row = 0;
};

void check_shape(const NamedSamples& part, std::size_t views, std::size_t dim) {
  if (part.rows.size() != views)
    throw usage_error(fmt::format("{} views are needed, not {}", views, part.rows.size()));
  if (!part.names.empty() && part.names.size() != part.labels.size())
    throw usage_error("there must be one name for each label");
  for (const MatrixView<const float>& rows : part.rows)
    if (rows.rows() != part.labels.size() || rows.cols() != dim || dim == 0)
      throw usage_error(fmt::format("every view must have {} rows of {} features, one row a label",
                                    part.labels.size(), dim));
  for (const std::size_t label : part.labels)
    if (label >= part.classes.size())
      throw usage_error(
          fmt::format("label {} is beyond the {} classes", label, part.classes.size()));
}

void check_every_class_has_samples(const NamedSamples& part) {
  std::vector<bool> has_samples(part.classes.size());
  for (const std::size_t label : part.labels) has_samples[label] = true;
  const auto empty = std::ranges::find(has_samples, false);
  if (empty != has_samples.end())
    throw data_error(
        fmt::format("class '{}' has no samples; give it some, or leave it out",
                    part.classes[static_cast<std::size_t>(empty - has_samples.begin())]));
}

// Within one part every name of a class is another class; what is in two parts is the same one.
void check_classes_differ(const NamedSamples& part) {
  std::vector<std::string> sorted = part.classes;
  std::ranges::sort(sorted);
  const auto twice = std::ranges::adjacent_find(sorted);
  if (twice != sorted.end()) throw data_error(fmt::format("the class '{}' is there twice", *twice));
}

void check_classes_differ_by_more_than_case(const std::vector<std::string>& classes) {
  std::map<std::string, std::string> known;
  for (const std::string& name : classes) {
    if (!is_text_line(name))
      throw data_error("a class has a name that is not UTF-8 text on one line; give it another");
    if (name.find_first_not_of(' ') == std::string::npos || lower_case(name) == "unknown")
      throw data_error(
          fmt::format("a class cannot be called '{}': 'unknown' is the answer when a picture is in "
                      "none; give it "
                      "another name",
                      name));
    const auto [other, is_new] = known.try_emplace(lower_case(name), name);
    if (!is_new)
      throw data_error(fmt::format("classes '{}' and '{}' differ by case alone; rename one",
                                   other->second, name));
  }
}

std::vector<Sample> sorted_samples(std::span<const NamedSamples> parts) {
  std::vector<Sample> samples;
  std::map<std::string, std::size_t> counts;
  for (const NamedSamples& part : parts)
    for (std::size_t i = 0; i < part.labels.size(); ++i) {
      const std::string& class_name = part.classes[part.labels[i]];
      const std::size_t number = counts[class_name]++;
      samples.push_back(
          {class_name, part.names.empty() ? std::to_string(number) : part.names[i], &part, i});
    }
  const auto key = [](const Sample& sample) { return std::tie(sample.class_name, sample.name); };
  std::ranges::sort(samples, {}, key);
  const auto twice = std::ranges::adjacent_find(samples, {}, key);
  if (twice != samples.end())
    throw data_error(
        fmt::format("class '{}' would have '{}' twice, and pictures go by their file names; "
                    "nothing was done: rename one",
                    twice->class_name, twice->name));
  return samples;
}

void append_row(const Sample& sample, std::size_t v, std::vector<float>& rows) {
  const std::span<const float> row = sample.part->rows[v][sample.row];
  if (!std::ranges::all_of(row, [](float value) { return std::isfinite(value); }))
    throw data_error(fmt::format("'{}' of class '{}' has features that are not finite", sample.name,
                                 sample.class_name));
  rows.insert(rows.end(), row.begin(), row.end());
}

}  // namespace

std::vector<std::size_t> SupportSet::shots() const {
  std::vector<std::size_t> counts(classes.size());
  for (const std::size_t label : labels) ++counts[label];
  return counts;
}

bool SupportSet::has_negative() const {
  return std::ranges::any_of(rows, [](const std::vector<float>& view) {
    return std::ranges::any_of(view, [](float value) { return value < 0; });
  });
}

NamedSamples SupportSet::part(std::size_t begin, std::size_t end) const {
  NamedSamples samples;
  for (std::size_t i = begin; i < end; ++i) {
    if (i == begin || labels[i] != labels[i - 1]) samples.classes.push_back(classes[labels[i]]);
    samples.labels.push_back(samples.classes.size() - 1);
    samples.names.push_back(names[i]);
  }
  for (const std::vector<float>& view : rows)
    samples.rows.emplace_back(view.data() + begin * dim, end - begin, dim);
  return samples;
}

SupportSet joined(std::span<const NamedSamples> parts, std::size_t views) {
  SupportSet set;
  if (views > 0 && !parts.front().rows.empty()) set.dim = parts.front().rows.front().cols();
  for (const NamedSamples& part : parts) {
    check_shape(part, views, set.dim);
    check_classes_differ(part);
    check_every_class_has_samples(part);
  }
  const std::vector<Sample> samples = sorted_samples(parts);
  if (samples.empty()) throw data_error("there are no samples, so there is nothing to tell apart");
  for (const Sample& sample : samples) {
    if (set.classes.empty() || set.classes.back() != sample.class_name)
      set.classes.push_back(sample.class_name);
    set.labels.push_back(set.classes.size() - 1);
    set.names.push_back(sample.name);
    if (!is_text_line(sample.name))
      throw data_error(fmt::format(
          "a sample of class '{}' has a name that is not UTF-8 text on one line; give it another",
          sample.class_name));
  }
  check_classes_differ_by_more_than_case(set.classes);
  set.rows.resize(views);
  for (std::size_t v = 0; v < views; ++v) {
    set.rows[v].reserve(samples.size() * set.dim);
    for (const Sample& sample : samples) append_row(sample, v, set.rows[v]);
  }
  return set;
}

}  // namespace deepvoro
