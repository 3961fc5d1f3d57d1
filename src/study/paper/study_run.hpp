#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "deepvoro/core/progress.hpp"
#include "deepvoro/features/store.hpp"
#include "deepvoro/study/paper_study.hpp"
#include "study/paper/kept_steps.hpp"
#include "study/paper/study_table.hpp"

namespace deepvoro {

// A store of a study, known by the name of its folder.
struct StudyStore {
  std::string name;
  FeatureStore features;
  std::string sha256;
};

class StudyRun;

// A study does the same for each store and number of shots. One that has no shots does it once for
// each store.
struct StudyUnit {
  StudyRun& run;
  const StudyStore& store;
  EpisodePlan plan;

  [[nodiscard]] std::size_t shots() const { return plan.shape.shots; }
};

struct PaperStudy {
  StudyDescription description;
  std::vector<std::size_t> shots;   // where none are asked for; none: the study has no shots
  std::vector<std::string> splits;  // that it needs besides novel
  std::vector<StudyTable> tables;   // without rows
  void (*run)(const StudyUnit&) = nullptr;
  bool keeps_steps = true;  // what is measured anew each time is not kept in the end
  std::size_t fewest_shots = 1;
};

// What the studies have in common while they run: steps that are kept, progress, tables.
class StudyRun {
 public:
  StudyRun(const PaperStudy& study, StudyRequest request, std::filesystem::path out,
           Progress progress);

  StudyResult run();

  // The same in parts, for shards: what one unit adds to the tables and pools; and the files, once
  // all of it was added, in order.
  [[nodiscard]] std::size_t units() const { return units_.size(); }
  [[nodiscard]] nlohmann::json outcome_of(std::size_t unit, const Progress& progress);
  // False where it is not what such a unit gives.
  [[nodiscard]] bool add(const nlohmann::json& outcome);
  [[nodiscard]] std::vector<std::filesystem::path> write() const;
  // All that outcomes depend on.
  [[nodiscard]] nlohmann::json settings() const;
  // Where nothing was kept in them.
  void remove_empty_folders() const;

  [[nodiscard]] bool is_signed() const { return request_.is_signed; }
  [[nodiscard]] unsigned threads() const { return request_.threads; }
  // A pool for people and later evaluations, in the folder `pools`.
  [[nodiscard]] std::filesystem::path pool_file(const std::string& name) const;
  void keep_pool(const std::string& name, const std::string& text);
  [[nodiscard]] StudyTable& table(std::string_view name);

  // An outcome that is kept: computed, unless it is there already. `what`: all it depends on
  // besides the store, the program and whether transformations are signed. `share`: of the work of
  // the unit at hand. `is_sound` looks at an outcome that was kept before it is used.
  using Compute = std::function<nlohmann::json(const Progress& progress)>;
  using IsSound = std::function<bool(const nlohmann::json& value)>;
  [[nodiscard]] nlohmann::json step(const StudyStore& store, const nlohmann::json& what,
                                    double share, const Compute& compute, const IsSound& is_sound);

 private:
  struct PlannedUnit {
    std::size_t store;
    EpisodePlan plan;
  };

  [[nodiscard]] std::vector<StudyStore> opened_stores() const;
  [[nodiscard]] std::vector<PlannedUnit> planned_units() const;
  void check_splits(const StudyStore& store) const;
  [[nodiscard]] bool can_serve(const StudyStore& store, const EpisodePlan& plan) const;
  void write_pools() const;
  void run_unit(const PlannedUnit& unit);
  [[nodiscard]] nlohmann::ordered_json plan_settings() const;
  [[nodiscard]] std::string command() const;
  [[nodiscard]] std::string document() const;

  const PaperStudy& study_;
  StudyRequest request_;
  std::filesystem::path out_;
  Progress progress_;
  std::vector<StudyTable> tables_;
  std::vector<StudyStore> stores_;
  std::vector<PlannedUnit> units_;  // before anything is written, so that bad input leaves nothing
  KeptSteps kept_;
  std::vector<nlohmann::json> keys_;  // of all steps so far
  std::size_t kept_steps_ = 0;
  nlohmann::json pools_ = nlohmann::json::object();  // texts by name
  std::size_t units_done_ = 0;
  double done_of_unit_ = 0;
};

}  // namespace deepvoro
