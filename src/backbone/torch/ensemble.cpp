#include "ensemble.hpp"

#include <c10/core/InferenceMode.h>
#include <fmt/format.h>
#include <torch/cuda.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <future>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/precision.hpp"
#include "deepvoro/core/parallel.hpp"
#include "ensemble/base_classes.hpp"
#include "ensemble/influence_field.hpp"
#include "ensemble/points.hpp"
#include "ensemble/space_cache.hpp"
#include "episode_distances.hpp"
#include "inference.hpp"
#include "surrogate_sums.hpp"

namespace deepvoro {
namespace {

using torch::Tensor;

std::int64_t extent(std::size_t size) {
  return static_cast<std::int64_t>(size);
}

// Rows divided by their norms; a zero row stays zero.
Tensor unit_rows(const Tensor& rows, torch::ScalarType type) {
  const Tensor norms = torch::norm(rows.to(torch::kFloat64), 2, {1}, /*keepdim=*/true);
  const Tensor scales = torch::where(norms > 0, norms.reciprocal(), torch::zeros_like(norms));
  return rows.to(type) * scales.to(type);
}

Tensor power(const Tensor& values, double exponent) {
  if (exponent == 1) return values;
  return exponent == 0.5 ? values.sqrt() : values.pow(exponent);
}

// What has no logarithm or power becomes NaN or infinity.
Tensor transformed(const Tensor& unit, const Transform& transform) {
  const auto& [w, b, lambda, is_signed] = transform;
  // As on the CPU, log(wz + b) less log(b).
  if (lambda == 0 && !is_signed && b > 0) return (unit * (w / b)).log1p();
  const Tensor moved = w == 1 && b == 0 ? unit : unit * w + b;
  if (is_signed)
    return moved.sign() * (lambda == 0 ? moved.abs().log1p() : power(moved.abs(), lambda));
  return lambda == 0 ? moved.log() : power(moved, lambda);
}

// Reads views into memory that the device copies from, the next one while the device is busy with
// the one before.
class ViewReader {
 public:
  struct Wanted {
    std::string view;
    bool with_base;
  };

  // `views` in the order in which they will be asked for.
  ViewReader(const EpisodeSetting& setting, std::vector<Wanted> views, torch::Device device)
      : setting_(setting), views_(std::move(views)), device_(device) {}

  struct Rows {
    Tensor of_split;
    Tensor of_base;  // if they are wanted
  };

  // The next view, on the device, which copies when it is done with what it has to do.
  [[nodiscard]] Rows next() {
    if (!reading_.valid()) begin_reading();
    const Rows read = reading_.get();
    // Until it has copied the view before, whose memory is used again from here on.
    if (device_.is_cuda()) torch::cuda::synchronize();
    const auto sent = [&](const Tensor& rows) {
      return rows.to(device_, rows.scalar_type(), /*non_blocking=*/true, /*copy=*/true);
    };
    const Rows rows{sent(read.of_split), read.of_base.defined() ? sent(read.of_base) : Tensor()};
    if (taken_ < views_.size()) begin_reading();
    return rows;
  }

 private:
  void begin_reading() {
    const Wanted& wanted = views_.at(taken_);
    Rows& memory = memories_[taken_++ % memories_.size()];
    reading_ = std::async(std::launch::async, [this, &wanted, &memory] {
      return Rows{read(setting_.split, wanted.view, memory.of_split),
                  wanted.with_base ? read("base", wanted.view, memory.of_base) : Tensor()};
    });
  }

  [[nodiscard]] Tensor read(const std::string& split, const std::string& view,
                            Tensor& memory) const {
    const FeatureRows source = setting_.store.features(split, view);
    const std::size_t row_bytes = source.dim() * element_size(source.element());
    const std::int64_t bytes = extent(source.rows() * row_bytes);
    if (!memory.defined() || memory.numel() < bytes)
      memory = torch::empty({bytes},
                            torch::TensorOptions(torch::kUInt8).pinned_memory(device_.is_cuda()));
    auto* to = memory.data_ptr<std::uint8_t>();
    constexpr std::size_t grain = 256;
    parallel_for(setting_.threads, source.rows(), grain,
                 [&](std::size_t begin, std::size_t end, unsigned) {
                   for (std::size_t r = begin; r < end; ++r)
                     std::memcpy(to + r * row_bytes, source.row(r), row_bytes);
                 });
    const auto type = source.element() == ElementType::float16 ? torch::kFloat16 : torch::kFloat32;
    return memory.narrow(0, 0, bytes)
        .view(type)
        .view({extent(source.rows()), extent(source.dim())});
  }

  const EpisodeSetting& setting_;
  std::vector<Wanted> views_;
  torch::Device device_;
  std::array<Rows, 2> memories_;  // of the view that is read and of the one that is copied
  std::size_t taken_ = 0;
  std::future<Rows> reading_;
};

// The rows of a split as queries and as what centers are the means of.
struct DevicePoints {
  Tensor of_queries;
  Tensor of_centers;
};

// The members of a pool, added up over episodes.
class Addition {
 public:
  Addition(const EpisodeSetting& setting, const Pool& members, EpisodeRange range,
           torch::Device device)
      : setting_(setting),
        members_(members),
        shape_(setting.episodes.shape()),
        device_(device),
        reader_(setting, views_of(members), device),
        own_cache_(setting.store, 0) {
    read_episodes(range);
    const auto in_double = torch::TensorOptions(device).dtype(torch::kFloat64);
    sums_ = torch::zeros(
        {extent(range.end - range.begin), extent(shape_.ways), extent(shape_.total_queries())},
        in_double);
    total_ = torch::zeros({}, in_double);
    if (std::ranges::any_of(members, needs_base_distances)) average_base_classes();
    for (std::size_t i = 0; i < members.size(); ++i)
      if (members[i].geometry.has_space() &&
          (i == 0 || !members[i].shares_points_with(members[i - 1])))
        with_space_.push_back(members[i]);
  }

  // [episodes, ways, queries], in double; nothing where a row cannot be transformed in the
  // precision of the device.
  [[nodiscard]] std::optional<Tensor> sums(const Progress& progress) {
    for (std::size_t begin = 0; begin < members_.size();) {
      std::size_t end = begin + 1;
      while (end < members_.size() && members_[begin].shares_points_with(members_[end])) ++end;
      if (progress) progress(static_cast<double>(begin) / static_cast<double>(members_.size()));
      add_group({members_.data() + begin, end - begin});
      begin = end;
    }
    if (!std::isfinite(total_.item<double>())) return std::nullopt;
    return sums_.cpu();
  }

 private:
  static bool needs_base_distances(const Member& member) {
    return member.geometry.needs_base_distances();
  }

  void read_episodes(EpisodeRange range) {
    std::vector<std::int64_t> support;
    std::vector<std::int64_t> queries;
    for (std::size_t e = range.begin; e < range.end; ++e) {
      const Episode episode = setting_.episodes[e];
      support.insert(support.end(), episode.support.begin(), episode.support.end());
      queries.insert(queries.end(), episode.query.begin(), episode.query.end());
    }
    const auto count = extent(range.end - range.begin);
    const auto sent = [&](std::vector<std::int64_t>& indices) {
      return torch::from_blob(indices.data(), {count, extent(indices.size()) / count},
                              torch::kInt64)
          .to(device_, torch::kInt64, /*non_blocking=*/false, /*copy=*/true);
    };
    support_ = sent(support);
    queries_ = sent(queries);
  }

  // The matrix that makes prototypes of base rows.
  void average_base_classes() {
    const std::vector<std::vector<std::size_t>> by_class = base_classes(setting_.store);
    const std::size_t rows = setting_.store.split("base").samples;
    Tensor means = torch::zeros({extent(by_class.size()), extent(rows)}, torch::kFloat64);
    for (std::size_t c = 0; c < by_class.size(); ++c)
      for (const std::size_t row : by_class[c])
        means.data_ptr<double>()[c * rows + row] = 1.0 / static_cast<double>(by_class[c].size());
    base_means_ = means.to(device_);
  }

  // Of members without a space of their own, whose points come from the CPU.
  static std::vector<ViewReader::Wanted> views_of(const Pool& members) {
    std::vector<ViewReader::Wanted> views;
    for (const Member& member : members) {
      if (member.geometry.has_space()) continue;
      if (views.empty() || views.back().view != member.view) views.push_back({member.view, false});
      if (needs_base_distances(member)) views.back().with_base = true;
    }
    return views;
  }

  void load(const std::string& view) {
    if (view == view_) return;
    view_ = view;
    const ViewReader::Rows read = reader_.next();
    rows_ = read.of_split;
    unit_ = Tensor();
    if (read.of_base.defined()) base_unit_ = unit_rows(read.of_base, torch::kFloat64);
  }

  Tensor transformed_rows(const Member& shared, torch::ScalarType type) {
    load(shared.view);
    if (!unit_.defined() || unit_.scalar_type() != type) unit_ = unit_rows(rows_, type);
    return transformed(unit_, shared.transform);
  }
  static DevicePoints same_points(const Tensor& rows) { return {rows, rows}; }

  std::shared_ptr<const Space> next_space() {
    if (next_space_ == spaces_.size()) {
      SpaceCache& cache = setting_.spaces == nullptr ? own_cache_ : *setting_.spaces;
      const std::size_t count =
          std::min<std::size_t>(setting_.threads, with_space_.size() - spaces_fitted_);
      spaces_ = cache.spaces({with_space_.data() + spaces_fitted_, count}, setting_.threads);
      spaces_fitted_ += count;
      next_space_ = 0;
    }
    return spaces_[next_space_++];
  }

  template <class Real>
  DevicePoints mapped_points(const Member& shared, torch::ScalarType type) {
    const std::size_t dim = setting_.store.dim(shared.view);
    if (mapped_view_name_ != shared.view) {
      mapped_view_ = std::make_unique<LoadedView>(setting_.store, dim, setting_.threads);
      mapped_view_->load(setting_.split, shared.view);
    }
    mapped_view_name_ = shared.view;
    const RowTransformer transformer(*mapped_view_, shared.transform,
                                     center_of(*mapped_view_, shared.transform));
    const MappedPoints<Real> points(transformer, mapped_view_->rows(), dim, *next_space(),
                                    shape_.shots, setting_.threads);
    const Tensor rows = torch::empty({extent(mapped_view_->rows()), extent(dim)},
                                     torch::TensorOptions(type).pinned_memory(device_.is_cuda()));
    auto* to = rows.data_ptr<Real>();
    constexpr std::size_t grain = 256;
    parallel_for(setting_.threads, mapped_view_->rows(), grain,
                 [&](std::size_t begin, std::size_t end, unsigned) {
                   for (std::size_t r = begin; r < end; ++r)
                     points.columns(r, 0, dim, nullptr, to + r * dim);
                 });
    const Tensor sent = rows.to(device_);
    if (points.scales() == nullptr) return same_points(sent);
    const auto scale = [&](const std::vector<Real>& factors) {
      Tensor row = torch::empty({extent(dim)}, type);
      std::copy_n(factors.begin(), dim, row.data_ptr<Real>());
      return row.to(device_);
    };
    return {sent * scale(points.scales()->of_queries), sent * scale(points.scales()->of_centers)};
  }

  void add_group(std::span<const Member> group) {
    const Member& shared = group.front();
    const std::size_t dim = setting_.store.dim(shared.view);
    const bool has_surrogates = std::ranges::any_of(group, needs_base_distances);
    const auto type = dim < kFloatDim ? torch::kFloat64 : torch::kFloat32;
    DevicePoints points;
    if (shared.geometry.has_space()) {
      points = type == torch::kFloat64 ? mapped_points<double>(shared, type)
                                       : mapped_points<float>(shared, type);
    } else if (has_surrogates) {
      // In double: where two base classes are equally near but for rounding, the CPU is exact.
      const Tensor rows = transformed_rows(shared, torch::kFloat64);
      measure_samples(shared, rows);
      points = same_points(rows.to(type));
    } else {
      points = same_points(transformed_rows(shared, type));
    }
    look_at(points.of_queries);

    // So that what an episode needs fits into some GiB for all of a batch.
    constexpr std::size_t most_values = std::size_t{1} << 28U;
    const std::size_t of_surrogates =
        has_surrogates ? static_cast<std::size_t>(base_squares_.size(0)) + 8 * shape_.ways : 0;
    const std::size_t of_episode =
        (shape_.total_support() + shape_.total_queries()) * (dim + of_surrogates);
    const std::int64_t batch = extent(std::max<std::size_t>(1, most_values / of_episode));
    for (std::int64_t begin = 0; begin < sums_.size(0); begin += batch)
      add_episodes(group, points, begin, std::min(batch, sums_.size(0) - begin));
  }

  // A total is finite just when all that is added is.
  void look_at(const Tensor& values) { total_.add_(values.sum()); }

  void measure_samples(const Member& shared, const Tensor& rows) {
    const Tensor prototypes = base_means_.matmul(transformed(base_unit_, shared.transform));
    base_squares_ = torch::norm(prototypes, 2, {1}).square_();
    sample_squares_ = torch::norm(rows, 2, {1}).square_();
    look_at(base_squares_);
    products_ = rows.matmul(prototypes.t());
    sample_to_base_ = to_base(sample_squares_, products_);
  }

  // |x - p|^2 = x.x - 2 x.p + p.p, of rows with the given squares and products: [rows, base
  // classes]. In double there are digits to lose.
  [[nodiscard]] Tensor to_base(const Tensor& squares, const Tensor& products) const {
    return torch::add(squares.unsqueeze(1) + base_squares_, products, -2).clamp_min_(0).sqrt_();
  }

  // Of centers [episodes, ways, dim] that are means of support rows.
  [[nodiscard]] Tensor centers_to_base(const Tensor& centers, const Tensor& support) const {
    const std::int64_t shots = extent(shape_.shots);
    const Tensor squares =
        shots == 1 ? sample_squares_.index_select(0, support)
                   : torch::norm(centers, 2, {2}, false, torch::kFloat64).square_().reshape({-1});
    const Tensor products = products_.index_select(0, support).view({-1, shots, products_.size(1)});
    return to_base(squares, products.mean(1)).view({centers.size(0), centers.size(1), -1});
  }

  void add_episodes(std::span<const Member> group, const DevicePoints& points, std::int64_t begin,
                    std::int64_t count) {
    const std::int64_t ways = extent(shape_.ways);
    const std::int64_t dim = points.of_queries.size(1);
    const Tensor queries = queries_.narrow(0, begin, count);
    const Tensor support = support_.narrow(0, begin, count).reshape({-1});
    const Tensor rows = points.of_centers.index_select(0, support);
    const Tensor centers = shape_.shots == 1
                               ? rows.view({count, ways, dim})
                               : rows.view({count, ways, extent(shape_.shots), dim}).mean(2);
    const Tensor distances = episode_distances(points.of_queries, centers, queries);
    const Tensor sums = sums_.narrow(0, begin, count);
    std::vector<SurrogateTerm> surrogates;
    for (const Member& member : group) {
      if (const auto* surrogate = member.geometry.as<Surrogate>()) {
        surrogates.push_back(
            {extent(surrogate->R), surrogate->beta, surrogate->gamma, member.weight});
      } else if (member.geometry.as<Voronoi>() != nullptr || member.geometry.has_space()) {
        add(member, distances, sums);
      } else {
        throw usage_error(fmt::format("`device`: only the CPU knows geometry {}; use `device` cpu",
                                      member.geometry.name()));
      }
    }
    if (!surrogates.empty())
      add_surrogates({distances, centers_to_base(centers, support), sample_to_base_, queries},
                     std::move(surrogates), setting_.influence.alpha(), sums);
  }

  void add(const Member& member, const Tensor& values, Tensor sums) const {
    if (setting_.influence.alpha() == 1)
      sums.add_(values, member.weight);
    else
      sums.add_((values.to(torch::kFloat64) * member.weight).pow(setting_.influence.alpha()));
  }

  const EpisodeSetting& setting_;
  const Pool& members_;
  EpisodeShape shape_;
  torch::Device device_;
  ViewReader reader_;
  Tensor support_;  // [episodes, ways * shots], indices of rows
  Tensor queries_;  // [episodes, queries]
  Tensor sums_;     // [episodes, ways, queries]
  Tensor total_;    // of all values of rows so far

  std::string view_;
  Tensor rows_;  // of the view, as they are in the store
  Tensor unit_;  // the same of unit length, in the precision last asked for
  Tensor base_unit_;
  Tensor base_means_;  // [base classes, base rows]
  // Of the present group, if it has surrogates.
  Tensor base_squares_;    // of prototypes, [base classes]
  Tensor sample_squares_;  // [samples]
  Tensor products_;        // of samples and prototypes, [samples, base classes]
  Tensor sample_to_base_;  // distances, [samples, base classes]

  Pool with_space_;  // one of each group
  SpaceCache own_cache_;
  std::vector<std::shared_ptr<const Space>> spaces_;
  std::size_t next_space_ = 0;
  std::size_t spaces_fitted_ = 0;
  std::unique_ptr<LoadedView> mapped_view_;
  std::string mapped_view_name_;
};

class TorchEnsemble final : public EnsembleDevice {
 public:
  explicit TorchEnsemble(torch::Device device) : device_(device) {
    (void)torch::zeros({1}, device).item<float>();  // the first use of a device takes long
  }

  void add_members(const EpisodeSetting& setting, const Pool& members, EpisodeRange range,
                   InfluenceField& field, const Progress& progress) override {
    check_members(setting.store, setting.split, members, "the pool");
    for (const Member& member : members) (void)TransformPlan(member.transform);
    const auto sums = as_our_errors([&] {
      const c10::InferenceMode no_gradients;
      return Addition(setting, members, range, device_).sums(progress);
    });
    if (!sums) {
      // The CPU knows what to say about such rows, or has better ways to transform them.
      EpisodeSetting on_cpu = setting;
      on_cpu.device = nullptr;
      return deepvoro::add_members(on_cpu, members, range, field, {}, progress);
    }
    const auto values = sums->accessor<double, 3>();
    for (std::size_t e = 0; e < range.end - range.begin; ++e) {
      const MatrixView<double> of_episode = field.sums(e);
      for (std::size_t k = 0; k < of_episode.rows(); ++k)
        for (std::size_t q = 0; q < of_episode.cols(); ++q)
          of_episode[k][q] += values[extent(e)][extent(k)][extent(q)];
    }
  }

 private:
  torch::Device device_;
};

}  // namespace

std::unique_ptr<EnsembleDevice> make_ensemble_device(torch::Device device) {
  return std::make_unique<TorchEnsemble>(device);
}

}  // namespace deepvoro
