#include "deepvoro/classifier/backbone_statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "class_likeness.hpp"
#include "core/matrix.hpp"
#include "deepvoro/core/error.hpp"
#include "features/formats/half.hpp"
#include "features/representation.hpp"
#include "features/transformed_rows.hpp"
#include "geometry/ridge.hpp"
#include "point_space.hpp"

// How statistics are made of stores; files of them: statistics_file.cpp.
namespace deepvoro {
namespace {

// The base rows of some stores in all their views, mapped.
class JoinedRows {
 public:
  explicit JoinedRows(std::span<const FeatureStore> stores) {
    std::map<std::string, std::size_t> number_of_class;
    for (const FeatureStore& store : stores) {
      if (!store.has_split("base"))
        throw data_error(fmt::format("{}: has no split 'base', from which statistics are made",
                                     store.folder().string()));
      const std::vector<std::size_t> labels = store.labels("base");
      const std::size_t first_view = views_.size();
      for (const std::string& view : store.views()) views_.push_back(store.features("base", view));
      std::vector<std::size_t> classes(labels.size());
      for (std::size_t row = 0; row < labels.size(); ++row) {
        const std::string& name = store.split("base").classes[labels[row]];
        classes[row] = number_of_class.try_emplace(name, number_of_class.size()).first->second;
        samples_by_class_.resize(number_of_class.size());
        samples_by_class_[classes[row]].push_back(samples_.size());
        samples_.push_back({first_view, views_.size(), row});
      }
      rows_by_class_.resize(number_of_class.size());
      for (std::size_t view = first_view; view < views_.size(); ++view)
        for (std::size_t row = 0; row < labels.size(); ++row) {
          rows_by_class_[classes[row]].push_back(places_.size());
          places_.push_back({view, row});
        }
    }
  }

  using ByClass = std::vector<std::vector<std::size_t>>;
  [[nodiscard]] std::size_t samples() const { return samples_.size(); }
  [[nodiscard]] const ByClass& samples_by_class() const { return samples_by_class_; }
  [[nodiscard]] const ByClass& rows_by_class() const { return rows_by_class_; }

  // The point of a sample; out: padded(dim) elements
  void represented(std::size_t number, const Representation& representation,
                   const std::string& origin, double* out) const {
    const Sample& sample = samples_[number];
    std::vector<Representation::Row> rows;
    for (std::size_t view = sample.first_view; view < sample.end_view; ++view)
      rows.push_back({views_[view].element(), views_[view].row(sample.row)});
    try {
      representation.of(rows, views_.front().dim(), out);
    } catch (const Error& error) {
      throw data_error(fmt::format("{}: row {}: {}", origin, sample.row, error.what()));
    }
  }

  [[nodiscard]] bool has_negative() const {
    std::vector<float> row(views_.front().dim());
    return std::ranges::any_of(views_, [&](const FeatureRows& view) {
      for (std::size_t r = 0; r < view.rows(); ++r) {
        view.copy_row(r, row);
        if (std::ranges::any_of(row, [](float value) { return value < 0; })) return true;
      }
      return false;
    });
  }

  // out: padded(dim) elements
  void transformed(std::size_t number, const TransformPlan& plan, const std::string& origin,
                   double* out) const {
    const FeatureRows& view = views_[places_[number].view];
    const std::byte* row = view.row(places_[number].row);
    std::vector<double> scratch(padded(view.dim()));
    const std::vector<float> nothing(padded(view.dim()));
    const double norm = widen(view.element(), row, view.dim(), scratch.data());
    if (!std::isfinite(norm))
      throw data_error(fmt::format("{}: a feature of row {} is not finite; remove or repair it",
                                   origin, places_[number].row));
    if (plan.apply(view.element(), row, view.dim(), norm, nothing.data(), scratch.data(), out) !=
        kernels::RowStatus::ok)
      throw data_error(
          fmt::format("{}: row {} cannot be transformed", origin, places_[number].row));
  }

 private:
  struct Place {
    std::size_t view;
    std::size_t row;
  };
  struct Sample {
    std::size_t first_view;
    std::size_t end_view;
    std::size_t row;
  };
  std::vector<FeatureRows> views_;
  std::vector<Place> places_;
  std::vector<Sample> samples_;
  ByClass rows_by_class_;
  ByClass samples_by_class_;
};

double as_half(double value) {
  return static_cast<double>(half_to_float(float_to_half(static_cast<float>(value))));
}

void round_to_half(std::vector<double>& values) {
  std::ranges::transform(values, values.begin(), as_half);
}

void round_to_half(PldaModel& model) {
  double largest = 0;
  for (const double value : model.axes) largest = std::max(largest, std::abs(value));
  // A power of two, so that nothing but the exponent changes.
  const double scale = std::exp2(-std::ceil(std::log2(largest)));
  for (double& value : model.axes) value = as_half(value * scale);
  round_to_half(model.mean);
  // Above the smallest number that is not 0.
  for (double& value : model.psi)
    value = as_half(std::clamp(value, 0x1p-20, static_cast<double>(kLargestHalf)));
}

std::size_t dim_of(const FeatureStore& store) {
  return store.dim(store.views().front());
}

void check_stores(std::span<const FeatureStore> stores) {
  if (stores.empty()) throw usage_error("statistics need at least one feature store");
  const FeatureStore& first = stores.front();
  for (const FeatureStore& store : stores) {
    for (const std::string& view : store.views())
      if (store.dim(view) != dim_of(first))
        throw data_error(fmt::format(
            "{}: view '{}' has features of {} dimensions, but {} has {}; statistics are those of "
            "one network",
            store.folder().string(), view, store.dim(view), first.folder().string(),
            dim_of(first)));
    if (store.model_sha256() != first.model_sha256())
      throw data_error(fmt::format("{}: its features were made by another model than those of {}",
                                   store.folder().string(), first.folder().string()));
  }
}

SpaceStatistics space_of(const JoinedRows& rows, std::size_t dim, double exponent,
                         const std::string& origin) {
  const Representation representation(exponent);
  SpaceStatistics space = SpaceStatistics::of(
      {.dim = dim,
       .by_class = rows.samples_by_class(),
       .read = [&](std::size_t sample,
                   double* out) { rows.represented(sample, representation, origin, out); },
       .origin = origin});
  round_to_half(space.mean);
  round_to_half(space.directions);
  return space;
}

// Of the first sample of each class.
double likeness_deviation(const JoinedRows& rows, std::size_t dim, std::size_t exponent,
                          const BackboneStatistics& statistics, const std::string& origin) {
  constexpr std::size_t most_classes = 500;
  const std::size_t classes = std::min(rows.samples_by_class().size(), most_classes);
  const Representation representation(kPointExponents[exponent]);
  Matrix<double> points(classes, dim);
  std::vector<const double*> pointers;
  std::vector<std::size_t> labels;
  for (std::size_t k = 0; k < classes; ++k) {
    rows.represented(rows.samples_by_class()[k].front(), representation, origin, points.row(k));
    pointers.push_back(points.row(k));
    labels.push_back(k);
  }
  PointSpace(kPointExponents[exponent], &statistics).fit(points, labels, classes);
  return ClassLikeness::of(products_of(pointers, dim, 1), labels, classes, {}).deviation;
}

PldaStatistics plda_of(const JoinedRows& rows, std::size_t dim, const Plda& plda,
                       const std::string& origin) {
  PldaStatistics statistics{.plda = plda, .model = {}};
  statistics.transform.is_signed = rows.has_negative();
  const TransformPlan plan(statistics.transform);
  statistics.model = plda.model(
      {.dim = dim,
       .by_class = rows.rows_by_class(),
       .read = [&](std::size_t row, double* out) { rows.transformed(row, plan, origin, out); },
       .origin = origin});
  round_to_half(statistics.model);
  return statistics;
}

}  // namespace

Pool PldaStatistics::pool(std::span<const std::string> of_views) const {
  Pool members;
  for (const std::string& view : of_views) members.push_back({view, transform, plda});
  return members;
}

BackboneStatistics BackboneStatistics::of(std::span<const FeatureStore> stores,
                                          const std::optional<Plda>& plda) {
  check_stores(stores);
  const JoinedRows rows(stores);
  std::set<std::string> views;
  std::string origin;
  for (const FeatureStore& store : stores) {
    views.insert(store.views().begin(), store.views().end());
    origin += (origin.empty() ? "" : ", ") + store.folder().string();
  }
  origin += ": split base";
  const std::size_t dim = dim_of(stores.front());
  BackboneStatistics statistics{.spaces = {},
                                .network_sha256 = stores.front().model_sha256(),
                                .classes = rows.samples_by_class().size(),
                                .samples = rows.samples(),
                                .views = {views.begin(), views.end()}};
  for (std::size_t e = 0; e < kPointExponents.size(); ++e)
    statistics.spaces[e] = space_of(rows, dim, kPointExponents[e], origin);
  for (std::size_t e = 0; e < kPointExponents.size(); ++e)
    statistics.likeness_deviations[e] = likeness_deviation(rows, dim, e, statistics, origin);
  if (plda) statistics.plda = plda_of(rows, dim, *plda, origin);
  return statistics;
}

}  // namespace deepvoro
