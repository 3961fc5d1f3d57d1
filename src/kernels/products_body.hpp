// The kernels of distances, dot products and norms, written once. Needs lanes_*.hpp before it.
#pragma once

#include "core/matrix.hpp"
#include "kernels/kernels.hpp"

namespace {

namespace dk = deepvoro::kernels;

inline double sum(const FloatLanes& lanes) {
  return sum(widened(lanes));
}

inline DoubleLanes load_lanes(const double* from) {
  return DoubleLanes::load(from);
}
inline FloatLanes load_lanes(const float* from) {
  return FloatLanes::load(from);
}

// Squared distances of one query to `Count` centers, whose partial sums stay in registers.
template <std::size_t Count, class Real>
void squared_distances_block(const Real* query, const Real* centers, std::size_t stride,
                             std::size_t length, double* out) {
  using LanesOf = decltype(load_lanes(query));
  LanesOf partial[Count];
  for (auto& lanes : partial) lanes = LanesOf::zero();
  for (std::size_t d = 0; d < length; d += 16) {
    const LanesOf q = load_lanes(query + d);
    for (std::size_t c = 0; c < Count; ++c) {
      const LanesOf difference = q - load_lanes(centers + c * stride + d);
      partial[c] = multiply_add(difference, difference, partial[c]);
    }
  }
  for (std::size_t c = 0; c < Count; ++c) out[c] = sum(partial[c]);
}

template <class Real>
void squared_distances(const Real* query, const Real* centers, std::size_t stride,
                       std::size_t count, std::size_t length, double* out) {
  std::size_t c = 0;
  const auto block = [&]<std::size_t Count>() {
    squared_distances_block<Count>(query, centers + c * stride, stride, length, out + c);
    c += Count;
  };
  while (count - c > 5) block.template operator()<4>();
  switch (count - c) {
    case 5:
      return block.template operator()<5>();
    case 4:
      return block.template operator()<4>();
    case 3:
      return block.template operator()<3>();
    case 2:
      return block.template operator()<2>();
    case 1:
      return block.template operator()<1>();
    default:
      return;
  }
}

template <std::size_t Queries, std::size_t Centers>
void add_dots_block(const dk::DotProducts<float>& task, std::size_t query, std::size_t center) {
  const float* const* queries = task.queries + query;
  const float* const* centers = task.centers + center;
  const Output out{task.out + center * task.center_stride + query * task.query_stride,
                   task.center_stride, task.query_stride};
  if (task.length == dk::kQuickLength)
    add_dot_products<Queries, Centers, dk::kQuickLength>(queries, centers, task.length, out);
  else
    add_dot_products<Queries, Centers, 0>(queries, centers, task.length, out);
}

template <std::size_t Centers>
void add_dots_to_centers(const dk::DotProducts<float>& task, std::size_t center) {
  constexpr std::size_t block = Centers > kCenterBlock ? kTileQueries : kQueryBlock;
  std::size_t q = 0;
  for (; q + block <= task.query_count; q += block) add_dots_block<block, Centers>(task, q, center);
  switch (task.query_count - q) {
    case 3:  // not with blocks of three
      return add_dots_block<3, Centers>(task, q, center);
    case 2:
      return add_dots_block<2, Centers>(task, q, center);
    case 1:
      return add_dots_block<1, Centers>(task, q, center);
    default:
      return;
  }
}

void add_dots_float(const dk::DotProducts<float>& task) {
  constexpr std::size_t tile = dk::Tiles::kCenters;
  std::size_t c = 0;
  // Rather five centers than four and one.
  if (kCenterBlock < tile && task.center_count >= tile && task.center_count % kCenterBlock == 1) {
    add_dots_to_centers<tile>(task, 0);
    c = tile;
  }
  for (; c + kCenterBlock <= task.center_count; c += kCenterBlock)
    add_dots_to_centers<kCenterBlock>(task, c);
  switch (task.center_count - c) {
    case 4:  // not with blocks of four
      return add_dots_to_centers<4>(task, c);
    case 3:
      return add_dots_to_centers<3>(task, c);
    case 2:
      return add_dots_to_centers<2>(task, c);
    case 1:
      return add_dots_to_centers<1>(task, c);
    default:
      return;
  }
}

void add_dots_double(const dk::DotProducts<double>& task) {
  for (std::size_t q = 0; q < task.query_count; ++q)
    for (std::size_t c = 0; c < task.center_count; ++c) {
      DoubleLanes partial = DoubleLanes::zero();
      for (std::size_t d = 0; d < task.length; d += 16)
        partial = multiply_add(DoubleLanes::load(task.queries[q] + d),
                               DoubleLanes::load(task.centers[c] + d), partial);
      task.out[c * task.center_stride + q * task.query_stride] += sum(partial);
    }
}

// The tiles of a few centers. Rows are fetched ahead from number `ahead` on.
template <std::size_t Centers, std::size_t FixedLength>
void row_of_tiles(const dk::TiledDots<float>& task, const float* const* centers, std::size_t ahead,
                  float* out) {
  const std::size_t count = task.tiles.queries;
  const auto tile = [&]<std::size_t Queries>(std::size_t q) {
    const float* present[kTileRowsAhead];
    for (const float*& row : present) row = task.queries[q];
    tile_of_dots<Queries, Centers, FixedLength>(
        task.queries + q, centers, task.length,
        ahead + kTileRowsAhead <= task.later_count ? task.later + ahead : present, task.add, out);
    ahead += kTileRowsAhead;
    out += kTileElements;
  };
  std::size_t q = 0;
  for (; q + kTileQueries <= count; q += kTileQueries) tile.template operator()<kTileQueries>(q);
  if (count - q == 2) tile.template operator()<2>(q);
  if (count - q == 1) tile.template operator()<1>(q);
}

template <std::size_t FixedLength>
void tiles_of_dots(const dk::TiledDots<float>& task) {
  const std::size_t row_elements = task.tiles.row_elements();
  const std::size_t tiles = row_elements / kTileElements;
  std::size_t ahead = 0;
  float* out = task.out;
  std::size_t c = 0;
  for (; c + 5 <= task.tiles.centers; c += 5, ahead += tiles * kTileRowsAhead, out += row_elements)
    row_of_tiles<5, FixedLength>(task, task.centers + c, ahead, out);
  switch (task.tiles.centers - c) {
    case 4:
      return row_of_tiles<4, FixedLength>(task, task.centers + c, ahead, out);
    case 3:
      return row_of_tiles<3, FixedLength>(task, task.centers + c, ahead, out);
    case 2:
      return row_of_tiles<2, FixedLength>(task, task.centers + c, ahead, out);
    case 1:
      return row_of_tiles<1, FixedLength>(task, task.centers + c, ahead, out);
    default:
      return;
  }
}

void tiled_dots_float(const dk::TiledDots<float>& task) {
  static_assert(dk::Tiles::kCenters == 5 && kTileQueries <= 3 && kTileElements >= kTileQueries * 5);
  if (task.length == dk::kQuickLength)
    tiles_of_dots<dk::kQuickLength>(task);
  else
    tiles_of_dots<0>(task);
}

void tiled_dots_double(const dk::TiledDots<double>& task) {
  for (std::size_t q = 0; q < task.tiles.queries; ++q)
    for (std::size_t c = 0; c < task.tiles.centers; ++c) {
      DoubleLanes partial = DoubleLanes::zero();
      for (std::size_t d = 0; d < task.length; d += 16)
        partial = multiply_add(DoubleLanes::load(task.queries[q] + d),
                               DoubleLanes::load(task.centers[c] + d), partial);
      double& out = task.out[task.tiles.place(q, c)];
      out = task.add ? out + sum(partial) : sum(partial);
    }
}

template <std::size_t Rows>
void add_norms_block(const float* const* rows, std::size_t length, float* out) {
  FloatLanes sums[4];
  for (FloatLanes& lanes : sums) lanes = FloatLanes::zero();
  for (std::size_t d = 0; d < length; d += 16)
    for (std::size_t i = 0; i < Rows; ++i) {
      const FloatLanes x = FloatLanes::load(rows[i] + d);
      sums[i] = multiply_add(x, x, sums[i]);
    }
  float norms[4];
  join_four(sums, norms);
  for (std::size_t i = 0; i < Rows; ++i) out[i] += norms[i];
}

void add_squared_norms_float(const float* const* rows, std::size_t count, std::size_t length,
                             float* out) {
  std::size_t r = 0;
  for (; r + 4 <= count; r += 4) add_norms_block<4>(rows + r, length, out + r);
  for (; r < count; ++r) add_norms_block<1>(rows + r, length, out + r);
}

void add_squared_norms_double(const double* const* rows, std::size_t count, std::size_t length,
                              double* out) {
  for (std::size_t i = 0; i < count; ++i) {
    DoubleLanes partial = DoubleLanes::zero();
    for (std::size_t d = 0; d < length; d += 16) {
      const DoubleLanes x = DoubleLanes::load(rows[i] + d);
      partial = multiply_add(x, x, partial);
    }
    out[i] += sum(partial);
  }
}

}  // namespace
