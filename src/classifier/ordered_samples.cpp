#include "ordered_samples.hpp"

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
  const NamedSamples* of = nullptr;
  std::size_t row = 0;
};

void check_shape(const NamedSamples& samples, std::size_t views, std::size_t dim) {
  if (samples.views.size() != views)
    throw usage_error(fmt::format("{} views are needed, not {}", views, samples.views.size()));
  if (!samples.names.empty() && samples.names.size() != samples.labels.size())
    throw usage_error("there must be one name for each label");
  for (const std::vector<float>& rows : samples.views)
    if (samples.dim != dim || dim == 0 || rows.size() != samples.labels.size() * dim)
      throw usage_error(
          fmt::format("every view must have {} rows of {} features, one row per label",
                      samples.labels.size(), dim));
  for (const std::size_t label : samples.labels)
    if (label >= samples.classes.size())
      throw usage_error(
          fmt::format("label {} is beyond the {} classes", label, samples.classes.size()));
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
  if (twice != sorted.end()) throw data_error(fmt::format("the class '{}' appears twice", *twice));
}

void check_classes_differ_by_more_than_case(const std::vector<std::string>& classes) {
  std::map<std::string, std::string> known;
  for (const std::string& name : classes) {
    if (name.empty()) throw data_error("a class has an empty name; give it another");
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
      throw data_error(fmt::format("classes '{}' and '{}' differ only in case; rename one",
                                   other->second, name));
  }
}

std::span<const float> features_of(const Sample& sample, std::size_t v) {
  const std::size_t dim = sample.of->dim;
  return std::span(sample.of->views[v]).subspan(sample.row * dim, dim);
}

// A sample that is added again, by a command that was repeated. Twice among those that come
// together it is a mistake.
bool is_the_same(const Sample& one, const Sample& other) {
  if (one.of == other.of) return false;
  for (std::size_t v = 0; v < one.of->views.size(); ++v)
    if (!std::ranges::equal(features_of(one, v), features_of(other, v))) return false;
  return true;
}

std::vector<Sample> sorted_samples(std::span<const SamplesPart> parts) {
  std::vector<Sample> samples;
  std::map<std::string, std::size_t> counts;
  for (const auto& [of, begin, end] : parts)
    for (std::size_t i = begin; i < end; ++i) {
      const std::string& class_name = of.classes[of.labels[i]];
      const std::size_t number = counts[class_name]++;
      samples.push_back(
          {class_name, of.names.empty() ? std::to_string(number) : of.names[i], &of, i});
    }
  const auto key = [](const Sample& sample) { return std::tie(sample.class_name, sample.name); };
  std::ranges::stable_sort(samples, {}, key);
  samples.erase(std::unique(samples.begin(), samples.end(),
                            [&](const Sample& one, const Sample& other) {
                              return key(one) == key(other) && is_the_same(one, other);
                            }),
                samples.end());
  const auto twice = std::ranges::adjacent_find(samples, {}, key);
  if (twice != samples.end())
    throw data_error(
        fmt::format("class '{}' would have '{}' twice, and pictures are identified by their file "
                    "names; nothing was changed: rename one",
                    twice->class_name, twice->name));
  return samples;
}

void append_row(const Sample& sample, std::size_t v, std::vector<float>& rows) {
  const std::span<const float> row = features_of(sample, v);
  if (!std::ranges::all_of(row, [](float value) { return std::isfinite(value); }))
    throw data_error(fmt::format("'{}' of class '{}' has features that are not finite", sample.name,
                                 sample.class_name));
  rows.insert(rows.end(), row.begin(), row.end());
}

}  // namespace

std::vector<std::size_t> samples_per_class(const NamedSamples& samples) {
  std::vector<std::size_t> counts(samples.classes.size());
  for (const std::size_t label : samples.labels) ++counts[label];
  return counts;
}

bool has_negative(const NamedSamples& samples) {
  return std::ranges::any_of(samples.views, [](const std::vector<float>& view) {
    return std::ranges::any_of(view, [](float value) { return value < 0; });
  });
}

NamedSamples ordered(std::span<const SamplesPart> parts, std::size_t views) {
  NamedSamples all;
  all.dim = parts.front().of.dim;
  for (const SamplesPart& part : parts) {
    check_shape(part.of, views, all.dim);
    check_classes_differ(part.of);
    check_every_class_has_samples(part.of);
  }
  const std::vector<Sample> samples = sorted_samples(parts);
  if (samples.empty()) throw data_error("there are no samples to learn from");
  for (const Sample& sample : samples) {
    if (all.classes.empty() || all.classes.back() != sample.class_name)
      all.classes.push_back(sample.class_name);
    all.labels.push_back(all.classes.size() - 1);
    all.names.push_back(sample.name);
    if (!is_text_line(sample.name))
      throw data_error(fmt::format(
          "a sample of class '{}' has a name that is not UTF-8 text on one line; give it another",
          sample.class_name));
  }
  check_classes_differ_by_more_than_case(all.classes);
  all.views.resize(views);
  for (std::size_t v = 0; v < views; ++v) {
    all.views[v].reserve(samples.size() * all.dim);
    for (const Sample& sample : samples) append_row(sample, v, all.views[v]);
  }
  return all;
}

}  // namespace deepvoro
