#include <pybind11/stl.h>

#include <string>
#include <utility>

#include "bindings.hpp"
#include "deepvoro/episodes/episode.hpp"
#include "deepvoro/episodes/statistics.hpp"

namespace deepvoro::python {
namespace {

// Row numbers of all episodes, [episodes, ways, rows of a way].
template <class Part>
py::array_t<std::int64_t> indices(const EpisodeList& episodes, std::size_t rows_of_way,
                                  const Part& part) {
  std::vector<std::int64_t> all;
  all.reserve(episodes.size() * episodes.shape().ways * rows_of_way);
  for (std::size_t e = 0; e < episodes.size(); ++e) {
    const std::span<const SampleIndex> rows = part(episodes[e]);
    all.insert(all.end(), rows.begin(), rows.end());
  }
  return array_of(std::move(all), {static_cast<py::ssize_t>(episodes.size()),
                                   static_cast<py::ssize_t>(episodes.shape().ways),
                                   static_cast<py::ssize_t>(rows_of_way)});
}

py::tuple draw(const py::array_t<std::size_t>& labels, const std::vector<std::string>& class_names,
               const EpisodeShape& shape, const std::string& protocol, std::size_t count,
               std::uint32_t seed) {
  EpisodeList episodes(shape);
  {
    const py::gil_scoped_release unlocked;
    episodes =
        draw_episodes({.labels = labels_of(labels), .class_names = class_names, .where = "labels"},
                      shape, protocol_named(protocol), count, seed);
  }
  return py::make_tuple(
      indices(episodes, shape.shots, [](const Episode& episode) { return episode.support; }),
      indices(episodes, shape.queries, [](const Episode& episode) { return episode.query; }));
}

}  // namespace

void bind_episodes(py::module_& module) {
  module.def(
      "draw_episodes",
      [](const py::array_t<std::size_t, py::array::c_style>& labels,
         const std::vector<std::string>& class_names, std::size_t ways, std::size_t shots,
         std::size_t queries, std::size_t episodes, std::uint32_t seed,
         const std::string& protocol) {
        return draw(labels, class_names, {ways, shots, queries}, protocol, episodes, seed);
      },
      py::arg("labels"), py::arg("class_names"), py::arg("ways"), py::arg("shots"),
      py::arg("queries"), py::arg("episodes"), py::arg("seed"), py::arg("protocol"),
      "Row numbers of episodes; see deepvoro.episodes.");
  module.def(
      "paired_difference",
      [](const std::vector<double>& a, const std::vector<double>& b) {
        const Estimate difference = paired_difference(a, b);
        return std::pair(difference.mean, difference.ci95);
      },
      py::arg("a"), py::arg("b"), "Mean of a - b over episodes, and its 95% interval.");
}

}  // namespace deepvoro::python
