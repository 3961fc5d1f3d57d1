#include "study/paper/study_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "core/files.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/core/version.hpp"
#include "ensemble/selection.hpp"

namespace deepvoro {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

std::string folder_name(const std::filesystem::path& folder) {
  const std::filesystem::path whole = std::filesystem::absolute(folder).lexically_normal();
  return (whole.has_filename() ? whole : whole.parent_path()).filename().string();
}

std::string compact_json(const auto& value) {
  using Json = std::decay_t<decltype(value)>;
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::filesystem::path no_file(std::filesystem::path out) {
  std::error_code unreadable;
  if (std::filesystem::is_regular_file(out, unreadable))
    throw usage_error(fmt::format("{}: is a file; `out` must be a folder", out.string()));
  return out;
}

void write_whole(const std::filesystem::path& file, const std::string& text) {
  AtomicFile out(file);
  out.write(text);
  out.commit();
}

}  // namespace

StudyRun::StudyRun(const PaperStudy& study, StudyRequest request, std::filesystem::path out,
                   Progress progress)
    : study_(study),
      request_(std::move(request)),
      out_(no_file(std::move(out))),
      progress_(std::move(progress)),
      tables_(study.tables),
      stores_(opened_stores()),
      units_(planned_units()),
      kept_(out_ / ".steps") {}

std::vector<StudyStore> StudyRun::opened_stores() const {
  std::vector<StudyStore> stores;
  for (const std::filesystem::path& folder : request_.stores) {
    StudyStore store{folder_name(folder), FeatureStore(folder), ""};
    if (std::ranges::count(stores, store.name, &StudyStore::name) > 0)
      throw usage_error(fmt::format("{}: there are two stores of the name '{}'; rename a folder",
                                    folder.string(), store.name));
    check_splits(store);
    store.features.refuse_output_inside("`out`", out_ / "study.json");
    store.sha256 = store.features.sha256(request_.threads);
    stores.push_back(std::move(store));
  }
  return stores;
}

void StudyRun::check_splits(const StudyStore& store) const {
  (void)store.features.split("novel");
  for (const std::string& split : study_.splits)
    if (!store.features.has_split(split))
      throw data_error(fmt::format("{}: has no split '{}', which study {} needs; add it",
                                   store.features.folder().string(), split,
                                   study_.description.name));
}

// Whether all classes have samples enough.
bool StudyRun::can_serve(const StudyStore& store, const EpisodePlan& plan) const {
  std::vector<std::string> splits{"novel"};
  if (std::ranges::count(study_.splits, "val") > 0) splits.emplace_back("val");
  return std::ranges::all_of(splits, [&](const std::string& split) {
    return std::ranges::all_of(store.features.rows_by_class(split), [&](const auto& rows) {
      return rows.size() >= plan.shape.shots + plan.shape.queries;
    });
  });
}

std::vector<StudyRun::PlannedUnit> StudyRun::planned_units() const {
  std::vector<PlannedUnit> units;
  const bool asked = !request_.shots.empty();
  for (std::size_t s = 0; s < stores_.size(); ++s) {
    const std::size_t before = units.size();
    const auto add = [&](std::size_t shots) {
      EpisodePlan plan = request_.plan;
      plan.shape.shots = shots;
      const bool is_last_chance = asked || shots == study_.shots.front();
      if (!is_last_chance && !can_serve(stores_[s], plan)) return;
      // What cannot be drawn shows before anything is computed.
      (void)draw_episodes(stores_[s].features, "novel", plan);
      if (std::ranges::count(study_.splits, "val") > 0)
        (void)draw_episodes(stores_[s].features, "val", plan);
      units.push_back({s, plan});
    };
    if (study_.shots.empty())
      units.push_back({s, request_.plan});
    else
      std::ranges::for_each(asked ? request_.shots : study_.shots, add);
    if (units.size() == before) throw internal_error("a store without work");
  }
  return units;
}

StudyTable& StudyRun::table(std::string_view name) {
  const auto found = std::ranges::find(tables_, name, &StudyTable::name);
  if (found == tables_.end())
    throw internal_error(fmt::format("study {} has no table {}", study_.description.name, name));
  return *found;
}

json StudyRun::step(const StudyStore& store, const json& what, double share, const Compute& compute,
                    const IsSound& is_sound) {
  const json key = {{"store", store.sha256},
                    {"program", {version(), commit()}},
                    {"signed", request_.is_signed},
                    {"what", what}};
  const auto units = static_cast<double>(units_.size());
  const auto report = [&](double fraction) {
    if (progress_)
      progress_(
          (static_cast<double>(units_done_) + std::min(1.0, done_of_unit_ + fraction * share)) /
          units);
  };
  report(0);
  keys_.push_back(key);
  if (std::optional<json> kept = kept_.find(key)) {
    if (!is_sound(*kept)) kept_.refuse_as_damaged(key);
    ++kept_steps_;
    done_of_unit_ += share;
    return *std::move(kept);
  }
  json value = compute(progress_ ? Progress(report) : Progress());
  kept_.keep(key, value);
  done_of_unit_ += share;
  return value;
}

void StudyRun::run_unit(const PlannedUnit& unit) {
  done_of_unit_ = 0;
  study_.run({*this, stores_[unit.store], unit.plan});
}

void StudyRun::remove_empty_folders() const {
  std::error_code not_empty;
  for (const std::filesystem::path& folder : {out_ / ".steps", out_ / "pools", out_})
    std::filesystem::remove(folder, not_empty);
}

std::filesystem::path StudyRun::pool_file(const std::string& name) const {
  return out_ / "pools" / (name + ".json");
}

void StudyRun::keep_pool(const std::string& name, const std::string& text) {
  pools_[name] = text;
  write_pools();
}

void StudyRun::write_pools() const {
  for (const auto& [name, pool] : pools_.items()) {
    const std::filesystem::path file = pool_file(name);
    const auto& text = pool.get_ref<const std::string&>();
    std::error_code missing;
    if (std::filesystem::exists(file, missing) && read_text(file) == text) continue;
    std::filesystem::create_directories(file.parent_path(), missing);
    write_whole(file, text);
  }
}

json StudyRun::outcome_of(std::size_t unit, const Progress& progress) {
  tables_ = study_.tables;
  pools_ = json::object();
  // What is told of progress is the part of one unit among all.
  units_done_ = 0;
  const auto all = static_cast<double>(units_.size());
  progress_ = progress ? Progress([&](double fraction) { progress(fraction * all); }) : Progress();
  run_unit(units_[unit]);
  json tables = json::object();
  for (const StudyTable& table : tables_) tables[table.name] = table.rows;
  return {{"tables", std::move(tables)}, {"pools", pools_}};
}

bool StudyRun::add(const json& outcome) {
  if (!outcome.is_object() || !outcome.value("tables", json()).is_object() ||
      !outcome.value("pools", json()).is_object())
    return false;
  for (StudyTable& table : tables_)
    for (const json& row : outcome["tables"].value(table.name, json())) {
      if (!row.is_array() || row.size() != table.columns.size() ||
          std::ranges::any_of(row, [](const json& cell) { return cell.is_structured(); }))
        return false;
      table.add(row.get<StudyTable::Row>());
    }
  for (const auto& [name, text] : outcome["pools"].items()) {
    const bool is_file_name = std::filesystem::path(name).filename() == name;
    if (!is_file_name || !text.is_string()) return false;
    pools_[name] = text;
  }
  return true;
}

json StudyRun::settings() const {
  json stores = json::array();
  for (const StudyStore& store : stores_)
    stores.push_back({{"name", store.name}, {"sha256", store.sha256}});
  return {{"study", study_.description.name},
          {"program", {{"version", version()}, {"commit", commit()}}},
          {"shots", request_.shots},
          {"settings", json(plan_settings())},
          {"stores", std::move(stores)}};
}

StudyResult StudyRun::run() {
  try {
    for (const PlannedUnit& unit : units_) {
      run_unit(unit);
      ++units_done_;
    }
  } catch (...) {
    remove_empty_folders();
    throw;
  }
  StudyResult result{write(), keys_.size(), kept_steps_};
  if (!study_.keeps_steps)
    std::ranges::for_each(keys_, [&](const json& key) { kept_.forget(key); });
  return result;
}

std::string StudyRun::command() const {
  const EpisodePlan defaults;
  std::string text = fmt::format("deepvoro study {}", study_.description.name);
  for (const StudyStore& store : stores_) text += " " + store.features.folder().string();
  const auto add = [&](const char* flag, auto value, auto usual) {
    if (value != usual) text += fmt::format(" {} {}", flag, value);
  };
  if (!request_.shots.empty()) text += fmt::format(" --shots {}", fmt::join(request_.shots, ","));
  add("--ways", request_.plan.shape.ways, defaults.shape.ways);
  add("--queries", request_.plan.shape.queries, defaults.shape.queries);
  add("--episodes", request_.plan.count, defaults.count);
  add("--seed", request_.plan.seed, defaults.seed);
  if (request_.plan.protocol != defaults.protocol)
    text += fmt::format(" --protocol {}", deepvoro::name(request_.plan.protocol));
  if (request_.is_signed) text += " --signed";
  return text + " --out " + out_.string();
}

ordered_json StudyRun::plan_settings() const {
  return {{"ways", request_.plan.shape.ways},
          {"queries", request_.plan.shape.queries},
          {"episodes", request_.plan.count},
          {"seed", request_.plan.seed},
          {"protocol", deepvoro::name(request_.plan.protocol)},
          {"signed", request_.is_signed}};
}

std::string StudyRun::document() const {
  ordered_json stores = ordered_json::array();
  for (const StudyStore& store : stores_)
    stores.push_back({{"name", store.name},
                      {"path", store.features.folder().string()},
                      {"sha256", store.sha256},
                      {"views", store.features.views().size()},
                      {"dim", store.features.dim(store.features.views().front())}});
  const ordered_json head = {{"format", "deepvoro-study"},
                             {"version", 1},
                             {"study", study_.description.name},
                             {"title", study_.description.title},
                             {"paper", study_.description.paper},
                             {"command", command()},
                             {"program", {{"version", version()}, {"commit", commit()}}},
                             {"settings", plan_settings()},
                             {"stores", stores}};
  std::string text = "{";
  for (const auto& [key, value] : head.items())
    text += fmt::format("{}: {},\n ", compact_json(json(key)), compact_json(value));
  text += "\"tables\": [\n";
  for (std::size_t t = 0; t < tables_.size(); ++t)
    text += (t == 0 ? "" : ",\n") + json_text(tables_[t]);
  return text + "\n ]}\n";
}

std::vector<std::filesystem::path> StudyRun::write() const {
  write_pools();
  const std::string name(study_.description.name);
  std::vector<std::filesystem::path> files{out_ / (name + ".json")};
  for (const StudyTable& table : tables_) {
    files.push_back(out_ / fmt::format("{}-{}.csv", name, table.name));
    write_whole(files.back(), csv_text(table));
  }
  write_whole(files.front(), document());
  return files;
}

}  // namespace deepvoro
