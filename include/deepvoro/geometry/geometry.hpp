#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "deepvoro/core/export.hpp"
#include "deepvoro/core/matrix_view.hpp"

namespace deepvoro {

class Geometry;

struct Parameter {
  std::string_view name;
  double least = 0;
  double most = 1e9;  // so that no sum over members overflows
  bool is_whole = false;
  std::optional<double> if_absent = {};
};

// The rows of all base classes in one view, transformed.
struct BaseRows {
  std::size_t dim = 0;
  std::vector<std::vector<std::size_t>> by_class;          // none of them empty
  std::function<void(std::size_t row, double* out)> read;  // padded(dim) elements
  std::string origin;                                      // for errors
};

// How distances are measured between points:
//   d_k^2 = |query_scale * x - center_scale * (mean of the points of class k)|^2 + offset,
// all factors element by element and positive. Where all classes have the same size their offset is
// the same, and left out. No factors: 1.
struct Metric {
  std::vector<double> query_scale;
  std::vector<double> center_scale;
  double offset = 0;
};

// The space a geometry measures in, where that is not the space of the transformed rows: what is
// fitted on base classes. Immutable, so safe to share between threads.
class DEEPVORO_API Space {
 public:
  Space() = default;
  Space(const Space&) = delete;
  Space& operator=(const Space&) = delete;
  virtual ~Space() = default;

  // Points of transformed rows less `taken_off` (one padded row, in double). Rows and points have
  // the same shape and padded rows; they may not overlap.
  virtual void map(MatrixView<const float> rows, const double* taken_off,
                   MatrixView<float> points) const = 0;
  virtual void map(MatrixView<const double> rows, const double* taken_off,
                   MatrixView<double> points) const = 0;
  // Of classes with so many samples.
  [[nodiscard]] virtual Metric metric(std::size_t shots) const = 0;
  [[nodiscard]] virtual std::size_t bytes() const = 0;
};

// What is known of the centers of all classes.
template <class Real>
struct CenterDistances {
  MatrixView<const Real> to_base;  // [classes x base classes]; empty where no geometry needs it
  // Squared, in better precision, for close decisions.
  std::function<double(std::size_t center, std::size_t base)> exact_to_base;
};

// What is known of some queries.
template <class Real>
struct QueryDistances {
  MatrixView<const Real> to_centers;     // [classes x queries], queries side by side
  std::span<const Real* const> to_base;  // [queries] of [base classes]
};

// A geometry fitted on centers. This one has nothing to remember of them.
template <class Real>
class GeometryFit {
 public:
  GeometryFit() = default;
  GeometryFit(const GeometryFit&) = delete;
  GeometryFit& operator=(const GeometryFit&) = delete;
  virtual ~GeometryFit() = default;

  // Takes new centers, for members that grow up to `last`. May refer to the distances.
  virtual void fit(const CenterDistances<Real>& /*centers*/, const Geometry& /*last*/) {}
};

// The distances of queries from classes, for one thread. Here, those from the centers.
template <class Real>
class GeometryDistances {
 public:
  GeometryDistances() = default;
  GeometryDistances(const GeometryDistances&) = delete;
  GeometryDistances& operator=(const GeometryDistances&) = delete;
  virtual ~GeometryDistances() = default;

  // Takes new queries. May refer to both.
  virtual void begin(const GeometryFit<Real>& /*fit*/, const QueryDistances<Real>& queries) {
    to_centers_ = queries.to_centers;
  }
  // [classes x queries] for one of the members, which come by growing growth().
  [[nodiscard]] virtual MatrixView<const Real> of(const Geometry& /*member*/) {
    return to_centers_;
  }

 protected:
  [[nodiscard]] MatrixView<const Real> to_centers() const { return to_centers_; }

 private:
  MatrixView<const Real> to_centers_;
};

// Distances from the means of the classes, as they are.
struct Voronoi {
  static constexpr std::string_view kName = "vd";
  static constexpr std::array<Parameter, 0> kParameters{};
  static Voronoi of(std::span<const double> /*values*/) { return {}; }
  [[nodiscard]] static std::array<double, 0> values() { return {}; }

  bool operator==(const Voronoi&) const = default;
};

namespace detail {

struct DEEPVORO_API GeometryInterface {
  GeometryInterface() = default;
  GeometryInterface(const GeometryInterface&) = delete;
  GeometryInterface& operator=(const GeometryInterface&) = delete;
  virtual ~GeometryInterface() = default;

  [[nodiscard]] virtual bool equals(const GeometryInterface& other) const = 0;
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual std::span<const Parameter> parameters() const = 0;
  [[nodiscard]] virtual std::vector<double> values() const = 0;
  [[nodiscard]] virtual std::size_t growth() const = 0;
  [[nodiscard]] virtual bool needs_base_distances() const = 0;
  [[nodiscard]] virtual bool has_space() const = 0;
  [[nodiscard]] virtual std::shared_ptr<const Space> space(const BaseRows& base) const = 0;
  // The last argument chooses the type.
  [[nodiscard]] virtual std::unique_ptr<GeometryFit<float>> make_fit(float) const = 0;
  [[nodiscard]] virtual std::unique_ptr<GeometryFit<double>> make_fit(double) const = 0;
  [[nodiscard]] virtual std::unique_ptr<GeometryDistances<float>> make_distances(
      std::size_t classes, std::size_t queries, float) const = 0;
  [[nodiscard]] virtual std::unique_ptr<GeometryDistances<double>> make_distances(
      std::size_t classes, std::size_t queries, double) const = 0;
};

template <class G>
struct GeometryHolder final : GeometryInterface {
  explicit GeometryHolder(G held) : model(std::move(held)) {}

  [[nodiscard]] bool equals(const GeometryInterface& other) const override {
    const auto* same = dynamic_cast<const GeometryHolder*>(&other);
    return same != nullptr && same->model == model;
  }
  [[nodiscard]] std::string_view name() const override { return G::kName; }
  [[nodiscard]] std::span<const Parameter> parameters() const override { return G::kParameters; }
  [[nodiscard]] std::vector<double> values() const override {
    const auto all = model.values();
    return {all.begin(), all.end()};
  }
  [[nodiscard]] std::size_t growth() const override {
    if constexpr (requires { model.growth(); })
      return model.growth();
    else
      return 0;
  }
  [[nodiscard]] bool needs_base_distances() const override {
    if constexpr (requires { G::kNeedsBaseDistances; })
      return G::kNeedsBaseDistances;
    else
      return false;
  }
  static constexpr bool kHasSpace = requires(const G& g, const BaseRows& base) { g.space(base); };
  static_assert(
      !kHasSpace || !requires { G::kNeedsBaseDistances; },
      "base prototypes are made of transformed rows");
  [[nodiscard]] bool has_space() const override { return kHasSpace; }
  [[nodiscard]] std::shared_ptr<const Space> space(const BaseRows& base) const override {
    if constexpr (kHasSpace)
      return model.space(base);
    else
      return nullptr;
  }

  template <class Real>
  [[nodiscard]] std::unique_ptr<GeometryFit<Real>> fit_of() const {
    if constexpr (requires { model.make_fit(Real{}); })
      return model.make_fit(Real{});
    else
      return std::make_unique<GeometryFit<Real>>();
  }
  template <class Real>
  [[nodiscard]] std::unique_ptr<GeometryDistances<Real>> distances_of(std::size_t classes,
                                                                      std::size_t queries) const {
    if constexpr (requires { model.make_distances(classes, queries, Real{}); })
      return model.make_distances(classes, queries, Real{});
    else
      return std::make_unique<GeometryDistances<Real>>();
  }
  [[nodiscard]] std::unique_ptr<GeometryFit<float>> make_fit(float) const override {
    return fit_of<float>();
  }
  [[nodiscard]] std::unique_ptr<GeometryFit<double>> make_fit(double) const override {
    return fit_of<double>();
  }
  [[nodiscard]] std::unique_ptr<GeometryDistances<float>> make_distances(std::size_t classes,
                                                                         std::size_t queries,
                                                                         float) const override {
    return distances_of<float>(classes, queries);
  }
  [[nodiscard]] std::unique_ptr<GeometryDistances<double>> make_distances(std::size_t classes,
                                                                          std::size_t queries,
                                                                          double) const override {
    return distances_of<double>(classes, queries);
  }

  G model;
};

}  // namespace detail

// A geometry says how far a query is from each class, given transformed rows. Evaluating (many
// episodes at a time) and a fitted ensemble (one support set, any queries) both ask the geometry,
// so it is defined once. A model of a geometry is a comparable value with
//   static constexpr std::string_view kName              its name in pool files
//   static constexpr std::array<Parameter, n> kParameters
//   std::array<double, n> values() const                 the values of these parameters
//   static G of(std::span<const double> values)
// and, where it is more than the distance from the mean of the class,
//   std::shared_ptr<const Space> space(const BaseRows&) const   measures in a space of its own
//   std::unique_ptr<GeometryFit<Real>> make_fit(Real) const   what it makes of distances, for
//   std::unique_ptr<GeometryDistances<Real>> make_distances(classes, queries, Real) const
//                                                        float and double; see below
//   std::size_t growth() const                           members come in the order of it
//   static constexpr bool kNeedsBaseDistances            asks for distances from base prototypes
// A new geometry is one file, and one line in the table of pool.cpp that names those of pool files.
//
// This class holds any of the models, as a value.
class DEEPVORO_API Geometry {
 public:
  Geometry() : Geometry(Voronoi{}) {}
  template <class G>
  requires requires { G::kName; }
  Geometry(G model)  // NOLINT(google-explicit-constructor): a geometry is what its model is
      : held_(std::make_shared<detail::GeometryHolder<G>>(std::move(model))) {}

  // The model, or nullptr where it is another one.
  template <class G>
  [[nodiscard]] const G* as() const {
    const auto* holder = dynamic_cast<const detail::GeometryHolder<G>*>(held_.get());
    return holder == nullptr ? nullptr : &holder->model;
  }

  // The model, which must be of this type.
  template <class G>
  [[nodiscard]] const G& known_as() const {
    return static_cast<const detail::GeometryHolder<G>*>(held_.get())->model;
  }

  bool operator==(const Geometry& other) const { return held_->equals(*other.held_); }

  [[nodiscard]] std::string_view name() const { return held_->name(); }
  [[nodiscard]] std::span<const Parameter> parameters() const { return held_->parameters(); }
  [[nodiscard]] std::vector<double> values() const { return held_->values(); }
  [[nodiscard]] std::string id() const;

  [[nodiscard]] std::size_t growth() const { return held_->growth(); }
  [[nodiscard]] bool needs_base_distances() const { return held_->needs_base_distances(); }
  [[nodiscard]] bool has_space() const { return held_->has_space(); }
  [[nodiscard]] bool needs_base() const { return has_space() || needs_base_distances(); }
  // Whether members of both can be served from the same points.
  [[nodiscard]] bool shares_space_with(const Geometry& other) const {
    return has_space() || other.has_space() ? *this == other : true;
  }

  // nullptr where the space is that of the transformed rows.
  [[nodiscard]] std::shared_ptr<const Space> space(const BaseRows& base) const {
    return held_->space(base);
  }
  template <class Real>
  [[nodiscard]] std::unique_ptr<GeometryFit<Real>> make_fit() const {
    return held_->make_fit(Real{});
  }
  template <class Real>
  [[nodiscard]] std::unique_ptr<GeometryDistances<Real>> make_distances(std::size_t classes,
                                                                        std::size_t queries) const {
    return held_->make_distances(classes, queries, Real{});
  }

 private:
  std::shared_ptr<const detail::GeometryInterface> held_;
};

}  // namespace deepvoro
