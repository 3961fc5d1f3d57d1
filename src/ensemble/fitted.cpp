#include "deepvoro/ensemble/fitted.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "core/precision.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/core/parallel.hpp"
#include "ensemble/engine.hpp"
#include "features/transformed_rows.hpp"
#include "geometry/diagram.hpp"

namespace deepvoro {

// Members that see the same points, by growing growth().
class FittedEnsemble::Group {
 public:
  Group() = default;
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  virtual ~Group() = default;

  // The place of its view among those of the support; means are behind the last.
  [[nodiscard]] virtual std::size_t view() const = 0;
  // Adds the terms of queries, whose norms are given, to `out`. `left_out_of`: the classes that the
  // queries are samples of and are taken out of; empty where they are not.
  virtual void add_terms(MatrixView<const float> queries, std::span<const double> norms,
                         std::span<const std::size_t> left_out_of, const Influence& influence,
                         MatrixView<double> out) const = 0;
};

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

double checked_norm(std::span<const float> row, std::vector<double>& scratch) {
  const double norm = widen(ElementType::float32, reinterpret_cast<const std::byte*>(row.data()),
                            row.size(), scratch.data());
  if (!std::isfinite(norm)) throw data_error("a feature is not finite; remove or repair it");
  return norm;
}

std::vector<std::size_t> class_sizes(const ViewedSamples& samples) {
  std::vector<std::size_t> counts(samples.classes);
  for (const std::size_t label : samples.labels) ++counts[label];
  const auto empty = std::ranges::find(counts, std::size_t{0});
  if (empty != counts.end())
    throw data_error(fmt::format("class {} has no samples", empty - counts.begin()));
  return counts;
}

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

std::size_t place_of_view(const ViewedSamples& samples, const std::string& view) {
  const auto found = std::ranges::find(samples.views, view);
  if (found == samples.views.end())
    throw data_error(fmt::format("no features of view '{}' were given", view));
  return static_cast<std::size_t>(found - samples.views.begin());
}

// Rows begin to end of the mean of some views.
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

// The views that members name, which are the means of a network's views.
std::vector<std::string> means_of(const Pool& members) {
  std::vector<std::string> means;
  for (const Member& member : members)
    if (is_mean_view(member.view) && std::ranges::find(means, member.view) == means.end())
      means.push_back(member.view);
  return means;
}

// The rows of the views of one network.
std::vector<MatrixView<const float>> rows_of_network(std::span<const std::string> views,
                                                     std::span<const MatrixView<const float>> rows,
                                                     std::string_view network) {
  std::vector<MatrixView<const float>> of_network;
  for (std::size_t v = 0; v < views.size(); ++v)
    if (network_of(views[v]) == network) of_network.push_back(rows[v]);
  return of_network;
}

// Samples and, behind the others, the means of the views of networks.
class WithMeans {
 public:
  WithMeans(const ViewedSamples& samples, const std::vector<std::string>& means)
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
  [[nodiscard]] const ViewedSamples& samples() const { return samples_; }

 private:
  ViewedSamples samples_;
  std::vector<Matrix<float>> means_;
};

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

// So many queries are worked on together. They stay in the second-level cache while prototypes
// pass by.
constexpr std::size_t kBlock = 32;

// What members of a group have in common.
struct GroupSource {
  const ViewedSamples& support;
  const ViewedSamples* base;
  const SpaceProvider& spaces;
  std::span<const Member> members;
};

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
                 MatrixView<double> out) const override {
    const Matrix<Real> points = points_of(queries, norms);
    Matrix<Real> distances(classes_, points.rows());
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
        for (std::size_t q = 0; q < terms.size(); ++q) out[q][k] += terms[q];
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
      throw data_error(fmt::format("{} members need features of base classes",
                                   source.members.back().geometry.name()));
    return *source.base;
  }

  [[nodiscard]] Matrix<Real> points_of(MatrixView<const float> queries,
                                       std::span<const double> norms) const {
    const std::size_t dim = queries.cols();
    std::vector<double> scratch(padded(dim));
    Matrix<Real> rows(queries.rows(), dim);
    for (std::size_t q = 0; q < queries.rows(); ++q)
      transformer_.apply(queries[q], norms[q], scratch, rows.row(q));
    if (space_ == nullptr) return rows;
    Matrix<Real> mapped(queries.rows(), dim);
    const std::vector<double> nothing(padded(dim));
    space_->map(MatrixView<const Real>(rows.view()), nothing.data(), mapped.view());
    return mapped;
  }

  // distances: [classes x points]
  void measure(const Matrix<Real>& points, bool with_offsets, MatrixView<Real> distances) const {
    for (const CenterSet& set : sets_) {
      if (space_ == nullptr) return set.diagram.distances(points.view(), distances);
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

MatrixView<const float> rows_of(MatrixView<const float> all, std::size_t begin, std::size_t end) {
  return {all.row(begin), end - begin, all.cols(), all.stride()};
}

}  // namespace

FittedEnsemble::FittedEnsemble(const Pool& pool, const ViewedSamples& support,
                               const ViewedSamples* base, Influence influence,
                               const SpaceProvider& spaces)
    : classes_(support.classes), views_(support.views), influence_(influence) {
  if (pool.empty()) throw usage_error("the pool has no members");
  check_samples(support);
  for (const MatrixView<const float>& rows : support.rows) dims_.push_back(rows.cols());
  if (base != nullptr) check_base(*base);
  const Pool members = picked(pool, streaming_order(pool));
  means_ = means_of(members);
  const WithMeans all_support(support, means_);
  std::optional<WithMeans> all_base;
  if (base != nullptr) all_base.emplace(*base, means_);
  for (std::size_t begin = 0; begin < members.size();) {
    std::size_t end = begin + 1;
    while (end < members.size() && members[begin].shares_points_with(members[end])) ++end;
    const GroupSource source{all_support.samples(), all_base ? &all_base->samples() : nullptr,
                             spaces, std::span(members).subspan(begin, end - begin)};
    const std::size_t view = place_of_view(source.support, members[begin].view);
    if (source.support.rows[view].cols() < kFloatDim)
      groups_.push_back(std::make_unique<GroupOf<double>>(source));
    else
      groups_.push_back(std::make_unique<GroupOf<float>>(source));
    begin = end;
  }
}

void FittedEnsemble::check_base(const ViewedSamples& base) const {
  check_samples(base);
  for (std::size_t v = 0; v < base.views.size(); ++v) {
    const auto same = std::ranges::find(views_, network_of(base.views[v]),
                                        [](const auto& view) { return network_of(view); });
    if (same != views_.end() &&
        base.rows[v].cols() != dims_[static_cast<std::size_t>(same - views_.begin())])
      throw usage_error("every view must have one row of the same length for each label");
  }
}

FittedEnsemble::FittedEnsemble(FittedEnsemble&&) noexcept = default;
FittedEnsemble& FittedEnsemble::operator=(FittedEnsemble&&) noexcept = default;
FittedEnsemble::~FittedEnsemble() = default;

std::size_t FittedEnsemble::classes() const {
  return classes_;
}

void FittedEnsemble::influence(std::span<const std::span<const float>> query,
                               std::span<double> out) const {
  if (out.size() != classes_) throw usage_error("room for one influence per class must be given");
  std::vector<MatrixView<const float>> queries;
  for (const std::span<const float> row : query) queries.emplace_back(row.data(), 1, row.size());
  influence_of_block(queries, {}, 0, 1, {out.data(), 1, classes_});
}

void FittedEnsemble::influence_without(std::span<const MatrixView<const float>> samples,
                                       std::span<const std::size_t> labels, MatrixView<double> out,
                                       unsigned threads) const {
  if (out.cols() != classes_ || out.rows() != labels.size())
    throw usage_error("every sample needs a label, and room for one influence per class");
  if (influence_.alpha() != 1) throw usage_error("samples are left out where alpha is 1");
  parallel_for(threads, out.rows(), kBlock, [&](std::size_t begin, std::size_t end, unsigned) {
    influence_of_block(samples, labels.subspan(begin, end - begin), begin, end, out);
  });
}

void FittedEnsemble::influence(std::span<const MatrixView<const float>> queries,
                               MatrixView<double> out, unsigned threads) const {
  if (out.cols() != classes_) throw usage_error("room for one influence per class must be given");
  for (const MatrixView<const float>& view : queries)
    if (view.rows() != out.rows())
      throw usage_error("every view of the queries must have the same number of rows");
  parallel_for(threads, out.rows(), kBlock, [&](std::size_t begin, std::size_t end, unsigned) {
    influence_of_block(queries, {}, begin, end, out);
  });
}

void FittedEnsemble::influence_of_block(std::span<const MatrixView<const float>> queries,
                                        std::span<const std::size_t> left_out_of, std::size_t begin,
                                        std::size_t end, MatrixView<double> out) const {
  std::vector<double> scratch(padded(std::ranges::max(dims_)));
  std::vector<double> norms(end - begin);
  for (std::size_t q = begin; q < end; ++q) std::ranges::fill(out[q], 0.0);
  for (std::size_t v = 0; v < views_.size(); ++v)
    if (v >= queries.size() || queries[v].cols() != dims_[v])
      throw usage_error("the query needs features of every view of the support");
  const MatrixView<double> of_block(out.row(begin), end - begin, out.cols(), out.stride());
  Matrix<float> mean;
  const Group* last = nullptr;
  MatrixView<const float> seen;
  for (const auto& group : groups_) {
    if (last == nullptr || last->view() != group->view()) {
      const bool is_mean = group->view() >= views_.size();
      if (is_mean)
        mean = mean_rows(
            rows_of_network(views_, queries, network_of(means_[group->view() - views_.size()])),
            begin, end);
      seen = is_mean ? MatrixView<const float>(mean.view())
                     : rows_of(queries[group->view()], begin, end);
      for (std::size_t q = 0; q < norms.size(); ++q) norms[q] = checked_norm(seen[q], scratch);
    }
    last = group.get();
    group->add_terms(seen, norms, left_out_of, influence_, of_block);
  }
  for (std::size_t q = begin; q < end; ++q)
    for (double& value : out[q]) value *= influence_.sign();
}

}  // namespace deepvoro
