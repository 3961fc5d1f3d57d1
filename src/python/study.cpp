#include <fmt/format.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "deepvoro/study/compare.hpp"
#include "deepvoro/study/evaluate.hpp"
#include "deepvoro/study/series.hpp"
#include "deepvoro/study/tune.hpp"

namespace deepvoro::python {
namespace {

using OptionalNumber = std::optional<std::size_t>;
using OptionalText = std::optional<std::string>;

Progress interruptible() {
  return [](double) { stop_if_interrupted(); };
}

EpisodePlan plan_of(std::size_t ways, std::size_t shots, std::size_t queries,
                    const std::string& protocol, std::size_t episodes, std::uint32_t seed) {
  return {{ways, shots, queries}, protocol_named(protocol), episodes, seed};
}

// A result, and the scores of its queries where they were asked for.
struct Evaluated {
  EvaluationResult result;
  std::optional<std::vector<double>> scores;
};

Evaluated run(const FeatureStore& store, const Evaluation& request, bool wants_scores) {
  Evaluated done;
  ScoreSink sink;
  if (wants_scores) {
    done.scores.emplace();
    sink = [&](std::span<const double> scores) {
      done.scores->insert(done.scores->end(), scores.begin(), scores.end());
    };
  }
  const py::gil_scoped_release unlocked;
  done.result = evaluate(store, request, sink, interruptible());
  return done;
}

// The values lie in `owner`, which the array keeps alive.
py::array_t<double> view_of(const std::vector<double>& values, std::vector<py::ssize_t> shape,
                            const py::object& owner) {
  py::array_t<double> array(std::move(shape), values.data(), owner);
  array.attr("flags").attr("writeable") = false;
  return array;
}

py::object scores_of(const py::object& self) {
  const auto& evaluated = self.cast<const Evaluated&>();
  if (!evaluated.scores) return py::none();
  const EpisodePlan& plan = evaluated.result.request.plan;
  return view_of(
      *evaluated.scores,
      {static_cast<py::ssize_t>(plan.count), static_cast<py::ssize_t>(plan.shape.total_queries()),
       static_cast<py::ssize_t>(plan.shape.ways)},
      self);
}

void write_results(const std::filesystem::path& file, const FeatureStore& store,
                   const std::vector<const Evaluated*>& evaluated, unsigned threads) {
  std::vector<EvaluationResult> results;
  results.reserve(evaluated.size());
  for (const Evaluated* one : evaluated) results.push_back(one->result);
  const py::gil_scoped_release unlocked;
  store.refuse_output_inside("file", file);
  ResultFile(file, store, threads).write(results);
}

// Of one file within itself, or of two.
void write_comparisons_of(const std::vector<std::filesystem::path>& files,
                          const std::filesystem::path& out, bool by_class, unsigned threads) {
  const py::gil_scoped_release unlocked;
  std::vector<Comparison> comparisons =
      files.size() == 1 ? compare_within(files.at(0)) : compare_files(files.at(0), files.at(1));
  if (by_class) add_intervals_by_class(comparisons, threads);
  write_comparisons(comparisons, out);
}

py::list evaluations(const FeatureStore& store, const std::vector<std::string>& methods,
                     const std::vector<std::size_t>& shots, const std::string& split,
                     std::size_t ways, std::size_t queries, std::size_t episodes,
                     std::uint32_t seed, const std::string& protocol, const std::string& scheme,
                     OptionalNumber size, std::optional<std::filesystem::path> pool,
                     const OptionalText& preset, bool release_views, OptionalText view,
                     const OptionalText& lr, OptionalNumber epochs,
                     std::optional<double> weight_decay, const OptionalText& start, bool sigmoid,
                     const OptionalText& normalisation, double alpha, bool is_signed, bool oracle,
                     bool calibration, bool open_set, unsigned threads, const std::string& device,
                     bool scores) {
  EvaluationSeries series{.methods = methods,
                          .shots = shots,
                          .epochs = epochs,
                          .weight_decay = weight_decay,
                          .sigmoid = sigmoid};
  series.common = {.split = split,
                   .plan = plan_of(ways, 1, queries, protocol, episodes, seed),
                   .scheme = scheme_named(scheme),
                   .size = size,
                   .pool = std::move(pool),
                   .release_views = release_views,
                   .view = std::move(view),
                   .is_signed = is_signed,
                   .alpha = alpha,
                   .oracle = oracle,
                   .reliability = {.calibration = calibration, .open_set = open_set},
                   .threads = threads,
                   .device = device};
  if (preset) series.common.preset = preset_named(*preset);
  if (lr) series.lr = logistic_kind_named(*lr);
  if (start) series.start = logistic_start_named(*start);
  if (normalisation) series.normalisation = normalisation_named(*normalisation);
  py::list all;
  for (const Evaluation& request : series.evaluations())
    all.append(py::cast(std::make_unique<Evaluated>(run(store, request, scores))));
  return all;
}

py::dict transform_dict(const Transform& transform) {
  py::dict values(py::arg("w") = transform.w, py::arg("b") = transform.b);
  values["lambda"] = transform.lambda;
  if (transform.is_signed) values["signed"] = true;
  return values;
}

// Everything tried, as the pool file says it; `chosen` marks what was taken.
py::dict tuning(const FeatureStore& store, const std::string& method,
                const std::filesystem::path& out, std::size_t shots, std::size_t ways,
                std::size_t queries, std::size_t episodes, std::uint32_t seed,
                const std::string& protocol, OptionalNumber top_k, std::vector<std::string> views,
                std::optional<std::vector<double>> lambdas,
                std::optional<std::vector<double>> biases,
                std::optional<std::vector<std::size_t>> neighbours,
                std::optional<std::vector<double>> betas,
                std::optional<std::vector<double>> shrink_within,
                std::optional<std::vector<double>> shrink_between,
                std::optional<std::vector<double>> kappas, bool is_signed, unsigned threads) {
  Tuning request{.method = method_named(method),
                 .plan = plan_of(ways, shots, queries, protocol, episodes, seed),
                 .grid = default_grid(method_named(method)),
                 .top_k = top_k,
                 .views = std::move(views),
                 .is_signed = is_signed,
                 .threads = threads};
  if (lambdas) request.grid.lambdas = std::move(*lambdas);
  if (biases) request.grid.biases = std::move(*biases);
  if (neighbours) request.grid.neighbours = std::move(*neighbours);
  if (betas) request.grid.betas = std::move(*betas);
  if (shrink_within) request.grid.shrink_within = std::move(*shrink_within);
  if (shrink_between) request.grid.shrink_between = std::move(*shrink_between);
  if (kappas) request.grid.kappas = std::move(*kappas);
  TuningResult result;
  {
    const py::gil_scoped_release unlocked;
    check(request);
    store.refuse_output_inside("`out`", out);
    result = tune(store, request, out, interruptible());
  }
  py::list transforms;
  for (std::size_t i = 0; i < result.transforms.size(); ++i) {
    py::dict tried = transform_dict(result.transforms[i].transform);
    tried["val_accuracy"] = result.transforms[i].val_accuracy;
    tried["chosen"] = i < result.top_k;
    transforms.append(tried);
  }
  py::list surrogates;
  for (const TriedSurrogate& tried : result.surrogates)
    surrogates.append(py::dict(
        py::arg("R") = tried.surrogate.R, py::arg("beta") = tried.surrogate.beta,
        py::arg("gamma") = tried.surrogate.gamma, py::arg("val_accuracy") = tried.val_accuracy,
        py::arg("chosen") = tried.is_chosen));
  py::list pldas;
  for (const TriedPlda& tried : result.pldas)
    pldas.append(py::dict(
        py::arg("network") = tried.network, py::arg("shrink_within") = tried.plda.shrink_within,
        py::arg("shrink_between") = tried.plda.shrink_between, py::arg("kappa") = tried.plda.kappa,
        py::arg("val_accuracy") = tried.val_accuracy, py::arg("chosen") = tried.is_chosen));
  return py::dict(py::arg("transforms") = transforms, py::arg("surrogates") = surrogates,
                  py::arg("pldas") = pldas, py::arg("members") = members_json(result.members),
                  py::arg("member_val_accuracy") = result.member_val_accuracy);
}

}  // namespace

void bind_study(py::module_& module) {
  py::class_<Evaluated, std::unique_ptr<Evaluated>>(module, "Evaluation",
                                                    "What one evaluation found.")
      .def_property_readonly(
          "json",
          [](const Evaluated& evaluated) {
            return results_json({&evaluated.result, 1}, "", "");
          },
          "The text of a result file, without path and hash of the store.")
      .def_property_readonly(
          "episode_accuracy",
          [](const py::object& self) {
            const auto& values = self.cast<const Evaluated&>().result.episode_accuracy;
            return view_of(values, {static_cast<py::ssize_t>(values.size())}, self);
          },
          "Accuracy in percent for each episode.")
      .def_property_readonly("scores", &scores_of,
                             "float64 [episodes, ways*queries, ways], the influence of every class "
                             "on every query; None unless asked for.");
  module.def("evaluate", &evaluations, py::arg("store"), py::kw_only(), py::arg("methods"),
             py::arg("shots"), py::arg("split"), py::arg("ways"), py::arg("queries"),
             py::arg("episodes"), py::arg("seed"), py::arg("protocol"), py::arg("scheme"),
             py::arg("size"), py::arg("pool"), py::arg("preset"), py::arg("release_views"),
             py::arg("view"), py::arg("lr"), py::arg("epochs"), py::arg("weight_decay"),
             py::arg("start"), py::arg("sigmoid"), py::arg("normalisation"), py::arg("alpha"),
             py::arg("signed"), py::arg("oracle"), py::arg("calibration"), py::arg("open_set"),
             py::arg("threads"), py::arg("device"), py::arg("scores"), "See deepvoro.evaluate.");
  module.def("write_results", &write_results, py::arg("file"), py::arg("store"), py::arg("results"),
             py::arg("threads"), "Writes a result file, as deepvoro evaluate --json does.");
  module.def("write_comparisons", &write_comparisons_of, py::arg("files"), py::arg("out"),
             py::arg("by_class"), py::arg("threads"), "See deepvoro.compare.");
  module.def("tune", &tuning, py::arg("store"), py::kw_only(), py::arg("method"), py::arg("out"),
             py::arg("shots"), py::arg("ways"), py::arg("queries"), py::arg("episodes"),
             py::arg("seed"), py::arg("protocol"), py::arg("top_k"), py::arg("views"),
             py::arg("lambdas"), py::arg("biases"), py::arg("neighbours"), py::arg("betas"),
             py::arg("shrink_within"), py::arg("shrink_between"), py::arg("kappas"),
             py::arg("signed"), py::arg("threads"), "See deepvoro.tune.");
}

}  // namespace deepvoro::python
