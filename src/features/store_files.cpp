#include "store_files.hpp"

#include <array>

#include "core/files.hpp"
#include "core/json_text.hpp"
#include "features/npy.hpp"

namespace deepvoro {
namespace {

using nlohmann::json;

json splits_json(const std::map<std::string, FeatureStore::Split>& splits) {
  json entries = json::object();
  for (const auto& [name, split] : splits)
    entries[name] = {{"samples", split.samples}, {"classes", split.classes}};
  return entries;
}

}  // namespace

void write_store_description(const std::filesystem::path& store,
                             const StoreDescription& description) {
  json document{{"format", "deepvoro-store"},
                {"version", 1},
                {"dim", description.dims.empty() ? json(description.dim) : json(description.dims)},
                {"views", description.views},
                {"splits", splits_json(description.splits)},
                {"provenance", description.provenance}};
  for (const FeatureStore::Part& part : description.parts)
    document["parts"].push_back({{"store", part.store.string()}, {"rows", part.rows}});
  AtomicFile out(store / "store.json");
  out.write(json_text(document));
  out.commit();
}

void write_store_labels(const std::filesystem::path& store, const std::string& split,
                        std::span<const std::int64_t> labels) {
  const std::array<std::uint64_t, 1> shape{labels.size()};
  write_npy(store / split / "labels.npy", "<i8", shape, std::as_bytes(labels));
}

std::filesystem::path names_file(const std::filesystem::path& store, const std::string& split) {
  return store / split / "names.txt";
}

void write_row_names(const std::filesystem::path& store, const std::string& split,
                     std::span<const std::string> names) {
  AtomicFile out(names_file(store, split));
  for (const std::string& name : names) out.write(name + "\n");
  out.commit();
}

}  // namespace deepvoro
