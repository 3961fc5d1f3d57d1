#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "core/json_text.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/core/version.hpp"
#include "deepvoro/features/join.hpp"
#include "deepvoro/features/row_names.hpp"
#include "deepvoro/features/store.hpp"
#include "new_store_folder.hpp"
#include "store_files.hpp"

namespace deepvoro {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// A store and what is taken of it.
struct Taken {
  FeatureStore store;
  std::vector<std::string> splits;

  explicit Taken(const RowPart& part) : store(part.store), splits(part.splits) {
    if (splits.empty())
      for (const auto& [split, unused] : store.splits()) splits.push_back(split);
    for (const std::string& split : splits) (void)store.split(split);  // says so where it has none
  }
  [[nodiscard]] bool has(const std::string& split) const {
    return std::ranges::find(splits, split) != splits.end();
  }
};

void check_same_views(const FeatureStore& first, const FeatureStore& other) {
  const std::string both =
      fmt::format("{} and {}", first.folder().string(), other.folder().string());
  for (const FeatureStore* store : {&first, &other})
    for (const std::string& view : store->views())
      if (!first.has_view(view) || !other.has_view(view))
        throw data_error(fmt::format("{}: only {} has the view {}; extract the same views of both",
                                     both, store->folder().string(), view));
  const auto [here, there] = std::ranges::mismatch(first.views(), other.views());
  if (here != first.views().end())
    throw data_error(
        fmt::format("{}: have the same views in another order: where one has {} the other has {}; "
                    "extract them in the same order",
                    both, *here, *there));
}

void check_fits(const FeatureStore& first, const FeatureStore& other) {
  const std::string both =
      fmt::format("{} and {}", first.folder().string(), other.folder().string());
  check_same_views(first, other);
  for (const std::string& view : first.views())
    if (first.dim(view) != other.dim(view))
      throw data_error(fmt::format("{}: have {} and {} dimensions in the view {}", both,
                                   first.dim(view), other.dim(view), view));
  const std::string model = first.model_sha256();
  const std::string other_model = other.model_sha256();
  if (!model.empty() && !other_model.empty() && model != other_model)
    throw data_error(fmt::format("{}: were made with different models", both));
  if (!model.empty() && !other_model.empty() && first.fast_decode() != other.fast_decode())
    throw data_error(fmt::format("{}: only {} was made with `fast_decode`; extract both alike",
                                 both, (first.fast_decode() ? first : other).folder().string()));
}

// As seen from the new store, so that all can be moved together.
fs::path seen_from(const fs::path& output, const fs::path& store) {
  return fs::relative(fs::canonical(store), fs::weakly_canonical(fs::absolute(output)));
}

// The parts of a part are named themselves: parts of parts are not looked for.
std::vector<FeatureStore::Part> parts_of(const Taken& taken, const fs::path& output) {
  const FeatureStore& store = taken.store;
  std::vector<FeatureStore::Part> parts;
  if (store.parts().empty()) {
    parts.push_back({seen_from(output, store.folder()), {}});
    for (const std::string& split : taken.splits)
      parts.back().rows[split] = store.split(split).samples;
  }
  for (const FeatureStore::Part& inner : store.parts()) {
    FeatureStore::Part part{seen_from(output, store.folder() / inner.store), {}};
    for (const auto& [split, rows] : inner.rows)
      if (taken.has(split)) part.rows[split] = rows;
    if (!part.rows.empty()) parts.push_back(std::move(part));
  }
  return parts;
}

// Labels, classes and names of one split of all parts.
class JoinedSplit {
 public:
  void add(const FeatureStore& store, const std::string& split) {
    const std::vector<std::string>& there = store.split(split).classes;
    has_different_lists_ = has_different_lists_ || (!classes_.empty() && there != classes_);
    std::vector<std::int64_t> of_class;
    for (const std::string& name : there) {
      const auto [place, is_new] =
          place_.try_emplace(name, static_cast<std::int64_t>(classes_.size()));
      if (is_new) classes_.push_back(name);
      of_class.push_back(place->second);
    }
    for (const std::size_t label : store.labels(split)) labels_.push_back(of_class[label]);
    const std::vector<std::string> names = row_names(store, split);
    names_.insert(names_.end(), names.begin(), names.end());
  }

  // Where parts have different classes, all are in the order of an extraction: by name.
  void order_classes() {
    if (!has_different_lists_) return;
    std::ranges::sort(classes_);
    std::vector<std::int64_t> new_place(classes_.size());
    for (std::size_t i = 0; i < classes_.size(); ++i)
      new_place[static_cast<std::size_t>(place_.at(classes_[i]))] = static_cast<std::int64_t>(i);
    for (std::int64_t& label : labels_) label = new_place[static_cast<std::size_t>(label)];
  }

  [[nodiscard]] FeatureStore::Split described() const { return {labels_.size(), classes_}; }

  // Names are there where all parts have them.
  void write(const fs::path& folder, const std::string& split) const {
    fs::create_directory(folder / split);
    write_store_labels(folder, split, labels_);
    if (names_.size() == labels_.size()) write_row_names(folder, split, names_);
  }

 private:
  std::map<std::string, std::int64_t> place_;  // in the order of appearance
  bool has_different_lists_ = false;
  std::vector<std::string> classes_;
  std::vector<std::int64_t> labels_;
  std::vector<std::string> names_;
};

json provenance_of_parts(const std::vector<Taken>& all) {
  json provenance = {
      {"created_by", "deepvoro store join"}, {"version", version()}, {"parts", json::array()}};
  const std::string model = all.front().store.model_sha256();
  bool is_of_all = !model.empty();
  for (const Taken& taken : all) {
    provenance["parts"].push_back(parse_json(taken.store.provenance_json()));
    is_of_all = is_of_all && taken.store.model_sha256() == model;
  }
  if (is_of_all) provenance["model"] = model;
  return provenance;
}

// A row that is there twice could be support and query at once.
class DistinctRows {
 public:
  void add(const FeatureStore::Part& part, const fs::path& store) {
    for (const auto& [split, unused] : part.rows)
      if (!seen_.emplace(part.store, split).second)
        throw usage_error(
            fmt::format("{}: rows of its split {} are taken twice", store.string(), split));
  }

 private:
  std::set<std::pair<std::string, std::string>> seen_;
};

}  // namespace

void join_rows(const std::vector<RowPart>& parts, const fs::path& output) {
  if (parts.size() < 2) throw usage_error("at least two stores are needed to join them");
  const std::vector<Taken> all(parts.begin(), parts.end());
  const FeatureStore& first = all.front().store;
  StoreDescription description{.views = first.views(), .provenance = provenance_of_parts(all)};
  for (const std::string& network : first.networks()) {
    const std::size_t dim = first.dim(view_of(network, kMeanView));
    if (network.empty())
      description.dim = dim;
    else
      description.dims[network] = dim;
  }
  std::map<std::string, JoinedSplit> splits;
  DistinctRows distinct;
  for (const Taken& taken : all) {
    check_fits(first, taken.store);
    for (const std::string& split : taken.splits) {
      splits[split].add(taken.store, split);
      for (const std::string& view : first.views())
        (void)taken.store.features(split, view);  // checks the file
    }
    for (FeatureStore::Part& part : parts_of(taken, output)) {
      distinct.add(part, taken.store.folder());
      description.parts.push_back(std::move(part));
    }
  }
  NewStoreFolder folder(output);
  for (auto& [name, split] : splits) {
    split.order_classes();
    split.write(folder.path(), name);
    description.splits[name] = split.described();
  }
  write_store_description(folder.path(), description);
  folder.commit();
}

}  // namespace deepvoro
