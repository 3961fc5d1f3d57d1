#include "deepvoro/features/store_check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "core/files.hpp"
#include "core/sha256.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/core/parallel.hpp"
#include "formats/half.hpp"

namespace deepvoro {
namespace {

std::vector<ClassSize> class_sizes(const FeatureStore& store, const std::string& split) {
  std::vector<ClassSize> sizes;
  for (const std::string& name : store.split(split).classes) sizes.push_back({name, 0});
  for (const std::size_t label : store.labels(split)) ++sizes[label].samples;
  return sizes;
}

float value_at(const FeatureRows& features, const std::byte* row, std::size_t column) {
  if (features.element() == ElementType::float16) {
    std::uint16_t half = 0;
    std::memcpy(&half, row + column * sizeof half, sizeof half);
    return half_to_float(half);
  }
  float value = 0;
  std::memcpy(&value, row + column * sizeof value, sizeof value);
  return value;
}

struct ViewFacts {
  std::string split;
  std::string view;
  std::string sha256;
  std::uint64_t values = 0;
  std::uint64_t negative_values = 0;
  std::size_t zero_rows = 0;
};

ViewFacts read_view(const FeatureStore& store, const std::string& split, const std::string& view) {
  const FeatureRows features = store.features(split, view);
  ViewFacts facts{.split = split, .view = view};
  for (std::size_t row = 0; row < features.rows(); ++row) {
    const std::byte* data = features.row(row);
    bool all_zero = true;
    for (std::size_t column = 0; column < features.dim(); ++column) {
      const float value = value_at(features, data, column);
      if (!std::isfinite(value))
        throw data_error(
            fmt::format("{}: row {}, column {} is {}, but features must be finite; extract the "
                        "features again or leave that sample out",
                        store.view_place(split, view), row, column, value));
      all_zero = all_zero && value == 0.0F;
      facts.negative_values += value < 0.0F ? 1 : 0;
    }
    facts.zero_rows += all_zero ? 1 : 0;
  }
  facts.values = std::uint64_t{features.rows()} * features.dim();
  Sha256 sum;
  for (const std::filesystem::path& file : store.view_files(split, view))
    sum.add(MappedFile(file).bytes());
  facts.sha256 = sum.hex();
  return facts;
}

void note_values(const std::vector<ViewFacts>& views, std::vector<std::string>& notes) {
  std::uint64_t values = 0;
  std::uint64_t negative = 0;
  for (const ViewFacts& facts : views) {
    values += facts.values;
    negative += facts.negative_values;
    if (facts.zero_rows != 0)
      notes.push_back(fmt::format("{}/{}: {} {} zero in every column", facts.split, facts.view,
                                  facts.zero_rows, facts.zero_rows == 1 ? "row is" : "rows are"));
  }
  if (negative != 0)
    notes.push_back(
        fmt::format("{} of {} values are negative: logarithms and fractional powers need `signed`",
                    negative, values));
}

void warn_of_identical_views(const std::vector<ViewFacts>& views,
                             std::vector<std::string>& warnings) {
  std::map<std::string, std::string> first_with;
  for (const ViewFacts& facts : views) {
    const std::string name = facts.split + "/" + facts.view;
    const auto [found, is_new] = first_with.try_emplace(facts.sha256, name);
    if (!is_new)
      warnings.push_back(
          fmt::format("{} and {} are identical, byte for byte", found->second, name));
  }
}

// How many samples a class needs for the usual tasks: the shots and 15 queries.
struct UsualTask {
  std::size_t samples;
  const char* name;
};
constexpr std::array<UsualTask, 2> kUsualTasks{{{16, "1 shot"}, {20, "5 shots"}}};

void note_small_classes(const std::string& split, const std::vector<ClassSize>& classes,
                        std::vector<std::string>& notes) {
  for (const UsualTask& task : kUsualTasks) {
    const auto too_small = [&](const ClassSize& c) { return c.samples < task.samples; };
    const auto count = std::ranges::count_if(classes, too_small);
    if (count == 0) continue;
    const ClassSize& smallest = *std::ranges::min_element(classes, {}, &ClassSize::samples);
    notes.push_back(fmt::format(
        "{}: {} of {} classes have fewer than {} samples ('{}' has {}), too few for {} and 15 "
        "queries",
        split, count, classes.size(), task.samples, smallest.name, smallest.samples, task.name));
  }
}

}  // namespace

std::vector<SplitSummary> summarize_splits(const FeatureStore& store) {
  std::vector<SplitSummary> summaries;
  for (const auto& [name, split] : store.splits()) {
    SplitSummary summary{.name = name, .samples = split.samples, .classes = split.classes.size()};
    if (const std::vector<ClassSize> sizes = class_sizes(store, name); !sizes.empty()) {
      summary.smallest = *std::ranges::min_element(sizes, {}, &ClassSize::samples);
      summary.largest = *std::ranges::max_element(sizes, {}, &ClassSize::samples);
    }
    summary.bytes = std::filesystem::file_size(store.labels_file(name));
    for (const std::string& view : store.views()) {
      const ElementType element = store.features(name, view).element();
      if (std::ranges::find(summary.elements, element) == summary.elements.end())
        summary.elements.push_back(element);
      for (const std::filesystem::path& file : store.view_files(name, view))
        summary.bytes += std::filesystem::file_size(file);
    }
    summaries.push_back(std::move(summary));
  }
  return summaries;
}

StoreCheck check_store(const FeatureStore& store, unsigned threads) {
  std::vector<ViewFacts> views;
  StoreCheck check;
  for (const auto& [split, unused] : store.splits()) {
    note_small_classes(split, class_sizes(store, split), check.notes);
    for (const std::string& view : store.views()) views.push_back({.split = split, .view = view});
  }
  parallel_for(threads, views.size(), 1, [&](std::size_t begin, std::size_t end, unsigned) {
    for (std::size_t i = begin; i < end; ++i)
      views[i] = read_view(store, views[i].split, views[i].view);
  });
  note_values(views, check.notes);
  warn_of_identical_views(views, check.warnings);
  check.files = 1 + store.splits().size();
  for (const ViewFacts& facts : views) {
    check.files += store.view_files(facts.split, facts.view).size();
    check.values += facts.values;
  }
  return check;
}

}  // namespace deepvoro
