#include "ensemble/viewed_samples.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "deepvoro/core/error.hpp"
#include "features/transformed_rows.hpp"

namespace deepvoro {

void check_samples(const ViewedSamples& samples) {
  if (samples.views.size() != samples.rows.size() || samples.views.empty() || samples.classes == 0)
    throw usage_error("samples need at least one view and one class, and rows for every view");
  for (std::size_t v = 0; v < samples.rows.size(); ++v) {
    const auto same_network = std::ranges::find(samples.views, network_of(samples.views[v]),
                                                [](const auto& view) { return network_of(view); });
    const std::size_t dim =
        samples.rows[static_cast<std::size_t>(same_network - samples.views.begin())].cols();
    if (samples.rows[v].rows() != samples.labels.size() || samples.rows[v].cols() != dim)
      throw usage_error("every view must have one row of the same length for each label");
  }
  for (const std::size_t label : samples.labels)
    if (label >= samples.classes) throw usage_error("a label is beyond the number of classes");
}

std::vector<std::size_t> class_sizes(const ViewedSamples& samples) {
  std::vector<std::size_t> counts(samples.classes);
  for (const std::size_t label : samples.labels) ++counts[label];
  const auto empty = std::ranges::find(counts, std::size_t{0});
  if (empty != counts.end())
    throw data_error(fmt::format("class {} has no samples", empty - counts.begin()));
  return counts;
}

std::size_t place_of_view(const ViewedSamples& samples, const std::string& view) {
  const auto found = std::ranges::find(samples.views, view);
  if (found == samples.views.end())
    throw data_error(fmt::format("no features of view '{}' were given", view));
  return static_cast<std::size_t>(found - samples.views.begin());
}

double checked_norm(std::span<const float> row, std::vector<double>& scratch) {
  const double norm = widen(ElementType::float32, reinterpret_cast<const std::byte*>(row.data()),
                            row.size(), scratch.data());
  if (!std::isfinite(norm)) throw data_error("a feature is not finite; remove or repair it");
  return norm;
}

Matrix<float> mean_rows(std::span<const MatrixView<const float>> views, std::size_t begin,
                        std::size_t end) {
  const std::size_t dim = views.front().cols();
  Matrix<float> means(end - begin, dim);
  std::vector<double> scratch(padded(dim));
  std::vector<double> sum(dim);
  for (std::size_t row = begin; row < end; ++row) {
    std::ranges::fill(sum, 0.0);
    for (const MatrixView<const float>& view : views)
      add_unit_row(ElementType::float32, reinterpret_cast<const std::byte*>(view.row(row)), dim,
                   scratch.data(), sum.data());
    std::ranges::transform(sum, means.row(row - begin),
                           [](double value) { return static_cast<float>(value); });
  }
  return means;
}

std::vector<std::string> means_of(const Pool& members) {
  std::vector<std::string> means;
  for (const Member& member : members)
    if (is_mean_view(member.view) && std::ranges::find(means, member.view) == means.end())
      means.push_back(member.view);
  return means;
}

std::vector<MatrixView<const float>> rows_of_network(std::span<const std::string> views,
                                                     std::span<const MatrixView<const float>> rows,
                                                     std::string_view network) {
  std::vector<MatrixView<const float>> of_network;
  for (std::size_t v = 0; v < views.size(); ++v)
    if (network_of(views[v]) == network) of_network.push_back(rows[v]);
  return of_network;
}

WithMeans::WithMeans(const ViewedSamples& samples, const std::vector<std::string>& means)
    : samples_(samples) {
  means_.reserve(means.size());
  for (const std::string& mean : means) {
    const std::vector<MatrixView<const float>> of_network =
        rows_of_network(samples.views, samples.rows, network_of(mean));
    if (of_network.empty())
      throw data_error(fmt::format("no features were given that '{}' is the mean of", mean));
    means_.push_back(mean_rows(of_network, 0, samples.labels.size()));
    samples_.views.push_back(mean);
    samples_.rows.emplace_back(means_.back().view());
  }
}

}  // namespace deepvoro
