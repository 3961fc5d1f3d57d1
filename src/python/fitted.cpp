#include <fmt/format.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "bindings.hpp"
#include "deepvoro/classifier/calibration.hpp"
#include "deepvoro/classifier/head_temperature.hpp"
#include "deepvoro/classifier/ridge_voronoi.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/core/parallel.hpp"
#include "deepvoro/ensemble/fitted.hpp"
#include "deepvoro/ensemble/fitted_head.hpp"

namespace deepvoro::python {
namespace {

using Rows = py::array_t<float>;
using Values = py::array_t<double, py::array::c_style>;
using Labels = py::array_t<std::size_t, py::array::c_style>;

// Views side by side in the columns of one array.
std::vector<MatrixView<const float>> column_blocks(const Rows& array, std::size_t views) {
  const MatrixView<const float> rows = rows_of(array);
  const std::size_t dim = rows.cols() / views;
  if (rows.cols() != views * dim)
    throw usage_error(
        fmt::format("{} features cannot be divided into {} equal views", rows.cols(), views));
  std::vector<MatrixView<const float>> blocks;
  for (std::size_t v = 0; v < views; ++v)
    blocks.emplace_back(rows.data() + v * dim, rows.rows(), dim, rows.stride());
  return blocks;
}

ViewedSamples samples_of(const std::vector<std::string>& views, const Rows& rows,
                         const Labels& labels, std::size_t classes) {
  return {views, column_blocks(rows, views.size()), labels_of(labels), classes};
}

class Ensemble {
 public:
  Ensemble(const Rows& rows, const Labels& labels, std::size_t classes,
           const std::vector<std::string>& views, const std::string& members, double alpha,
           const std::optional<std::tuple<Rows, Labels, std::size_t>>& base)
      : views_(views.size()) {
    const ViewedSamples support = samples_of(views, rows, labels, classes);
    std::optional<ViewedSamples> of_base;
    if (base)
      of_base = samples_of(views, std::get<0>(*base), std::get<1>(*base), std::get<2>(*base));
    const py::gil_scoped_release unlocked;
    fitted_.emplace(pool_from_json(members, "members"), support, of_base ? &*of_base : nullptr,
                    Influence(alpha));
  }

  [[nodiscard]] py::array_t<double> influence(const Rows& queries, unsigned threads) const {
    const std::vector<MatrixView<const float>> blocks = column_blocks(queries, views_);
    const std::size_t count = blocks.front().rows();
    const std::size_t classes = fitted_->classes();
    py::array_t<double> out({count, classes});
    double* to = out.mutable_data();
    const py::gil_scoped_release unlocked;
    constexpr std::size_t grain = 16;
    parallel_for(threads, count, grain, [&](std::size_t begin, std::size_t end, unsigned) {
      std::vector<std::span<const float>> query(blocks.size());
      for (std::size_t q = begin; q < end; ++q) {
        for (std::size_t v = 0; v < blocks.size(); ++v) query[v] = blocks[v][q];
        try {
          fitted_->influence(query, {to + q * classes, classes});
        } catch (const Error& error) {
          throw Error(error.kind(), fmt::format("row {}: {}", q, error.what()), error.code());
        }
      }
    });
    return out;
  }

 private:
  std::size_t views_;
  std::optional<FittedEnsemble> fitted_;
};

// ridge-vd on rows, views side by side.
class FittedRidgeVoronoi {
 public:
  FittedRidgeVoronoi(const Rows& rows, const Labels& labels, std::size_t classes,
                     const std::vector<std::string>& views,
                     const std::optional<std::filesystem::path>& statistics)
      : views_(views.size()) {
    const ViewedSamples support = samples_of(views, rows, labels, classes);
    const py::gil_scoped_release unlocked;
    std::optional<BackboneStatistics> of_network;
    if (statistics) of_network = BackboneStatistics::load(*statistics);
    fitted_.emplace(support, of_network ? &*of_network : nullptr);
  }

  [[nodiscard]] py::array_t<double> influence(const Rows& queries, unsigned threads) const {
    return asked(queries, threads,
                 [](const RidgeVoronoi::Answer& answer) { return answer.scores(); });
  }
  [[nodiscard]] py::array_t<double> distances(const Rows& queries, unsigned threads) const {
    return asked(queries, threads,
                 [](const RidgeVoronoi::Answer& answer) { return answer.distances; });
  }
  [[nodiscard]] py::array_t<double> probabilities(const Rows& queries, double temperature,
                                                  unsigned threads) const {
    const double factor = temperature / calibration().temperature;
    return asked(queries, threads, [&](const RidgeVoronoi::Answer& answer) {
      std::vector<double> shares(fitted_->classes());
      deepvoro::probabilities(answer.scores(), factor * answer.temperature, shares);
      return shares;
    });
  }
  [[nodiscard]] const Calibration& calibration() const { return fitted_->calibration(); }

 private:
  template <class Part>
  [[nodiscard]] py::array_t<double> asked(const Rows& queries, unsigned threads,
                                          const Part& part) const {
    const std::vector<MatrixView<const float>> blocks = column_blocks(queries, views_);
    py::array_t<double> out({blocks.front().rows(), fitted_->classes()});
    double* to = out.mutable_data();
    const py::gil_scoped_release unlocked;
    for (const RidgeVoronoi::Answer& answer : fitted_->ask(blocks, threads))
      to = std::ranges::copy(part(answer), to).out;
    return out;
  }

  std::size_t views_;
  std::optional<RidgeVoronoi> fitted_;
};

HeadConfiguration configuration_of(const std::string& method, std::size_t epochs,
                                   const std::string& normalisation, bool is_signed) {
  return {.method = method_named(method),
          .logistic = {.epochs = epochs},
          .normalisation = normalisation_named(normalisation),
          .is_signed = is_signed};
}

FittedHead head(const Rows& rows, const Labels& labels, std::size_t classes,
                const std::string& method, std::size_t epochs, const std::string& normalisation,
                bool is_signed, std::vector<double> base_mean) {
  const HeadConfiguration configuration =
      configuration_of(method, epochs, normalisation, is_signed);
  const MatrixView<const float> support = rows_of(rows);
  const py::gil_scoped_release unlocked;
  return {configuration, support, labels_of(labels), classes, std::move(base_mean)};
}

double temperature_of_head(const Rows& rows, const Labels& labels, std::size_t classes,
                           const std::string& method, std::size_t epochs,
                           const std::string& normalisation, bool is_signed,
                           const std::vector<double>& base_mean, unsigned threads) {
  const HeadConfiguration configuration =
      configuration_of(method, epochs, normalisation, is_signed);
  const MatrixView<const float> support = rows_of(rows);
  const py::gil_scoped_release unlocked;
  return head_temperature(configuration, support, labels_of(labels), classes, base_mean, threads);
}

py::array_t<double> head_influence(const FittedHead& head, const Rows& queries, unsigned threads) {
  const MatrixView<const float> rows = rows_of(queries);
  py::array_t<double> out({rows.rows(), head.classes()});
  const MatrixView<double> to(out.mutable_data(), rows.rows(), head.classes());
  const py::gil_scoped_release unlocked;
  head.influence(rows, threads, to);
  return out;
}

MatrixView<const double> values_of(const Values& influence) {
  if (influence.ndim() != 2 || influence.shape(1) < 1)
    throw usage_error("influence must be an array [rows, classes]");
  return {influence.data(), static_cast<std::size_t>(influence.shape(0)),
          static_cast<std::size_t>(influence.shape(1))};
}

py::array_t<double> probabilities_of(const Values& influence, double temperature) {
  const MatrixView<const double> from = values_of(influence);
  py::array_t<double> out({from.rows(), from.cols()});
  const MatrixView<double> to(out.mutable_data(), from.rows(), from.cols());
  for (std::size_t r = 0; r < from.rows(); ++r) probabilities(from[r], temperature, to[r]);
  return out;
}

double calibrated_temperature(const Values& influence, const Labels& labels, const Labels& shots) {
  const MatrixView<const double> values = values_of(influence);
  const py::gil_scoped_release unlocked;
  return calibrate(values, labels_of(labels), labels_of(shots)).temperature;
}

// W and b, copied: they are small, and rows are padded.
py::tuple weights(const FittedHead& head) {
  const std::optional<FittedHead::Weights> fitted = head.weights();
  if (!fitted) throw usage_error("this head has no weights");
  const auto& [W, b] = *fitted;
  py::array_t<double> coefficients({W.rows(), W.cols()});
  for (std::size_t k = 0; k < W.rows(); ++k)
    std::ranges::copy(W[k], coefficients.mutable_data(static_cast<py::ssize_t>(k)));
  return py::make_tuple(coefficients,
                        py::array_t<double>(static_cast<py::ssize_t>(b.size()), b.data()));
}

}  // namespace

void bind_fitted(py::module_& module) {
  module.def(
      "default_members",
      [](const std::string& method, const std::vector<std::string>& views) {
        return members_json(default_pool(method_named(method), views));
      },
      py::arg("method"), py::arg("views"),
      "Members of an ensemble method on these views, as the JSON list of a pool file.");
  module.def("probabilities", &probabilities_of, py::arg("influence"), py::arg("temperature"),
             "Softmax of influence over temperature, row by row.");
  module.def("calibrated_temperature", &calibrated_temperature, py::arg("influence"),
             py::arg("labels"), py::arg("shots"),
             "The temperature that suits support rows, from the influence of every class on them.");
  py::class_<Ensemble>(module, "Ensemble", "Members of a pool fitted on labelled rows.")
      .def(py::init<const Rows&, const Labels&, std::size_t, const std::vector<std::string>&,
                    const std::string&, double,
                    const std::optional<std::tuple<Rows, Labels, std::size_t>>&>(),
           py::arg("rows").noconvert(), py::arg("labels"), py::arg("classes"), py::arg("views"),
           py::arg("members"), py::arg("alpha"), py::arg("base") = py::none())
      .def("influence", &Ensemble::influence, py::arg("rows").noconvert(), py::arg("threads"),
           "Influence of each class on each row, [rows, classes]; larger is nearer.");
  py::class_<FittedRidgeVoronoi>(module, "RidgeVoronoi",
                                 "A ridge regression and the nearest class mean, together.")
      .def(py::init<const Rows&, const Labels&, std::size_t, const std::vector<std::string>&,
                    const std::optional<std::filesystem::path>&>(),
           py::arg("rows").noconvert(), py::arg("labels"), py::arg("classes"), py::arg("views"),
           py::arg("statistics") = py::none())
      .def("influence", &FittedRidgeVoronoi::influence, py::arg("rows").noconvert(),
           py::arg("threads"), "Score of each class for each row, [rows, classes].")
      .def("distances", &FittedRidgeVoronoi::distances, py::arg("rows").noconvert(),
           py::arg("threads"),
           "Distance of each row from each class, where 1 is typical of rows of the class.")
      .def("probabilities", &FittedRidgeVoronoi::probabilities, py::arg("rows").noconvert(),
           py::arg("temperature"), py::arg("threads"),
           "Softmax of scores over the temperature, which is less where a row is very near.")
      .def_property_readonly(
          "temperature",
          [](const FittedRidgeVoronoi& fitted) { return fitted.calibration().temperature; },
          "Of the softmax that turns scores into probability.")
      .def_property_readonly(
          "exponent",
          [](const FittedRidgeVoronoi& fitted) { return fitted.calibration().ridge_vd->exponent; },
          "Of the features.")
      .def_property_readonly(
          "strength",
          [](const FittedRidgeVoronoi& fitted) { return fitted.calibration().ridge_vd->strength; },
          "Of the ridge regression.")
      .def_property_readonly(
          "is_logistic",
          [](const FittedRidgeVoronoi& fitted) {
            return fitted.calibration().ridge_vd->is_logistic;
          },
          "Whether a logistic regression decides instead of both diagrams.")
      .def_property_readonly(
          "thresholds",
          [](const FittedRidgeVoronoi& fitted) { return fitted.calibration().thresholds; },
          "A row that is farther than this from every class is unknown: low, normal, high.")
      .def_property_readonly(
          "left_out",
          [](const FittedRidgeVoronoi& fitted) { return fitted.calibration().left_out; },
          "The class of each row when it is left out; None where it was not.");
  module.def(
      "head_temperature", &temperature_of_head, py::arg("rows").noconvert(), py::arg("labels"),
      py::arg("classes"), py::arg("method"), py::arg("epochs") = LogisticOptions::kDefaultEpochs,
      py::arg("normalisation") = "l2n", py::arg("signed") = false,
      py::arg("base_mean") = std::vector<double>(), py::arg("threads") = 1,
      "The temperature that makes probabilities of the scores of a head, by leaving out rows.");
  py::class_<FittedHead>(module, "Head", "A head fitted on labelled rows.")
      .def(py::init(&head), py::arg("rows").noconvert(), py::arg("labels"), py::arg("classes"),
           py::arg("method"), py::arg("epochs") = LogisticOptions::kDefaultEpochs,
           py::arg("normalisation") = "l2n", py::arg("signed") = false,
           py::arg("base_mean") = std::vector<double>())
      .def("influence", &head_influence, py::arg("rows").noconvert(), py::arg("threads"),
           "Score of each class for each row, [rows, classes]; larger is nearer.")
      .def_property_readonly("weights", &weights,
                             "W [classes, features] and b [classes] of a logistic regression.");
}

}  // namespace deepvoro::python
