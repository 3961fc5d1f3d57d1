#include "deepvoro/ensemble/fitted.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "deepvoro/core/error.hpp"
#include "deepvoro/core/parallel.hpp"
#include "deepvoro/ensemble/engine.hpp"
#include "deepvoro/geometry/surrogate.hpp"
#include "deepvoro/kernels/kernels.hpp"
#include "product_distances.hpp"

namespace deepvoro {
namespace {

// A row in memory, transformed; float32 throughout, because distances are taken from differences.
class PointTransformer {
 public:
  PointTransformer(const Transform& transform, std::size_t dim) : plan_(transform), center_(dim) {}

  // Is taken off all points from now on; distances do not feel it.
  void set_center(std::vector<float> center) { center_ = std::move(center); }

  void apply(std::span<const float> row, double norm, std::vector<double>& scratch,
             float* out) const {
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

Matrix<float> class_means(const PointTransformer& transformer, MatrixView<const float> rows,
                          const ViewedSamples& samples) {
  const std::size_t dim = rows.cols();
  std::vector<double> scratch(padded(dim));
  Matrix<float> row(1, dim);
  Matrix<double> sums(samples.classes, dim);
  std::vector<std::size_t> counts(samples.classes);
  for (std::size_t r = 0; r < rows.rows(); ++r) {
    transformer.apply(rows[r], checked_norm(rows[r], scratch), scratch, row.row(0));
    const std::size_t label = samples.labels[r];
    ++counts[label];
    for (std::size_t i = 0; i < dim; ++i) sums.row(label)[i] += static_cast<double>(row.row(0)[i]);
  }
  Matrix<float> means(samples.classes, dim);
  for (std::size_t k = 0; k < samples.classes; ++k) {
    if (counts[k] == 0) throw data_error(fmt::format("class {} has no samples", k));
    for (std::size_t i = 0; i < dim; ++i)
      means.row(k)[i] = static_cast<float>(sums.row(k)[i] / static_cast<double>(counts[k]));
  }
  return means;
}

void distances_to(const Matrix<float>& centers, const float* query, std::vector<double>& squared,
                  float* out) {
  squared.resize(centers.rows());
  kernels::squared_distances(kernels::active(), query, centers.row(0), centers.stride(),
                             centers.rows(), centers.stride(), squared.data());
  for (std::size_t i = 0; i < centers.rows(); ++i)
    out[i] = static_cast<float>(std::sqrt(squared[i]));
}

std::size_t place_of_view(const ViewedSamples& samples, const std::string& view) {
  const auto found = std::ranges::find(samples.views, view);
  if (found == samples.views.end())
    throw data_error(fmt::format("no features of view '{}' were given", view));
  return static_cast<std::size_t>(found - samples.views.begin());
}

void check_samples(const ViewedSamples& samples, std::size_t dim) {
  if (samples.views.size() != samples.rows.size() || samples.views.empty() || samples.classes == 0)
    throw usage_error("samples need at least one view and one class, and rows for every view");
  for (const MatrixView<const float>& rows : samples.rows)
    if (rows.rows() != samples.labels.size() || rows.cols() != dim)
      throw usage_error("every view must have one row of the same length for each label");
  for (const std::size_t label : samples.labels)
    if (label >= samples.classes) throw usage_error("a label is beyond the number of classes");
}

// So many queries are worked on together. They stay in the second-level cache while prototypes
// pass by.
constexpr std::size_t kBlock = 32;

// Scratch of one block of queries; blocks come from several threads.
struct Scratch {
  Scratch(std::size_t queries, std::size_t dim, std::size_t classes)
      : wide(padded(dim)),
        norms(queries),
        rows(queries, dim),
        distances(queries, classes),
        terms(classes) {}
  std::vector<double> wide;
  std::vector<double> norms;
  Matrix<float> rows;       // transformed queries
  Matrix<float> distances;  // [queries x classes]
  std::vector<double> squared;
  std::vector<double> terms;
};

}  // namespace

// Members that share view and transformation, by growing R.
struct FittedEnsemble::Group {
  // A base class that joins the surrogate set at some R, and how far each prototype is from it.
  struct Joining {
    std::size_t base;
    std::vector<float> of_ways;
  };

  std::size_t view = 0;
  PointTransformer transformer;
  Matrix<float> prototypes;
  std::vector<Geometry> members;
  ProductDistances products;                 // unused where it does not pay
  Matrix<float> base;                        // empty without surrogate members
  std::vector<std::vector<Joining>> levels;  // [R - 1]

  void fit_surrogates(std::size_t largest_R) {
    Matrix<float> to_base(prototypes.rows(), base.rows());
    std::vector<double> squared;
    for (std::size_t k = 0; k < prototypes.rows(); ++k)
      distances_to(base, prototypes.row(k), squared, to_base.row(k));
    SurrogateClasses<float> classes;
    classes.select(to_base.view(), largest_R, [&](std::size_t k, std::size_t t) {
      double exact = 0;
      for (std::size_t i = 0; i < base.cols(); ++i) {
        const double difference =
            static_cast<double>(prototypes.row(k)[i]) - static_cast<double>(base.row(t)[i]);
        exact += difference * difference;
      }
      return exact;
    });
    for (std::size_t R = 1; R <= classes.levels(); ++R) {
      levels.emplace_back();
      for (const std::size_t t : classes.joining_at(R)) {
        Joining joining{t, {}};
        for (std::size_t k = 0; k < prototypes.rows(); ++k)
          joining.of_ways.push_back(to_base.row(k)[t]);
        levels.back().push_back(std::move(joining));
      }
    }
  }

  // Makes distances by products where that pays: of centered points, or digits would be lost.
  void fit_products() {
    if (base.rows() > 0 || !ProductDistances::pays(prototypes.rows(), prototypes.cols())) return;
    std::vector<float> center(prototypes.cols());
    for (std::size_t i = 0; i < center.size(); ++i) {
      double sum = 0;
      for (std::size_t k = 0; k < prototypes.rows(); ++k)
        sum += static_cast<double>(prototypes.row(k)[i]);
      center[i] = static_cast<float>(sum / static_cast<double>(prototypes.rows()));
      for (std::size_t k = 0; k < prototypes.rows(); ++k) prototypes.row(k)[i] -= center[i];
    }
    transformer.set_center(std::move(center));
    products = ProductDistances(prototypes);
  }

  // Fills scratch.rows and scratch.distances.
  void measure(MatrixView<const float> queries, std::size_t begin, std::size_t end,
               Scratch& scratch) const {
    for (std::size_t q = begin; q < end; ++q)
      transformer.apply(queries[q], scratch.norms[q - begin], scratch.wide,
                        scratch.rows.row(q - begin));
    if (products.in_use()) return products(scratch.rows, end - begin, scratch.distances);
    for (std::size_t q = 0; q < end - begin; ++q)
      distances_to(prototypes, scratch.rows.row(q), scratch.squared, scratch.distances.row(q));
  }

  // Adds the terms of query q of the block.
  void add_terms(std::size_t q, const Influence& influence, Scratch& scratch,
                 std::span<double> out) const {
    const std::size_t ways = prototypes.rows();
    const float* distances = scratch.distances.row(q);

    std::vector<float> to_base;
    std::vector<double> features;
    std::vector<double> sums(ways);
    std::size_t grown_to = 0;
    if (base.rows() > 0) {
      to_base.resize(base.rows());
      distances_to(base, scratch.rows.row(q), scratch.squared, to_base.data());
      features.assign(distances, distances + ways);
      normalise(features);
    }
    for (const Geometry& member : members) {
      if (const auto* surrogate = std::get_if<Surrogate>(&member)) {
        for (; grown_to < std::min(surrogate->R, levels.size()); ++grown_to)
          for (const Joining& joining : levels[grown_to])
            for (std::size_t k = 0; k < ways; ++k) {
              const double difference = static_cast<double>(to_base[joining.base]) -
                                        static_cast<double>(joining.of_ways[k]);
              sums[k] += difference * difference;
            }
        std::ranges::transform(sums, scratch.terms.begin(), [](double s) { return std::sqrt(s); });
        normalise(scratch.terms);
        for (std::size_t k = 0; k < ways; ++k)
          scratch.terms[k] = surrogate->beta * features[k] + surrogate->gamma * scratch.terms[k];
      } else {
        std::copy_n(distances, ways, scratch.terms.begin());
      }
      influence.to_terms(scratch.terms);
      for (std::size_t k = 0; k < ways; ++k) out[k] += scratch.terms[k];
    }
  }

  static void normalise(std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += value;
    if (sum > 0)
      for (double& value : values) value /= sum;
  }
};

FittedEnsemble::FittedEnsemble(const Pool& pool, const ViewedSamples& support,
                               const ViewedSamples* base, Influence influence)
    : dim_(support.rows.empty() ? 0 : support.rows.front().cols()),
      classes_(support.classes),
      influence_(influence) {
  if (pool.empty()) throw usage_error("the pool has no members");
  check_samples(support, dim_);
  if (base != nullptr) check_samples(*base, dim_);
  const Member* last = nullptr;
  std::vector<std::size_t> neighbours;  // the largest R of each group
  for (const std::size_t i : streaming_order(pool)) {
    const Member& member = pool[i];
    if (last == nullptr || last->view != member.view || last->transform != member.transform) {
      const std::size_t view = place_of_view(support, member.view);
      PointTransformer transformer(member.transform, dim_);
      Matrix<float> prototypes = class_means(transformer, support.rows[view], support);
      groups_.push_back(std::make_unique<Group>(
          Group{view, std::move(transformer), std::move(prototypes), {}, {}, {}, {}}));
      neighbours.push_back(0);
    }
    last = &member;
    groups_.back()->members.push_back(member.geometry);
    if (const auto* surrogate = std::get_if<Surrogate>(&member.geometry))
      neighbours.back() = std::max(neighbours.back(), surrogate->R);
    if (neighbours.back() > 0 && groups_.back()->base.rows() == 0) {
      if (base == nullptr) throw data_error("surrogate members need features of base classes");
      groups_.back()->base = class_means(groups_.back()->transformer,
                                         base->rows[place_of_view(*base, member.view)], *base);
    }
  }
  for (std::size_t g = 0; g < groups_.size(); ++g)
    if (neighbours[g] > 0) groups_[g]->fit_surrogates(neighbours[g]);
  for (const auto& group : groups_) group->fit_products();
}

FittedEnsemble::FittedEnsemble(FittedEnsemble&&) noexcept = default;
FittedEnsemble& FittedEnsemble::operator=(FittedEnsemble&&) noexcept = default;
FittedEnsemble::~FittedEnsemble() = default;

std::size_t FittedEnsemble::classes() const {
  return classes_;
}

void FittedEnsemble::influence(std::span<const std::span<const float>> query,
                               std::span<double> out) const {
  if (out.size() != classes_) throw usage_error("room for one influence a class must be given");
  std::vector<MatrixView<const float>> queries;
  for (const std::span<const float> row : query) queries.emplace_back(row.data(), 1, row.size());
  influence_of_block(queries, 0, 1, {out.data(), 1, classes_});
}

void FittedEnsemble::influence(std::span<const MatrixView<const float>> queries,
                               MatrixView<double> out, unsigned threads) const {
  if (out.cols() != classes_) throw usage_error("room for one influence a class must be given");
  for (const MatrixView<const float>& view : queries)
    if (view.rows() != out.rows())
      throw usage_error("every view of the queries must have the same number of rows");
  parallel_for(threads, out.rows(), kBlock, [&](std::size_t begin, std::size_t end, unsigned) {
    influence_of_block(queries, begin, end, out);
  });
}

void FittedEnsemble::influence_of_block(std::span<const MatrixView<const float>> queries,
                                        std::size_t begin, std::size_t end,
                                        MatrixView<double> out) const {
  Scratch scratch(end - begin, dim_, classes_);
  for (std::size_t q = begin; q < end; ++q) std::ranges::fill(out[q], 0.0);
  std::size_t normed_view = queries.size();
  for (const auto& group : groups_) {
    if (group->view >= queries.size() || queries[group->view].cols() != dim_)
      throw usage_error("the query needs features of every view of the support");
    const MatrixView<const float> seen = queries[group->view];
    if (group->view != normed_view)
      for (std::size_t q = begin; q < end; ++q)
        scratch.norms[q - begin] = checked_norm(seen[q], scratch.wide);
    normed_view = group->view;
    group->measure(seen, begin, end, scratch);
    for (std::size_t q = begin; q < end; ++q)
      group->add_terms(q - begin, influence_, scratch, out[q]);
  }
  for (std::size_t q = begin; q < end; ++q)
    for (double& value : out[q]) value *= influence_.sign();
}

}  // namespace deepvoro
