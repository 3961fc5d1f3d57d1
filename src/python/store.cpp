#include <fmt/format.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>

#include "bindings.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/core/parallel.hpp"
#include "deepvoro/features/import.hpp"
#include "deepvoro/features/join.hpp"
#include "deepvoro/features/row_names.hpp"
#include "deepvoro/features/store.hpp"
#include "deepvoro/features/store_check.hpp"

namespace deepvoro::python {
namespace {

py::object json_value(const std::string& text) {
  return py::module_::import("json").attr("loads")(text);
}

// Rows of several files.
py::array copied(const FeatureRows& rows, const py::dtype& element) {
  py::array array(element, {rows.rows(), rows.dim()});
  const std::size_t bytes = rows.dim() * element_size(rows.element());
  auto* out = static_cast<std::byte*>(array.mutable_data());
  for (std::size_t r = 0; r < rows.rows(); ++r) std::memcpy(out + r * bytes, rows.row(r), bytes);
  return array;
}

// The file's own memory, mapped, for as long as the array lives.
py::array features(const FeatureStore& store, const std::string& split,
                   const std::optional<std::string>& view) {
  auto rows =
      std::make_unique<FeatureRows>(store.features(split, view.value_or(store.views().front())));
  const FeatureRows& mapped = *rows;
  const py::dtype element(mapped.element() == ElementType::float16 ? "<f2" : "<f4");
  if (!mapped.is_contiguous()) return copied(mapped, element);
  const py::capsule owner(rows.release(),
                          [](void* memory) { delete static_cast<FeatureRows*>(memory); });
  py::array array(element, {mapped.rows(), mapped.dim()}, {}, mapped.row(0), owner);
  array.attr("flags").attr("writeable") = false;
  return array;
}

py::array labels(const FeatureStore& store, const std::string& split) {
  const std::vector<std::size_t> all = store.labels(split);
  const auto count = static_cast<py::ssize_t>(all.size());
  return array_of(std::vector<std::int64_t>(all.begin(), all.end()), {count});
}

std::vector<std::string> networks(const FeatureStore& store) {
  return store.networks().front().empty() ? std::vector<std::string>() : store.networks();
}

py::object dim(const FeatureStore& store) {
  if (networks(store).empty()) return py::int_(store.dim(store.views().front()));
  py::dict dims;
  for (const std::string& network : networks(store))
    dims[py::str(network)] = store.dim(view_of(network, kMeanView));
  return dims;
}

py::dict splits(const FeatureStore& store) {
  py::dict all;
  for (const auto& [name, split] : store.splits())
    all[py::str(name)] =
        py::dict(py::arg("samples") = split.samples, py::arg("classes") = split.classes);
  return all;
}

py::dict check(const FeatureStore& store) {
  StoreCheck found;
  {
    const py::gil_scoped_release unlocked;
    found = check_store(store, available_threads());
  }
  return py::dict(py::arg("files") = found.files, py::arg("values") = found.values,
                  py::arg("notes") = found.notes, py::arg("warnings") = found.warnings);
}

std::string description(const FeatureStore& store) {
  return fmt::format("FeatureStore('{}')", store.folder().string());
}

using FileAndArray = std::pair<std::filesystem::path, std::string>;

void create(const std::filesystem::path& output,
            const std::vector<std::tuple<std::string, std::string, FileAndArray>>& sources,
            const std::map<std::string, FileAndArray>& label_files,
            const std::map<std::string, std::filesystem::path>& class_files,
            const std::string& features_name, const std::string& labels_name,
            const std::optional<std::string>& dtype, const std::string& note) {
  ImportOptions options;
  options.output = output;
  for (const auto& [split, view, file] : sources)
    options.sources.push_back({split, view, file.first, file.second});
  for (const auto& [split, file] : label_files)
    options.label_files[split] = {file.first, file.second};
  options.class_files = class_files;
  options.features_name = features_name;
  options.labels_name = labels_name;
  options.note = note;
  if (dtype && *dtype != "float16" && *dtype != "float32")
    throw usage_error(fmt::format("dtype {}: unknown; use float16 or float32", *dtype));
  if (dtype) options.element = *dtype == "float16" ? ElementType::float16 : ElementType::float32;
  const py::gil_scoped_release unlocked;
  import_store(options);
}

void join(const std::vector<std::pair<std::string, std::filesystem::path>>& stores,
          const std::filesystem::path& output) {
  std::vector<JoinPart> parts;
  parts.reserve(stores.size());
  for (const auto& [network, store] : stores) parts.push_back({store, network});
  const py::gil_scoped_release unlocked;
  join_stores(parts, output);
}

}  // namespace

void bind_store(py::module_& module) {
  py::class_<FeatureStore, std::shared_ptr<FeatureStore>>(module, "FeatureStore", R"(
Features of labelled samples in a folder, memory-mapped (docs/FORMATS.md).

Opening one reads store.json alone. Arrays are views of the files: nothing is copied, and a
store may be larger than memory.

>>> store = deepvoro.FeatureStore("data/quickdraw")
>>> sorted(store.splits)
['base', 'novel', 'val']
>>> rows = store.features("novel", store.views[0])
>>> rows.shape == (store.splits["novel"]["samples"], store.dim)
True
>>> rows.flags.writeable, rows.flags.owndata
(False, False)
>>> store.labels("novel")[:3]
array([0, 0, 0])
)")
      .def(py::init<std::filesystem::path>(), py::arg("path"))
      .def_property_readonly(
          "path", [](const FeatureStore& store) { return store.folder().string(); },
          "The folder, as it was given.")
      .def_property_readonly("dim", &dim,
                             "Features of a sample; where the store has several networks, a dict "
                             "with those of each.")
      .def_property_readonly("networks", &networks,
                             "Names of the networks; none where the store has but one.")
      .def_property_readonly("views", &FeatureStore::views, "Names of the views.")
      .def_property_readonly("splits", &splits,
                             "For each split its number of samples and the names of its classes.")
      .def_property_readonly(
          "provenance",
          [](const FeatureStore& store) { return json_value(store.provenance_json()); },
          "What the features were made of, as far as the store says.")
      .def("features", &features, py::arg("split"), py::arg("view") = py::none(),
           "Features of a split in one view (the first, if not given): float16 or float32, "
           "[samples, dim], read-only, the mapped file itself.")
      .def("labels", &labels, py::arg("split"),
           "Class of each sample of a split, an index into the names of its classes.")
      .def("check", &check,
           "Reads every file whole; raises ValueError at the first thing that is wrong. Returns "
           "how many files and values were read, notes on what is odd but allowed, and warnings of "
           "likely mistakes.")
      .def(
          "sha256", [](const FeatureStore& store) { return store.sha256(available_threads()); },
          py::call_guard<py::gil_scoped_release>(), "One name for all the store holds.")
      .def("__repr__", &description)
      .def(py::pickle(
          [](const FeatureStore& store) { return py::make_tuple(store.folder().string()); },
          [](const py::tuple& state) { return FeatureStore(state[0].cast<std::string>()); }));

  module.def("row_names", &row_names, py::arg("store"), py::arg("split"),
             "What each row of a split was made from; empty where the store does not say.");
  module.def("create_store", &create, py::arg("output"), py::arg("sources"), py::arg("label_files"),
             py::arg("class_files"), py::arg("features_name"), py::arg("labels_name"),
             py::arg("dtype"), py::arg("note"), "Writes a store; see deepvoro.create_store.");
  module.def("join_stores", &join, py::arg("stores"), py::arg("output"),
             "Writes a store; see deepvoro.join_stores.");
}

}  // namespace deepvoro::python
