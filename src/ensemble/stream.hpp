#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/matrix.hpp"
#include "distance_pass.hpp"
#include "drawn_rows.hpp"
#include "ensemble/engine.hpp"
#include "features/transformed_rows.hpp"
#include "points.hpp"

namespace deepvoro {

// A run of members that see the same points, by growing growth().
struct Group {
  std::size_t first = 0;
  std::span<const Member> members;
};

// Receives the values of one member in one episode, [ways x queries] with queries side by side, and
// as much scratch memory.
template <class Real>
using LaneVisitor = std::function<void(std::size_t member, std::size_t episode,
                                       MatrixView<const Real> values, MatrixView<double> scratch)>;

// Streams groups of members with rows held as Real.
template <class Real>
class Stream {
 public:
  // For members whose views have `dim` dimensions.
  Stream(const EpisodeSetting& setting, std::size_t dim, EpisodeRange range,
         const LaneVisitor<Real>& visit, std::span<const Group> groups);

  // What a row that is drawn needs, at most.
  [[nodiscard]] static std::size_t bytes_of_row(const FeatureStore& store, std::size_t dim,
                                                std::span<const Group> groups);

  // `space`: that of the members; nullptr where they have none of their own.
  void run(const Group& group, const Space* space, const Progress& progress);

 private:
  // One thread's work on the members of a group that have geometries of the same name.
  struct Kind {
    explicit Kind(const Geometry& geometry, const EpisodeShape& shape)
        : name(geometry.name()),
          fit(geometry.make_fit<Real>()),
          distances(geometry.make_distances<Real>(shape.ways, shape.total_queries())) {}
    std::string_view name;
    std::unique_ptr<GeometryFit<Real>> fit;
    std::unique_ptr<GeometryDistances<Real>> distances;
  };
  // Which kinds a group has, and the last of the members of each.
  struct GroupKinds {
    std::vector<std::size_t> of_member;    // index into the kinds of a worker
    std::vector<std::size_t> present;      // the same
    std::vector<const Geometry*> last_of;  // for each of these
    bool needs_base_distances = false;
  };

  // Scratch of one thread.
  struct Worker {
    Worker(const EpisodeSetting& setting, std::size_t dim, std::size_t bases)
        : wide(padded(dim)),
          row(1, dim),
          center(1, dim),
          support(setting.episodes.shape().shots, dim),
          query_norms(padded(setting.episodes.shape().total_queries())),
          norms(std::max(bases, query_norms.size() * setting.episodes.shape().ways)),
          dots(setting.episodes.shape().ways, setting.episodes.shape().total_queries()),
          distances(setting.episodes.shape().ways, setting.episodes.shape().total_queries()),
          terms(setting.episodes.shape().ways, setting.episodes.shape().total_queries()),
          weighted(setting.episodes.shape().ways, setting.episodes.shape().total_queries()) {
      if (bases == 0) return;
      prototype_to_base = Matrix<Real>(setting.episodes.shape().ways, bases);
      query_to_base.resize(setting.episodes.shape().total_queries());
      base_dots = Matrix<Real>(1, bases);
      exact_support = Matrix<double>(setting.episodes.shape().shots, dim);
      exact_prototype = Matrix<double>(1, dim);
    }
    std::vector<double> wide;
    Matrix<Real> row;
    Matrix<Real> center;
    Matrix<Real> support;
    std::vector<Real> query_norms;
    std::vector<Real> norms;
    Matrix<Real> dots;       // [ways x queries]
    Matrix<Real> distances;  // the same
    Matrix<double> terms;    // the same
    Matrix<Real> weighted;   // the same
    std::vector<Kind> kinds;
    Matrix<Real> prototype_to_base;  // distances, [ways x base classes]
    std::vector<const Real*> query_to_base;
    std::vector<const Real*> base_rows;
    Matrix<Real> base_dots;
    Matrix<double> exact_support;
    Matrix<double> exact_prototype;
    std::optional<std::size_t> exact_way;  // whose prototype is in exact_prototype
  };

  [[nodiscard]] GroupKinds kinds_of(const Group& group);
  void fit_base_prototypes(const Member& shared, const std::vector<float>& center);
  void fit_base_prototype(const RowTransformer& transformer, std::size_t base_class,
                          Worker& worker);

  // Distances of all samples to the base prototypes.
  void measure_samples(const Points<Real>& points);

  Real plain_distance(const Real* a, const Real* b) const;
  void run_points(const Group& group, const Points<Real>& points, const Progress& progress);
  void run_episode(const Group& group, const GroupKinds& kinds, const Points<Real>& points,
                   std::size_t e, Worker& worker);

  // Begins to bring what an episode reads into the cache: its dot products and, where they are
  // wanted, its queries' distances to the base prototypes.
  void fetch_episode(const GroupKinds& kinds, std::size_t e) const;

  // Distances of an episode's queries to its prototypes.
  void measure_episode(const Episode& episode, const Points<Real>& points, std::size_t e,
                       Worker& worker);

  // A prototype from whole rows.
  template <class T, class Rows>
  void fit_again(const Episode& episode, const Rows& rows, std::size_t way, Matrix<T>& support,
                 std::vector<double>& wide, T* out) const;

  // Squared.
  double exact_base_distance(const Episode& episode, std::size_t way, std::size_t base,
                             Worker& worker) const;

  Real measure_again(const Episode& episode, const Points<Real>& points, std::size_t query,
                     std::size_t way, Worker& worker) const;

  // Distances of an episode's prototypes to the base prototypes. The dot product of a mean is the
  // mean of dot products, so nothing of the length of a row is touched.
  void measure_prototypes(const Episode& episode, const Points<Real>& points, std::size_t e,
                          Worker& worker) const;

  const EpisodeSetting& setting_;
  std::size_t dim_;
  EpisodeRange range_;
  const LaneVisitor<Real>& visit_;
  DrawnRows drawn_;  // nothing is known of other rows; a sample is one of these
  std::vector<std::size_t> labels_;
  DistancePass<Real> pass_;
  LoadedView view_;
  std::string view_name_;
  std::optional<RowTransformer> transformer_;  // of the present group
  LoadedView base_view_;
  std::string base_view_name_;
  std::vector<std::vector<std::size_t>> base_rows_;
  BaseDots<Real> base_;
  Matrix<Real> sample_to_base_;  // distances, [samples x base classes]
  Matrix<double> exact_base_;    // base prototypes, for close decisions
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace deepvoro
