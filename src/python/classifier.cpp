#include <pybind11/functional.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "deepvoro/classifier/classifier.hpp"
#include "deepvoro/classifier/describe.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/ensemble/pool.hpp"

namespace deepvoro::python {
namespace {

using OptionalPath = std::optional<std::filesystem::path>;
using Pixels = py::array_t<std::uint8_t, py::array::c_style>;

// How pictures are looked at, and what came of it.
struct Looking {
  std::string backbone;
  std::string device;
  bool skip_bad = false;
  bool fast_decode = false;
  unsigned threads = 1;
  LookedAt result = {};
  std::vector<std::string> notes = {};

  // Refers to this.
  [[nodiscard]] PictureOptions options() {
    return {.backbone = backbone,
            .device = device,
            .skip_bad = skip_bad,
            .fast_decode = fast_decode,
            .threads = threads,
            .events = {.noticed = [this](const std::string& note) { notes.push_back(note); },
                       .progress = [](double) { stop_if_interrupted(); },
                       .looked = [this](const LookedAt& looked) { result = looked; }}};
  }
};

Picture picture_of_bytes(const py::bytes& file, const std::string& name) {
  const std::string_view text = file;
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return picture_from_bytes({begin, begin + text.size()}, name);
}

Picture picture_of_pixels(const Pixels& pixels, const std::string& name) {
  if (pixels.ndim() != 3 || pixels.shape(2) != 3)
    throw usage_error("pixels must be an array of uint8 [height, width, 3]");
  return picture_from_pixels({static_cast<std::size_t>(pixels.shape(1)),
                              static_cast<std::size_t>(pixels.shape(0)),
                              {pixels.data(), pixels.data() + pixels.size()}},
                             name);
}

ClassFolders folders_of(bool leaves) {
  return leaves ? ClassFolders::inner : ClassFolders::outer;
}

std::optional<FitMethod> method_of(const std::optional<std::string>& name) {
  if (!name) return std::nullopt;
  return fit_method_named(*name);
}

PictureFit fit_of(const std::string& views, const OptionalPath& pool,
                  const std::optional<std::string>& method, Looking& looking, bool leaves = false) {
  return {.folders = folders_of(leaves),
          .views = views,
          .pool = pool ? read_pool(*pool) : Pool(),
          .method = method_of(method),
          .pictures = looking.options()};
}

py::array_t<double> array_of_row(const std::vector<double>& values) {
  return py::array_t<double>(static_cast<py::ssize_t>(values.size()), values.data());
}

py::tuple tuple_of(const Prediction& prediction) {
  return py::make_tuple(prediction.label, prediction.unknown,
                        array_of_row(prediction.probabilities), array_of_row(prediction.influence),
                        prediction.distance);
}

void predict(const Classifier& classifier, const std::vector<Picture>& pictures, Looking& looking,
             const py::function& on_answer, const py::function& on_unreadable) {
  PictureOptions options = looking.options();
  if (!options.skip_bad) {
    options.skip_bad = true;
    options.events.skipped = [&](std::size_t picture, const std::string& reason) {
      const py::gil_scoped_acquire gil;
      on_unreadable(picture, reason);
    };
    options.events.looked = [&looking](const LookedAt& looked) {
      looking.result = looked;
      looking.result.skipped.clear();
    };
  }
  const py::gil_scoped_release unlocked;
  classifier.predict(
      pictures,
      [&](const Prediction& prediction) {
        const py::gil_scoped_acquire gil;
        on_answer(prediction.query, tuple_of(prediction));
      },
      options);
}

std::string test_pictures(const Classifier& classifier, const std::filesystem::path& collection,
                          bool leaves, Looking& looking) {
  const LabelledPictures pictures = labelled_pictures_at(collection, folders_of(leaves));
  looking.notes = pictures.notes;
  return test_json(test_classifier(classifier, pictures, looking.options()));
}

py::list predict_store(const Classifier& classifier, const FeatureStore& store,
                       const std::string& split, unsigned threads) {
  std::vector<Prediction> predictions;
  {
    const py::gil_scoped_release unlocked;
    predictions = classifier.predict(store, split, threads);
  }
  py::list all;
  for (const Prediction& prediction : predictions) all.append(tuple_of(prediction));
  return all;
}

py::list parts_of(const std::vector<Explanation::Part>& parts) {
  py::list all;
  for (const Explanation::Part& part : parts)
    all.append(py::make_tuple(part.name, part.members, array_of_row(part.influence), part.votes));
  return all;
}

py::dict explain(const Classifier& classifier, const Picture& picture, std::size_t neighbours,
                 Looking& looking) {
  Explanation explanation;
  {
    const py::gil_scoped_release unlocked;
    explanation = classifier.explain(picture, neighbours, looking.options());
  }
  py::list near;
  for (const auto& [label, name, distance] : explanation.neighbours)
    near.append(py::make_tuple(label, name, distance));
  return py::dict(py::arg("prediction") = tuple_of(explanation.prediction),
                  py::arg("views") = parts_of(explanation.views),
                  py::arg("transformations") = parts_of(explanation.transformations),
                  py::arg("geometries") = parts_of(explanation.geometries),
                  py::arg("neighbours") = near);
}

}  // namespace

void bind_classifier(py::module_& module) {
  using Unlocked = py::call_guard<py::gil_scoped_release>;
  py::class_<Picture>(module, "Picture", "A picture that is read when it is asked for.")
      .def_readonly("name", &Picture::name, "What it is called in a class.")
      .def_readonly("where", &Picture::where, "What messages call it.");
  module.def("picture_of_bytes", &picture_of_bytes, py::arg("file"), py::arg("name"),
             "A picture from the bytes of its file; an empty name: by its hash.");
  module.def("picture_of_pixels", &picture_of_pixels, py::arg("pixels"), py::arg("name"),
             "A picture from an array of uint8 [height, width, 3]; an empty name: by its hash.");
  module.def("pictures_at", &pictures_at, py::arg("path"), Unlocked(),
             "A picture file, or all those in a folder and below it or in an archive.");
  module.def(
      "missing_picture",
      [](const std::string& path, const std::string& reason) {
        return unreadable_picture(path, data_error(reason, ErrorCode::missing_file));
      },
      py::arg("path"), py::arg("reason"), "A picture that is told to be missing when it is read.");
  module.def("is_classifier", &Classifier::is_classifier, py::arg("file"), Unlocked(),
             "Whether a file is a classifier.");
  py::class_<Looking>(module, "Looking", "How pictures are looked at, and what came of it.")
      .def(py::init([](std::string backbone, std::string device, bool skip_bad, bool fast_decode,
                       unsigned threads) {
             return Looking{std::move(backbone), std::move(device), skip_bad, fast_decode, threads};
           }),
           py::arg("backbone"), py::arg("device"), py::arg("skip_bad"), py::arg("fast_decode"),
           py::arg("threads"))
      .def_property_readonly(
          "skipped", [](const Looking& looking) { return looking.result.skipped; },
          "Pictures that could not be read: which, and why.")
      .def_readonly("notes", &Looking::notes, "What a person may not have meant.")
      .def_property_readonly(
          "warning", [](const Looking& looking) { return looking.result.warning; },
          "Where the network has never seen such pictures.");
  py::class_<Classifier>(module, "Classifier", "A classifier of pictures or features.")
      .def_static(
          "fit_collection",
          [](const std::filesystem::path& collection, const std::string& views,
             const OptionalPath& pool, const std::optional<std::string>& method, bool leaves,
             Looking& looking) {
            return Classifier::fit_pictures(collection,
                                            fit_of(views, pool, method, looking, leaves));
          },
          py::arg("collection"), py::arg("views"), py::arg("pool"), py::arg("method"),
          py::arg("leaves"), py::arg("looking"), Unlocked(),
          "Of a folder of pictures per class, or another collection.")
      .def_static(
          "fit_pictures",
          [](const std::vector<std::string>& classes, const std::vector<std::size_t>& labels,
             const std::vector<Picture>& pictures, const std::string& views,
             const OptionalPath& pool, const std::optional<std::string>& method, Looking& looking) {
            return Classifier::fit_pictures({classes, labels, pictures},
                                            fit_of(views, pool, method, looking));
          },
          py::arg("classes"), py::arg("labels"), py::arg("pictures"), py::arg("views"),
          py::arg("pool"), py::arg("method"), py::arg("looking"), Unlocked(),
          "Of pictures with a class each.")
      .def_static(
          "fit_store",
          [](const FeatureStore& store, const std::string& split, const OptionalPath& pool,
             const std::optional<std::string>& method, unsigned threads) {
            return Classifier::fit(store, split, pool ? read_pool(*pool) : Pool(), threads,
                                   method_of(method));
          },
          py::arg("store"), py::arg("split"), py::arg("pool"), py::arg("method"),
          py::arg("threads"), Unlocked(), "Of one split of a feature store.")
      .def_static("load", &Classifier::load, py::arg("file"), Unlocked(), "From a .dv file.")
      .def("save", &Classifier::save, py::arg("file"), Unlocked(), "To a .dv file.")
      .def(
          "with_pictures",
          [](const Classifier& classifier, const std::string& class_name,
             const std::vector<Picture>& pictures, Looking& looking) {
            return classifier.with_pictures(class_name, pictures, looking.options());
          },
          py::arg("class_name"), py::arg("pictures"), py::arg("looking"), Unlocked(),
          "As if these pictures had been there from the beginning.")
      .def(
          "with_store",
          [](const Classifier& classifier, const FeatureStore& store, const std::string& class_name,
             const std::string& split,
             unsigned threads) { return classifier.with(store, class_name, split, threads); },
          py::arg("store"), py::arg("class_name"), py::arg("split"), py::arg("threads"), Unlocked(),
          "As if this class of a store had been there from the beginning.")
      .def(
          "without",
          [](const Classifier& self, const std::vector<std::string>& what, unsigned threads) {
            return self.without(what, threads);
          },
          py::arg("what"), py::arg("threads"), Unlocked(),
          "As if these classes and pictures (CLASS/PICTURE) had never been there.")
      .def("renamed", &Classifier::renamed, py::arg("class_name"), py::arg("to"),
           py::arg("threads"), Unlocked(), "As if the class had always had another name.")
      .def("predict", &predict, py::arg("pictures"), py::arg("looking"), py::arg("on_answer"),
           py::arg("on_unreadable"),
           "Calls on_answer(number, (label, unknown, probabilities, influence, distance)) for each "
           "picture, or on_unreadable(number, reason).")
      .def("test_pictures", &test_pictures, py::arg("collection"), py::arg("leaves"),
           py::arg("looking"), Unlocked(), "How it does on pictures of known classes, as JSON.")
      .def(
          "test_store",
          [](const Classifier& classifier, const FeatureStore& store, const std::string& split,
             unsigned threads) {
            return test_json(test_classifier(classifier, store, split, threads));
          },
          py::arg("store"), py::arg("split"), py::arg("threads"), Unlocked(),
          "The same for a feature store.")
      .def(
          "info", [](const Classifier& classifier) { return info_json(classifier, true); },
          "What is in it, as JSON.")
      .def("predict_store", &predict_store, py::arg("store"), py::arg("split"), py::arg("threads"),
           "(label, unknown, probabilities, influence, distance) of each sample of a split.")
      .def("explain", &explain, py::arg("picture"), py::arg("neighbours"), py::arg("looking"),
           "Why a picture gets its class.")
      .def_property_readonly("classes", &Classifier::classes, "Names, in alphabetical order.")
      .def_property_readonly("labels", &Classifier::labels, "Class of each sample.")
      .def_property_readonly("names", &Classifier::names, "Name of each sample.")
      .def_property_readonly("views", &Classifier::views, "Ways to look at a picture.")
      .def_property_readonly("dim", &Classifier::dim, "Features of a view.")
      .def_property_readonly(
          "members", [](const Classifier& classifier) { return members_json(classifier.pool()); },
          "The members, as the JSON list of a pool file.")
      .def_property_readonly(
          "backbone", [](const Classifier& classifier) { return classifier.origin().backbone; },
          "The network that made its features; empty where they were given as such.")
      .def_property_readonly(
          "temperature",
          [](const Classifier& classifier) { return classifier.calibration().temperature; },
          "Of the softmax that turns influence into probability.")
      .def_property_readonly(
          "thresholds",
          [](const Classifier& classifier) { return classifier.calibration().thresholds; },
          "A picture that is farther than this from every class is unknown: low, normal, high.")
      .def_property_readonly(
          "method", [](const Classifier& classifier) { return name(classifier.method()); },
          "How it was made: ridge-vd, deepvoro or plda.")
      .def_property_readonly(
          "left_out",
          [](const Classifier& classifier) { return classifier.calibration().left_out; },
          "The class of each sample when it is left out; None where it was not.");
}

}  // namespace deepvoro::python
