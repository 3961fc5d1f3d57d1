#include "store_command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "core/csv.hpp"
#include "core/json_text.hpp"
#include "core/text.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/core/parallel.hpp"
#include "deepvoro/features/import.hpp"
#include "deepvoro/features/join.hpp"
#include "deepvoro/features/row_names.hpp"
#include "deepvoro/features/store_check.hpp"
#include "flag_text.hpp"

namespace deepvoro {
namespace {

using nlohmann::json;

constexpr const char* kDefaultView = "s84_r0_f0";
constexpr std::array<const char*, 3> kSplits{"base", "val", "novel"};

struct CreateOptions {
  struct Split {
    std::vector<std::string> files;  // VIEW=FILE or FILE
    std::string labels;
    std::string classes;
  };
  std::string store;
  std::array<Split, kSplits.size()> splits;
  std::string features_name;
  std::string labels_name;
  std::string dtype;
  std::string note;
};

// FILE or FILE::ARRAY
ImportOptions::Labels parse_array(const std::string& text) {
  const std::size_t colons = text.rfind("::");
  if (colons == std::string::npos) return {text, ""};
  return {text.substr(0, colons), text.substr(colons + 2)};
}

ImportOptions::Source parse_source(const std::string& split, const std::string& text) {
  const std::size_t equals = text.find('=');
  const bool has_view = equals != std::string::npos && is_view_name(text.substr(0, equals));
  const auto [file, array] = parse_array(has_view ? text.substr(equals + 1) : text);
  return {split, has_view ? text.substr(0, equals) : kDefaultView, file, array};
}

ImportOptions import_options(const CreateOptions& options) {
  ImportOptions import;
  import.output = options.store;
  import.features_name = options.features_name;
  import.labels_name = options.labels_name;
  import.note = options.note;
  if (!options.dtype.empty())
    import.element = options.dtype == "float16" ? ElementType::float16 : ElementType::float32;
  for (std::size_t i = 0; i < kSplits.size(); ++i) {
    const CreateOptions::Split& split = options.splits[i];
    for (const std::string& file : split.files)
      import.sources.push_back(parse_source(kSplits[i], file));
    if (!split.labels.empty()) import.label_files[kSplits[i]] = parse_array(split.labels);
    if (!split.classes.empty()) import.class_files[kSplits[i]] = split.classes;
  }
  return import;
}

std::string_view element_name(ElementType element) {
  return element == ElementType::float16 ? "float16" : "float32";
}

std::vector<std::string_view> element_names(const SplitSummary& split) {
  std::vector<std::string_view> names;
  for (const ElementType element : split.elements) names.push_back(element_name(element));
  return names;
}

// As store.json has it: of all views, or by network.
json dim_json(const FeatureStore& store) {
  if (store.networks().front().empty()) return store.dim(store.views().front());
  json dims = json::object();
  for (const std::string& network : store.networks())
    dims[network] = store.dim(view_of(network, kMeanView));
  return dims;
}

std::string dim_text(const FeatureStore& store) {
  if (store.networks().front().empty()) return std::to_string(store.dim(store.views().front()));
  std::vector<std::string> dims;
  for (const std::string& network : store.networks())
    dims.push_back(fmt::format("{} ({})", store.dim(view_of(network, kMeanView)), network));
  return fmt::format("{}", fmt::join(dims, ", "));
}

void print_made(const std::string& folder) {
  const FeatureStore store(folder);
  std::vector<std::string> splits;
  for (const auto& [name, split] : store.splits())
    splits.push_back(fmt::format("{} {} of {}", name, counted(split.samples, "sample"),
                                 counted(split.classes.size(), "class", "classes")));
  fmt::print("{}: {} dimensions, {}; {}\n", folder, dim_text(store),
             counted(store.views().size(), "view"), fmt::join(splits, ", "));
}

void run(const CreateOptions& options) {
  import_store(import_options(options));
  print_made(options.store);
}

struct JoinOptions {
  std::vector<std::string> stores;  // NETWORK=STORE or STORE; with rows SPLIT,...=STORE or STORE
  std::string out;
  bool rows = false;
};

RowPart parse_row_part(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) return {text, {}};
  RowPart part{text.substr(equals + 1), {}};
  std::istringstream names(text.substr(0, equals));
  for (std::string name; std::getline(names, name, ',');) {
    if (!is_split_name(name)) {
      std::error_code unreadable;
      if (std::filesystem::exists(text, unreadable)) return {text, {}};
      throw usage_error(fmt::format("{}: '{}' is not a split; use base, val or novel", text, name));
    }
    part.splits.push_back(name);
  }
  return part;
}

JoinPart parse_part(const std::string& text) {
  const std::size_t equals = text.find('=');
  const bool has_name = equals != std::string::npos && is_view_name(text.substr(0, equals));
  if (!has_name) return {text, ""};
  return {text.substr(equals + 1), text.substr(0, equals)};
}

void run(const JoinOptions& options) {
  if (options.rows) {
    std::vector<RowPart> parts;
    for (const std::string& store : options.stores) parts.push_back(parse_row_part(store));
    join_rows(parts, options.out);
  } else {
    std::vector<JoinPart> parts;
    for (const std::string& store : options.stores) parts.push_back(parse_part(store));
    join_stores(parts, options.out);
  }
  print_made(options.out);
}

struct InfoOptions {
  std::string store;
  bool as_json = false;
  bool rows = false;
};

// A line of CSV for each row of each split: which, its class, and what it was made from.
void print_rows(const FeatureStore& store) {
  std::string text = "split,row,class,name\n";  // printed when nothing can go wrong any more
  for (const auto& [name, split] : store.splits()) {
    const std::vector<std::size_t> labels = store.labels(name);
    const std::vector<std::string> names = row_names(store, name);
    for (std::size_t row = 0; row < labels.size(); ++row)
      text += fmt::format("{},{},{},{}\n", name, row, csv_field(split.classes[labels[row]]),
                          names.empty() ? "" : csv_field(names[row]));
  }
  fmt::print("{}", text);
}

json class_json(const ClassSize& size) {
  return {{"name", size.name}, {"samples", size.samples}};
}

json info_json(const FeatureStore& store, const std::vector<SplitSummary>& splits) {
  json info{{"dim", dim_json(store)}, {"views", store.views()}, {"splits", json::object()}};
  info["provenance"] = parse_json(store.provenance_json());
  std::uint64_t bytes = 0;
  for (const SplitSummary& split : splits) {
    bytes += split.bytes;
    info["splits"][split.name] = {{"samples", split.samples},
                                  {"classes", split.classes},
                                  {"smallest_class", class_json(split.smallest)},
                                  {"largest_class", class_json(split.largest)},
                                  {"elements", element_names(split)},
                                  {"bytes", split.bytes}};
  }
  info["bytes"] = bytes;
  return info;
}

std::string readable_bytes(std::uint64_t bytes) {
  constexpr std::array<const char*, 4> units{"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  double amount = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; amount >= 1024 && unit + 1 < units.size(); ++unit) amount /= 1024;
  return fmt::format("{:.1f} {}", amount, units[unit]);
}

std::string views_text(const std::vector<std::string>& views) {
  constexpr std::size_t enough_to_list = 8;
  if (views.size() <= enough_to_list) return fmt::format("{}", fmt::join(views, ", "));
  return fmt::format("{}, {}, ... {}", views[0], views[1], views.back());
}

void print_info(const FeatureStore& store, const std::vector<SplitSummary>& splits) {
  fmt::print("{}\n", store.folder().string());
  fmt::print("dimensions  {}\n", dim_text(store));
  fmt::print("views       {}: {}\n\n", store.views().size(), views_text(store.views()));
  fmt::print("{:<8}{:>10}{:>10}{:>16}{:>15}  {:<18}{:>12}\n", "split", "samples", "classes",
             "smallest class", "largest class", "elements", "size");
  for (const SplitSummary& split : splits)
    fmt::print("{:<8}{:>10}{:>10}{:>16}{:>15}  {:<18}{:>12}\n", split.name, split.samples,
               split.classes, split.smallest.samples, split.largest.samples,
               fmt::format("{}", fmt::join(element_names(split), ", ")),
               readable_bytes(split.bytes));
  fmt::print("\nprovenance  {}\n", parse_json(store.provenance_json()).dump(2));
}

void run(const InfoOptions& options) {
  const FeatureStore store(options.store);
  if (options.rows) {
    print_rows(store);
    return;
  }
  const std::vector<SplitSummary> splits = summarize_splits(store);
  if (options.as_json)
    fmt::print("{}\n", info_json(store, splits).dump(1));
  else
    print_info(store, splits);
}

struct CheckOptions {
  std::string store;
};

void run(const CheckOptions& options) {
  const FeatureStore store(options.store);
  const StoreCheck check = check_store(store, available_threads());
  for (const std::string& note : check.notes) fmt::print("note: {}\n", with_flags(note));
  for (const std::string& warning : check.warnings)
    fmt::print("warning: {}\n", with_flags(warning));
  fmt::print("ok: {} files, {} values, all finite; shapes, types and labels are consistent\n",
             check.files, check.values);
}

void add_create(CLI::App& store) {
  auto options = std::make_shared<CreateOptions>();
  CLI::App* create =
      store.add_subcommand("create", "make a feature store from files of other formats");
  create->add_option("STORE", options->store, "folder to create; must not exist")->required();
  for (std::size_t i = 0; i < kSplits.size(); ++i) {
    const std::string name = kSplits[i];
    CreateOptions::Split& split = options->splits[i];
    create
        ->add_option(
            "--" + name, split.files,
            fmt::format(
                "features of the {} split, once for each view; without VIEW= the view is {}", name,
                kDefaultView))
        ->allow_extra_args(false)
        ->type_name("[VIEW=]FILE[::ARRAY]");
    create
        ->add_option("--" + name + "-labels", split.labels, "labels, where the features have none")
        ->type_name("FILE[::ARRAY]");
    create
        ->add_option("--" + name + "-classes", split.classes,
                     "names of the classes in ascending order of label: lines, or a JSON list")
        ->type_name("FILE");
  }
  create
      ->add_option("--features", options->features_name,
                   "name of the array that holds the features, in files that hold several")
      ->type_name("NAME");
  create->add_option("--labels", options->labels_name, "name of the array that holds the labels")
      ->type_name("NAME");
  create
      ->add_option("--dtype", options->dtype,
                   "how to store them; as they are in the files if not given, float64 as float32")
      ->check(CLI::IsMember({"float16", "float32"}));
  create->add_option("--note", options->note, "kept in the store's provenance")->type_name("TEXT");
  create->footer(
      "Formats, by ending: .npy .npz .h5 .hdf5 .safetensors .plk .pkl .pickle\n\n"
      "Example: deepvoro store create features --base base.plk --novel novel.plk\n"
      "Example: deepvoro store create features --base all.npz::base --base-labels all.npz::base_y "
      "--novel all.npz::novel --novel-labels all.npz::novel_y\n"
      "Example: deepvoro store create features --novel s84_r0_f0=a.npy --novel s84_r0_f1=b.npy "
      "--novel-labels labels.npy --dtype float16");
  create->callback([options] { run(*options); });
}

void add_join(CLI::App& store) {
  auto options = std::make_shared<JoinOptions>();
  CLI::App* join = store.add_subcommand(
      "join", "make one feature store from several: the views of all networks, or all rows");
  join->add_option("STORES", options->stores,
                   "stores of the same pictures; the name of a network is that of the folder if "
                   "not given. With --rows: stores of the same views, SPLITS=STORE for some splits")
      ->required()
      ->type_name("[NETWORK=]STORE ...");
  join->add_option("--out", options->out, "store to create; must not exist")->required();
  join->add_flag("--rows", options->rows,
                 "put the rows of all stores one after the other, without a copy: the new store "
                 "says where they are");
  join->footer(
      "Views are named NETWORK/VIEW, such as wrn/s84_r0_f0, and wrn/mean is the mean of the views "
      "of one\nnetwork. Dimensions may differ between networks. Features are copied.\n\n"
      "Example: deepvoro store join wrn=birds-wrn resnet18=birds-resnet18 --out birds\n"
      "Example: deepvoro tune birds --method plda --shots 1 --out pool.json\n"
      "Example: deepvoro store join --rows shard0 shard1 shard2 --out all\n"
      "Example: deepvoro store join --rows base=sketches val,novel=birds --out sketches-to-birds");
  join->callback([options] { run(*options); });
}

void add_info(CLI::App& store) {
  auto options = std::make_shared<InfoOptions>();
  CLI::App* info = store.add_subcommand("info", "show what a feature store holds");
  info->add_option("STORE", options->store, "feature store")->required();
  CLI::Option* json_flag = info->add_flag("--json", options->as_json, "print JSON instead of text");
  info->add_flag("--rows", options->rows,
                 "list the rows instead, as CSV: split, row, class, and the name of the picture")
      ->excludes(json_flag);
  info->footer(
      "Example: deepvoro store info features --json\n"
      "Example: deepvoro store info features --rows > rows.csv");
  info->callback([options] { run(*options); });
}

void add_check(CLI::App& store) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App* check =
      store.add_subcommand("check", "read every file of a feature store and look for faults");
  check->add_option("STORE", options->store, "feature store")->required();
  check->footer("Example: deepvoro store check features");
  check->callback([options] { run(*options); });
}

}  // namespace

void add_store_command(CLI::App& program) {
  CLI::App* store =
      program.add_subcommand("store", "create, join, describe and check feature stores");
  store->require_subcommand(1);
  store->footer("Example: deepvoro store create features --novel novel.plk");
  add_create(*store);
  add_join(*store);
  add_info(*store);
  add_check(*store);
}

}  // namespace deepvoro
