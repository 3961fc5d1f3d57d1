#include "ensemble/member_group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/precision.hpp"
#include "deepvoro/core/error.hpp"
#include "ensemble/viewed_samples.hpp"
#include "features/transformed_rows.hpp"
#include "geometry/diagram.hpp"

namespace deepvoro {
namespace {

// A row in memory, transformed.
class PointTransformer {
 public:
  PointTransformer(const Transform& transform, std::size_t dim) : plan_(transform), center_(dim) {}

  // Is taken off all points from now on, which does not affect distances.
  void set_center(std::vector<float> center) { center_ = std::move(center); }

  template <class Real>
  void apply(std::span<const float> row, double norm, std::vector<double>& scratch,
             Real* out) const {
    const auto* bytes = reinterpret_cast<const std::byte*>(row.data());
    if (plan_.apply(ElementType::float32, bytes, row.size(), norm, center_.data(), scratch.data(),
                    out) == kernels::RowStatus::ok)
      return;
    const auto complaint =
        plan_.explain(ElementType::float32, bytes, row.size(), norm, scratch.data());
    throw data_error(fmt::format("column {}: {}", complaint.column, complaint.what),
                     complaint.code);
  }

 private:
  TransformPlan plan_;
  std::vector<float> center_;
};

// Means of the points of each class; `space` may be nullptr.
template <class Real>
Matrix<Real> prototypes_of(const PointTransformer& transformer, const Space* space,
                           MatrixView<const float> rows, const ViewedSamples& samples) {
  const std::size_t dim = rows.cols();
  const std::vector<std::size_t> counts = class_sizes(samples);
  std::vector<double> scratch(padded(dim));
  const std::vector<double> nothing(padded(dim));
  Matrix<Real> row(1, dim);
  Matrix<Real> mapped(1, dim);
  Matrix<double> sums(samples.classes, dim);
  for (std::size_t r = 0; r < rows.rows(); ++r) {
    transformer.apply(rows[r], checked_norm(rows[r], scratch), scratch, row.row(0));
    if (space != nullptr)
      space->map(MatrixView<const Real>(row.view()), nothing.data(), mapped.view());
    const Real* point = space == nullptr ? row.row(0) : mapped.row(0);
    for (std::size_t i = 0; i < dim; ++i)
      sums.row(samples.labels[r])[i] += static_cast<double>(point[i]);
  }
  Matrix<Real> means(samples.classes, dim);
  for (std::size_t k = 0; k < samples.classes; ++k)
    for (std::size_t i = 0; i < dim; ++i)
      means.row(k)[i] = static_cast<Real>(sums.row(k)[i] / static_cast<double>(counts[k]));
  return means;
}

template <class Real>
class GroupOf final : public FittedEnsemble::Group {
 public:
  explicit GroupOf(const GroupSource& source)
      : view_(place_of_view(source.support, source.members.front().view)),
        members_(source.members.begin(), source.members.end()),
        transformer_(members_.front().transform, source.support.rows[view_].cols()) {
    if (members_.front().geometry.has_space()) {
      if (source.spaces)
        space_ = source.spaces(members_.front());
      else
        fit_space(source);
    }
    fit_centers(source.support);
    fit_geometries(source);
  }

  [[nodiscard]] std::size_t view() const override { return view_; }

  void add_terms(MatrixView<const float> queries, std::span<const double> norms,
                 std::span<const std::size_t> left_out_of, const Influence& influence,
                 GroupScratch& of_groups, MatrixView<double> sums) const override {
    QueryScratch<Real>& scratch = of_groups.of<Real>();
    const MatrixView<const Real> points = points_of(queries, norms, scratch);
    Matrix<Real>& distances = scratch.distances;
    distances.reshape(classes_, points.rows());
    measure(points, left_out_of.empty() ? uses_offsets_ : true, distances.view());
    for (std::size_t q = 0; q < left_out_of.size(); ++q)
      if (sizes_[left_out_of[q]] > 1)
        distances.row(left_out_of[q])[q] =
            distance_without(points.row(q), left_out_of[q], distances.row(left_out_of[q])[q]);
    Matrix<Real> to_base(points.rows(), base_.cells());
    std::vector<const Real*> to_base_rows;
    std::vector<double> of_point(base_.cells());
    for (std::size_t q = 0; q < points.rows() && base_.cells() > 0; ++q) {
      base_.distances(points.row(q), of_point);
      std::ranges::transform(of_point, to_base.row(q),
                             [](double distance) { return static_cast<Real>(distance); });
      to_base_rows.push_back(to_base.row(q));
    }
    std::vector<std::unique_ptr<GeometryDistances<Real>>> of_kinds;
    for (const Kind& kind : kinds_) {
      of_kinds.push_back(
          members_[kind.first].geometry.template make_distances<Real>(classes_, points.rows()));
      of_kinds.back()->begin(*kind.fit, {distances.view(), to_base_rows});
    }
    std::vector<double> terms(points.rows());
    for (std::size_t i = 0; i < members_.size(); ++i) {
      const MatrixView<const Real> values = of_kinds[kind_of_member_[i]]->of(members_[i].geometry);
      for (std::size_t k = 0; k < classes_; ++k) {
        std::ranges::transform(values[k], terms.begin(), [&](Real value) {
          return static_cast<double>(static_cast<Real>(members_[i].weight) * value);
        });
        influence.to_terms(terms);
        for (std::size_t q = 0; q < terms.size(); ++q) sums.row(k)[q] += terms[q];
      }
    }
  }

 private:
  // Classes that are measured by the same metric: all, unless it depends on their sizes.
  struct CenterSet {
    std::vector<std::size_t> classes;
    VoronoiDiagram<Real> diagram;
    std::vector<Real> query_scale;
    double offset = 0;
  };
  struct Kind {
    std::size_t first;  // member
    std::unique_ptr<GeometryFit<Real>> fit;
  };

  void fit_space(const GroupSource& source) {
    const ViewedSamples& base = needed_base(source);
    const MatrixView<const float> rows = base.rows[place_of_view(base, members_.front().view)];
    std::vector<std::vector<std::size_t>> by_class(base.classes);
    for (std::size_t r = 0; r < base.labels.size(); ++r) by_class[base.labels[r]].push_back(r);
    (void)class_sizes(base);
    space_ = members_.front().geometry.space(
        {.dim = rows.cols(),
         .by_class = std::move(by_class),
         .read =
             [&](std::size_t row, double* out) {
               std::vector<double> scratch(padded(rows.cols()));
               transformer_.apply(rows[row], checked_norm(rows[row], scratch), scratch, out);
             },
         .origin = "the base classes"});
  }

  void fit_centers(const ViewedSamples& support) {
    classes_ = support.classes;
    sizes_ = class_sizes(support);
    Matrix<Real> means =
        prototypes_of<Real>(transformer_, space_.get(), support.rows[view_], support);
    if (space_ == nullptr) {
      std::vector<std::size_t> all(classes_);
      for (std::size_t k = 0; k < classes_; ++k) all[k] = k;
      sets_.push_back({std::move(all), VoronoiDiagram<Real>(std::move(means)), {}, 0});
      return;
    }
    std::vector<std::size_t> different(sizes_);
    std::ranges::sort(different);
    different.erase(std::unique(different.begin(), different.end()), different.end());
    for (const std::size_t size : different) {
      const Metric metric = space_->metric(size);
      CenterSet set;
      for (std::size_t k = 0; k < classes_; ++k)
        if (sizes_[k] == size) set.classes.push_back(k);
      Matrix<Real>& centers = set.diagram.reshaped(set.classes.size(), means.cols());
      for (std::size_t c = 0; c < set.classes.size(); ++c)
        for (std::size_t i = 0; i < means.cols(); ++i)
          centers.row(c)[i] =
              static_cast<Real>(static_cast<double>(means.row(set.classes[c])[i]) *
                                (metric.center_scale.empty() ? 1 : metric.center_scale[i]));
      for (const double scale : metric.query_scale)
        set.query_scale.push_back(static_cast<Real>(scale));
      set.offset = metric.offset;
      sets_.push_back(std::move(set));
    }
    uses_offsets_ = different.size() > 1;
    means_ = std::move(means);
  }

  // From the center of a class less one of its samples, of which `distance` is that with it.
  [[nodiscard]] Real distance_without(const Real* point, std::size_t label, Real distance) const {
    const auto n = static_cast<double>(sizes_[label]);
    if (space_ == nullptr) return static_cast<Real>(static_cast<double>(distance) * n / (n - 1));
    const Metric metric = space_->metric(sizes_[label] - 1);
    double squares = metric.offset;
    for (std::size_t i = 0; i < means_.cols(); ++i) {
      const auto at = static_cast<double>(point[i]);
      const double mean = (n * static_cast<double>(means_.row(label)[i]) - at) / (n - 1);
      const double query_scale = metric.query_scale.empty() ? 1 : metric.query_scale[i];
      const double center_scale = metric.center_scale.empty() ? 1 : metric.center_scale[i];
      const double difference = at * query_scale - mean * center_scale;
      squares += difference * difference;
    }
    return static_cast<Real>(std::sqrt(squares));
  }

  void fit_geometries(const GroupSource& source) {
    CenterDistances<Real> centers;
    const bool needs_base = std::ranges::any_of(
        members_, [](const Member& member) { return member.geometry.needs_base_distances(); });
    if (needs_base) {
      centers = measured_from_base(source);
    } else if (space_ == nullptr &&
               VoronoiDiagram<Real>::products_pay(classes_, sets_[0].diagram.centers().cols())) {
      take_off_center();
    }
    for (std::size_t i = 0; i < members_.size(); ++i) {
      const auto same_name = [&](const Kind& kind) {
        return members_[kind.first].geometry.name() == members_[i].geometry.name();
      };
      const auto kind = std::ranges::find_if(kinds_, same_name);
      kind_of_member_.push_back(static_cast<std::size_t>(kind - kinds_.begin()));
      if (kind == kinds_.end())
        kinds_.push_back({i, members_[i].geometry.template make_fit<Real>()});
      const bool is_last =
          std::ranges::none_of(std::span(members_).subspan(i + 1), [&](const Member& later) {
            return later.geometry.name() == members_[i].geometry.name();
          });
      if (is_last) kinds_[kind_of_member_[i]].fit->fit(centers, members_[i].geometry);
    }
  }

  CenterDistances<Real> measured_from_base(const GroupSource& source) {
    const ViewedSamples& base = needed_base(source);
    base_ = VoronoiDiagram<Real>(prototypes_of<Real>(
        transformer_, nullptr, base.rows[place_of_view(base, members_.front().view)], base));
    const Matrix<Real>& centers = sets_[0].diagram.centers();
    centers_to_base_ = Matrix<Real>(classes_, base_.cells());
    std::vector<double> of_center(base_.cells());
    for (std::size_t k = 0; k < classes_; ++k) {
      base_.distances(centers.row(k), of_center);
      std::ranges::transform(of_center, centers_to_base_.row(k),
                             [](double distance) { return static_cast<Real>(distance); });
    }
    return {centers_to_base_.view(), [&](std::size_t k, std::size_t t) {
              double exact = 0;
              for (std::size_t i = 0; i < centers.cols(); ++i) {
                const double difference = static_cast<double>(centers.row(k)[i]) -
                                          static_cast<double>(base_.centers().row(t)[i]);
                exact += difference * difference;
              }
              return exact;
            }};
  }

  // Distances by products are those of centered points, or digits would be lost.
  void take_off_center() {
    Matrix<Real> centers = centered(sets_[0].diagram.centers());
    sets_[0].diagram = VoronoiDiagram<Real>(std::move(centers));
    sets_[0].diagram.use_products();
  }

  Matrix<Real> centered(const Matrix<Real>& points) {
    Matrix<Real> result(points.rows(), points.cols());
    std::vector<float> center(points.cols());
    for (std::size_t i = 0; i < center.size(); ++i) {
      double sum = 0;
      for (std::size_t k = 0; k < points.rows(); ++k) sum += static_cast<double>(points.row(k)[i]);
      center[i] = static_cast<float>(sum / static_cast<double>(points.rows()));
      for (std::size_t k = 0; k < points.rows(); ++k)
        result.row(k)[i] = points.row(k)[i] - static_cast<Real>(center[i]);
    }
    transformer_.set_center(std::move(center));
    return result;
  }

  static const ViewedSamples& needed_base(const GroupSource& source) {
    if (source.base == nullptr)
      throw data_error(fmt::format("{} members need features of base classes; give them as `base`",
                                   source.members.back().geometry.name()));
    return *source.base;
  }

  [[nodiscard]] MatrixView<const Real> points_of(MatrixView<const float> queries,
                                                 std::span<const double> norms,
                                                 QueryScratch<Real>& scratch) const {
    const std::size_t dim = queries.cols();
    scratch.wide.resize(padded(dim));
    scratch.rows.reshape(queries.rows(), dim);
    for (std::size_t q = 0; q < queries.rows(); ++q)
      transformer_.apply(queries[q], norms[q], scratch.wide, scratch.rows.row(q));
    if (space_ == nullptr) return scratch.rows.view();
    scratch.mapped.reshape(queries.rows(), dim);
    const std::vector<double> nothing(padded(dim));
    space_->map(MatrixView<const Real>(scratch.rows.view()), nothing.data(), scratch.mapped.view());
    return scratch.mapped.view();
  }

  // distances: [classes x points]
  void measure(MatrixView<const Real> points, bool with_offsets, MatrixView<Real> distances) const {
    for (const CenterSet& set : sets_) {
      if (space_ == nullptr) return set.diagram.distances(points, distances);
      Matrix<Real> scaled(points.rows(), points.cols());
      for (std::size_t q = 0; q < points.rows(); ++q)
        for (std::size_t i = 0; i < points.cols(); ++i)
          scaled.row(q)[i] =
              points.row(q)[i] * (set.query_scale.empty() ? Real{1} : set.query_scale[i]);
      Matrix<Real> of_set(set.classes.size(), points.rows());
      set.diagram.distances(MatrixView<const Real>(scaled.view()), of_set.view());
      for (std::size_t c = 0; c < set.classes.size(); ++c)
        for (std::size_t q = 0; q < points.rows(); ++q) {
          const auto distance = static_cast<double>(of_set.row(c)[q]);
          distances.row(set.classes[c])[q] =
              !with_offsets || set.offset == 0
                  ? of_set.row(c)[q]
                  : static_cast<Real>(std::sqrt(distance * distance + set.offset));
        }
    }
  }

  std::size_t view_;
  std::vector<Member> members_;
  PointTransformer transformer_;
  std::shared_ptr<const Space> space_;
  std::size_t classes_ = 0;
  std::vector<std::size_t> sizes_;
  Matrix<Real> means_;  // of classes, in a space of their own alone
  bool uses_offsets_ = false;
  std::vector<CenterSet> sets_;
  VoronoiDiagram<Real> base_;  // base prototypes, where a member needs them
  Matrix<Real> centers_to_base_;
  std::vector<Kind> kinds_;
  std::vector<std::size_t> kind_of_member_;
};

}  // namespace

std::unique_ptr<FittedEnsemble::Group> fit_group(const GroupSource& source) {
  const std::size_t view = place_of_view(source.support, source.members.front().view);
  if (source.support.rows[view].cols() < kFloatDim)
    return std::make_unique<GroupOf<double>>(source);
  return std::make_unique<GroupOf<float>>(source);
}

}  // namespace deepvoro
