#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "report/sections/compared.hpp"

// The same methods on the features of several networks, training procedures or domains.
namespace deepvoro {
namespace {

struct Setting {
  std::string_view study;
  const char* title;
  const char* paper_table;
};
constexpr Setting kNetworks{"backbones", "Methods side by side", "backbone"};
constexpr std::array kOtherSettings =
    std::to_array<Setting>({{"procedures", "Other training procedures", "precursor"},
                            {"cross-domain", "Other domains", "cross"}});

// The column of the paper's table that a store's name speaks of.
std::string paper_column(const std::string& study, const std::string& store) {
  const auto has = [&](std::string_view word) { return store.find(word) != std::string::npos; };
  if (study == "cross-domain") {
    if (has("cub-to-mini")) return "cub to mini";
    return has("mini-to-cub") ? "mini to cub" : "";
  }
  if (dataset_of(store) != "mini") return "";
  if (study == "procedures") {
    if (has("rotation")) return "rotation";
    return has("mixup") ? "mixup" : "";
  }
  struct Network {
    const char* word;
    const char* column;
  };
  for (const auto& [word, column] : {Network{"softmax", "wrn-28-10 softmax"},
                                     {"wrn", "wrn-28-10 mixup"},
                                     {"densenet121", "densenet-121"},
                                     {"resnet34", "resnet-34"},
                                     {"resnet18", "resnet-18"},
                                     {"resnet10", "resnet-10"},
                                     {"mobilenet", "mobilenet"},
                                     {"conv4", "conv-4"}})
    if (has(word)) return column;
  return "";
}

const PaperNumber* published_in(const Setting& setting, const StudyRows& rows, std::size_t row) {
  const std::string store = rows.text(row, "store");
  const std::string method = rows.text(row, "method");
  // Table main has the other data sets, with one network.
  if (setting.study == kNetworks.study && dataset_of(store) != "mini" &&
      store.find("wrn") != std::string::npos)
    return paper_number("main", dataset_of(store), method, shots_of(rows, row));
  return paper_number(setting.paper_table, paper_column(std::string(setting.study), store), method,
                      shots_of(rows, row));
}

std::vector<Block> blocks_of(const RecordedStudy& study, const Setting& setting) {
  const RecordedTable* table = study.table("table");
  if (table == nullptr) return plain_blocks(study);
  std::vector<Block> blocks = compared_blocks(study, *table, setting.title, method_label,
                                              [&setting](const StudyRows& rows, std::size_t row) {
                                                return published_in(setting, rows, row);
                                              });
  const StudyRows all(*table);
  if (all.distinct("store").size() > 1)
    blocks.insert(
        blocks.begin(),
        ShownTable{overview_table(all, study.name, fmt::format("{}, all stores", setting.title)),
                   provenance(study)});
  return blocks;
}

// On the same stores all three say the same.
bool repeats_networks(const std::vector<RecordedStudy>& studies, const RecordedStudy& study) {
  const RecordedTable* table = study.table("table");
  return table != nullptr && std::ranges::any_of(studies, [&](const RecordedStudy& other) {
           const RecordedTable* networks =
               other.name == kNetworks.study ? other.table("table") : nullptr;
           return networks != nullptr && networks->rows == table->rows;
         });
}

}  // namespace

std::string main_finding(const std::vector<RecordedStudy>& studies) {
  std::string text;
  for (const RecordedStudy& study : studies) {
    const RecordedTable* table = study.name == kNetworks.study ? study.table("table") : nullptr;
    if (table == nullptr) continue;
    for (const StudyRows& rows : StudyRows(*table).split_by({"store"}))
      text += fmt::format("{}On {}, {}.", text.empty() ? "" : " ", rows.text(0, "store"),
                          best_sentence(rows, method_label));
  }
  return text;
}

std::vector<Block> network_blocks(const std::vector<RecordedStudy>& studies) {
  std::vector<Block> blocks;
  for (const RecordedStudy& study : studies)
    if (study.name == kNetworks.study)
      std::ranges::move(blocks_of(study, kNetworks), std::back_inserter(blocks));
  return blocks;
}

std::vector<Block> setting_blocks(const std::vector<RecordedStudy>& studies) {
  std::vector<Block> blocks;
  for (const Setting& setting : kOtherSettings)
    for (const RecordedStudy& study : studies)
      if (study.name == setting.study && !repeats_networks(studies, study))
        std::ranges::move(blocks_of(study, setting), std::back_inserter(blocks));
  return blocks;
}

}  // namespace deepvoro
