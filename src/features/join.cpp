#include "deepvoro/features/join.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/json_text.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/core/version.hpp"
#include "deepvoro/features/store.hpp"
#include "new_store_folder.hpp"
#include "store_files.hpp"

namespace deepvoro {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// The views of one network of a store, and what they are called in the joined one.
struct Network {
  const FeatureStore* store;
  std::string name_there;  // empty where its views name none
  std::string name;
};

std::string folder_name(const fs::path& store) {
  const fs::path path = fs::weakly_canonical(store);
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

std::vector<Network> networks_of(const std::vector<JoinPart>& parts,
                                 const std::vector<FeatureStore>& stores) {
  std::vector<Network> networks;
  for (std::size_t i = 0; i < parts.size(); ++i)
    for (const std::string& there : stores[i].networks()) {
      if (!there.empty() && !parts[i].network.empty())
        throw usage_error(
            fmt::format("{}={}: the store has networks with names of their own, such as '{}'; give "
                        "it without a name",
                        parts[i].network, parts[i].store.string(), there));
      const std::string given =
          parts[i].network.empty() ? folder_name(parts[i].store) : parts[i].network;
      networks.push_back({&stores[i], there, there.empty() ? given : there});
    }
  return networks;
}

void check_names(const std::vector<Network>& networks) {
  for (auto network = networks.begin(); network != networks.end(); ++network) {
    const std::string where = network->store->folder().string();
    if (!is_view_name(network->name))
      throw usage_error(
          fmt::format("{}: '{}' cannot be the name of a network; give one of letters, digits, '_', "
                      "'-' and '.', as in wrn={}",
                      where, network->name, where));
    const auto other = std::ranges::find(networks.begin(), network, network->name, &Network::name);
    if (other != network)
      throw usage_error(
          fmt::format("{} and {}: both networks are named '{}'; name them, as in wrn={}",
                      other->store->folder().string(), where, network->name, where));
  }
}

// What a store says its pictures of a split are; null where it does not.
json pictures_of(const FeatureStore& store, const std::string& split) {
  json provenance = parse_json(store.provenance_json());
  // All networks of a joined store have the same pictures.
  if (provenance.contains("networks") && provenance["networks"].is_object())
    for (const json& one : json(provenance["networks"]))
      if (one.is_object() && one.contains("pictures")) provenance = one;
  if (!provenance.is_object() || !provenance.value("pictures", json()).is_object()) return {};
  return provenance["pictures"].value(split, json());
}

void check_same_samples(const FeatureStore& first, const FeatureStore& other) {
  const std::string names =
      fmt::format("{} and {}", first.folder().string(), other.folder().string());
  for (const FeatureStore* store : {&first, &other})
    for (const auto& [split, unused] : store->splits())
      if (!first.has_split(split) || !other.has_split(split))
        throw data_error(
            fmt::format("{}: only {} has the split '{}'; stores of the same pictures "
                        "can be joined",
                        names, store->folder().string(), split));
  for (const auto& [split, of_first] : first.splits()) {
    const FeatureStore::Split& of_other = other.split(split);
    const std::string where = fmt::format("{}: split {}", names, split);
    if (of_first.samples != of_other.samples)
      throw data_error(
          fmt::format("{} has {} samples in one and {} in the other; stores of the "
                      "same pictures can be joined",
                      where, of_first.samples, of_other.samples));
    if (of_first.classes != of_other.classes)
      throw data_error(
          fmt::format("{} has other classes, or in another order; stores of the same "
                      "pictures can be joined",
                      where));
    const std::vector<std::size_t> labels = first.labels(split);
    const std::vector<std::size_t> other_labels = other.labels(split);
    const auto difference = std::ranges::mismatch(labels, other_labels);
    if (difference.in1 != labels.end())
      throw data_error(
          fmt::format("{}: row {} is of class '{}' in one and '{}' in the other; the "
                      "pictures must be in the same order",
                      where, difference.in1 - labels.begin(), of_first.classes[*difference.in1],
                      of_first.classes[*difference.in2]));
    const json pictures = pictures_of(first, split);
    const json other_pictures = pictures_of(other, split);
    if (!pictures.is_null() && !other_pictures.is_null() && pictures != other_pictures)
      throw data_error(fmt::format(
          "{} was made from other pictures; stores of the same pictures can be joined", where));
  }
}

json provenance_of(const Network& network) {
  json provenance = parse_json(network.store->provenance_json());
  if (network.name_there.empty()) return provenance;
  const json networks =
      provenance.is_object() ? provenance.value("networks", json::object()) : json::object();
  return networks.is_object() ? networks.value(network.name_there, json::object()) : json::object();
}

// Of a view, without its network.
std::string plain_name(const std::string& view) {
  const std::size_t network = network_of(view).size();
  return network == 0 ? view : view.substr(network + 1);
}

void write_joined(const std::vector<Network>& networks, const fs::path& folder) {
  const FeatureStore& first = *networks.front().store;
  StoreDescription description{.splits = first.splits(),
                               .provenance = {{"created_by", "deepvoro store join"},
                                              {"version", version()},
                                              {"networks", json::object()}}};
  for (const auto& [split, unused] : first.splits()) {
    fs::create_directory(folder / split);
    fs::copy_file(first.labels_file(split), folder / split / "labels.npy");
  }
  for (const Network& network : networks) {
    for (const auto& [split, unused] : first.splits())
      fs::create_directory(folder / split / network.name);
    for (const std::string& view : network.store->views_of(network.name_there)) {
      const std::string name = view_of(network.name, plain_name(view));
      for (const auto& [split, unused] : first.splits()) {
        (void)network.store->features(split, view);  // checks the file
        fs::copy_file(network.store->view_files(split, view).front(),
                      folder / split / (name + ".npy"));
      }
      description.views.push_back(name);
      description.dims[network.name] = network.store->dim(view);
    }
    description.provenance["networks"][network.name] = provenance_of(network);
  }
  write_store_description(folder, description);
}

}  // namespace

void join_stores(const std::vector<JoinPart>& parts, const fs::path& output) {
  if (parts.size() < 2) throw usage_error("at least two stores are needed to join them");
  std::vector<FeatureStore> stores;
  stores.reserve(parts.size());
  for (const JoinPart& part : parts) {
    stores.emplace_back(part.store);
    if (!stores.back().parts().empty())
      throw usage_error(
          fmt::format("{}: has its rows in other stores; join the networks of those first, then "
                      "their rows",
                      part.store.string()));
  }
  const std::vector<Network> networks = networks_of(parts, stores);
  check_names(networks);
  for (std::size_t i = 1; i < stores.size(); ++i) check_same_samples(stores[0], stores[i]);
  NewStoreFolder folder(output);
  try {
    write_joined(networks, folder.path());
  } catch (const fs::filesystem_error& error) {
    throw data_error(
        fmt::format("{}: cannot be written: {}", output.string(), error.code().message()));
  }
  folder.commit();
}

}  // namespace deepvoro
