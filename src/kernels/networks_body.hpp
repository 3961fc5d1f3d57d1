// The kernels of network_kernels.hpp, written once; body.hpp must be included first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "kernels/network_kernels.hpp"

namespace {

// Sums that stay in registers: of so many rows, and so many times 16 channels.
#if defined(__AVX512F__)
constexpr std::size_t kProductRows = 12;
constexpr std::size_t kProductVectors = 2;
#elif defined(__AVX2__) || defined(__ARM_NEON)
constexpr std::size_t kProductRows = 6;
constexpr std::size_t kProductVectors = 1;
#else
constexpr std::size_t kProductRows = 1;
constexpr std::size_t kProductVectors = 1;
#endif
constexpr std::size_t kProductWidth = 16 * kProductVectors;

inline FloatLanes finished(const FloatLanes& sum, const FloatLanes& bias, const float* added,
                           const FloatLanes& slope) {
  FloatLanes result = sum + bias;
  if (added != nullptr) result = result + FloatLanes::load(added);
  return larger(result, multiply_add(slope, result, FloatLanes::zero()));
}

// `Rows` rows from `first` on, kProductWidth channels from `column` on.
template <std::size_t Rows>
void multiply_rows(const dk::RowProducts& products, std::size_t first, std::size_t column,
                   const dk::Finish* finish) {
  FloatLanes sums[Rows][kProductVectors];
  for (auto& row : sums)
    for (FloatLanes& lanes : row) lanes = FloatLanes::zero();
  const float* rows = products.rows + first * products.row_stride;
  const float* panel = products.panel + column;
  for (std::size_t c = 0; c < products.length; ++c, panel += dk::kPanelChannels) {
    FloatLanes weights[kProductVectors];
    for (std::size_t v = 0; v < kProductVectors; ++v) weights[v] = FloatLanes::load(panel + 16 * v);
    for (std::size_t r = 0; r < Rows; ++r) {
      const FloatLanes value = FloatLanes::all_of(rows[r * products.row_stride + c]);
      for (std::size_t v = 0; v < kProductVectors; ++v)
        sums[r][v] = multiply_add(value, weights[v], sums[r][v]);
    }
  }
  for (std::size_t r = 0; r < Rows; ++r)
    for (std::size_t v = 0; v < kProductVectors; ++v) {
      const std::size_t at = column + 16 * v;
      const std::size_t offset = (first + r) * products.out_stride + at;
      if (finish != nullptr)
        sums[r][v] = finished(sums[r][v], FloatLanes::load(finish->bias + at),
                              finish->added != nullptr ? finish->added + offset : nullptr,
                              FloatLanes::all_of(finish->slope));
      sums[r][v].store(products.out + offset);
    }
}

using MultiplyRows = void (*)(const dk::RowProducts&, std::size_t, std::size_t, const dk::Finish*);

struct MultiplyRowsTable {
  MultiplyRows of[kProductRows];
};

template <std::size_t... Rows>
constexpr MultiplyRowsTable rows_up_to(std::index_sequence<Rows...>) {
  return {{multiply_rows<Rows + 1>...}};
}

// Rows are divided evenly: a last group of few would leave most registers unused.
void multiply(const dk::RowProducts& products, const dk::Finish* finish) {
  static constexpr MultiplyRowsTable rows = rows_up_to(std::make_index_sequence<kProductRows>());
  const std::size_t groups = (products.count + kProductRows - 1) / kProductRows;
  for (std::size_t group = 0; group < groups; ++group) {
    const std::size_t first = group * products.count / groups;
    const std::size_t end = (group + 1) * products.count / groups;
    for (std::size_t column = 0; column < dk::kPanelChannels; column += kProductWidth)
      rows.of[end - first - 1](products, first, column, finish);
  }
}

// A cache line of each channel at a time.
constexpr std::size_t kWeightsAtOnce = 16;

inline float folded(float weight, double factor) {
  return static_cast<float>(static_cast<double>(weight) * factor);
}

void pack_panel(const dk::PanelWeights& from, float* panel) {
  const std::size_t row = from.in * from.places;
  if (from.channels < dk::kPanelChannels)
    for (std::size_t i = 0; i < row * dk::kPanelChannels; ++i) panel[i] = 0;
  for (std::size_t begin = 0; begin < from.in; begin += kWeightsAtOnce) {
    const std::size_t end = begin + kWeightsAtOnce < from.in ? begin + kWeightsAtOnce : from.in;
    for (std::size_t k = 0; k < from.channels; ++k)
      for (std::size_t place = 0; place < from.places; ++place)
        for (std::size_t c = begin; c < end; ++c)
          panel[(place * from.in + c) * dk::kPanelChannels + k] =
              folded(from.weights[k * row + c * from.places + place], from.factors[k]);
  }
}

// One number of each channel of a panel.
struct PanelLine {
  double value[dk::kPanelChannels];
};

// Three weights in a line become six points, in double: what is lost here is lost in every picture.
inline void transform_weights(const PanelLine& a, const PanelLine& b, const PanelLine& c,
                              PanelLine* const (&points)[dk::kTilePlaces]) {
  for (std::size_t k = 0; k < dk::kPanelChannels; ++k) {
    const double outer = (a.value[k] + c.value[k]) * (-1.0 / 6);
    const double inner = b.value[k] * (1.0 / 6);
    const double far = a.value[k] * (1.0 / 24) + c.value[k] * (1.0 / 6);
    const double half = b.value[k] * (1.0 / 12);
    points[0]->value[k] = a.value[k] * 0.25;
    points[1]->value[k] = outer - inner;
    points[2]->value[k] = outer + inner;
    points[3]->value[k] = far + half;
    points[4]->value[k] = far - half;
    points[5]->value[k] = c.value[k];
  }
}

void pack_tile_panel(const dk::PanelWeights& from, float* panel) {
  const std::size_t row = from.in * from.places;
  PanelLine weights[3][3] = {};
  PanelLine columns[dk::kTilePlaces][3];
  PanelLine points[dk::kTilePlaces];
  for (std::size_t c = 0; c < from.in; ++c) {
    for (std::size_t k = 0; k < from.channels; ++k)
      for (std::size_t place = 0; place < 9; ++place)
        weights[place / 3][place % 3].value[k] =
            static_cast<double>(folded(from.weights[k * row + c * 9 + place], from.factors[k]));
    for (std::size_t x = 0; x < 3; ++x)
      transform_weights(weights[0][x], weights[1][x], weights[2][x],
                        {&columns[0][x], &columns[1][x], &columns[2][x], &columns[3][x],
                         &columns[4][x], &columns[5][x]});
    for (std::size_t i = 0; i < dk::kTilePlaces; ++i) {
      transform_weights(columns[i][0], columns[i][1], columns[i][2],
                        {&points[0], &points[1], &points[2], &points[3], &points[4], &points[5]});
      for (std::size_t j = 0; j < dk::kTilePlaces; ++j) {
        float* out = panel + ((i * dk::kTilePlaces + j) * from.in + c) * dk::kPanelChannels;
        for (std::size_t k = 0; k < dk::kPanelChannels; ++k)
          out[k] = static_cast<float>(points[j].value[k]);
      }
    }
  }
}

struct TileLine {
  FloatLanes at[dk::kTilePlaces];
};

inline FloatLanes times(float factor, const FloatLanes& x, const FloatLanes& added) {
  return multiply_add(FloatLanes::all_of(factor), x, added);
}

inline TileLine transformed_places(const TileLine& d) {
  const FloatLanes a = times(-4, d.at[2], d.at[4]);
  const FloatLanes b = times(-4, d.at[1], d.at[3]);
  const FloatLanes c = d.at[4] - d.at[2];
  const FloatLanes e = d.at[3] - d.at[1];
  return {{times(4, d.at[0], times(-5, d.at[2], d.at[4])), a + b, a - b, times(2, e, c),
           times(-2, e, c), times(4, d.at[1], times(-5, d.at[3], d.at[5]))}};
}

// The first four are results.
inline TileLine transformed_points(const TileLine& m) {
  const FloatLanes sum = m.at[1] + m.at[2];
  const FloatLanes difference = m.at[1] - m.at[2];
  const FloatLanes outer_sum = m.at[3] + m.at[4];
  const FloatLanes outer_difference = m.at[3] - m.at[4];
  return {{m.at[0] + sum + outer_sum, times(2, outer_difference, difference),
           times(4, outer_sum, sum), times(8, outer_difference, difference) + m.at[5]}};
}

void transform_places(const float* const* places, std::size_t channels, float* points,
                      std::size_t point_step) {
  constexpr std::size_t side = dk::kTilePlaces;
  for (std::size_t c = 0; c < channels; c += 16) {
    TileLine columns[side];
    for (std::size_t j = 0; j < side; ++j) {
      TileLine line;
      for (std::size_t i = 0; i < side; ++i)
        line.at[i] = FloatLanes::load(places[i * side + j] + c);
      columns[j] = transformed_places(line);
    }
    for (std::size_t i = 0; i < side; ++i) {
      TileLine line;
      for (std::size_t j = 0; j < side; ++j) line.at[j] = columns[j].at[i];
      line = transformed_places(line);
      for (std::size_t j = 0; j < side; ++j)
        line.at[j].store(points + (i * side + j) * point_step + c);
    }
  }
}

void transform_points(const float* points, std::size_t point_step, std::size_t channels,
                      const dk::TileResults& results, const float* bias, float slope) {
  constexpr std::size_t side = dk::kTilePlaces;
  for (std::size_t k = 0; k < channels; k += 16) {
    TileLine columns[side];
    for (std::size_t j = 0; j < side; ++j) {
      TileLine line;
      for (std::size_t i = 0; i < side; ++i)
        line.at[i] = FloatLanes::load(points + (i * side + j) * point_step + k);
      columns[j] = transformed_points(line);
    }
    const FloatLanes shift = FloatLanes::load(bias + k);
    for (std::size_t i = 0; i < results.height; ++i) {
      TileLine line;
      for (std::size_t j = 0; j < side; ++j) line.at[j] = columns[j].at[i];
      line = transformed_points(line);
      for (std::size_t j = 0; j < results.width; ++j) {
        const std::size_t offset = i * results.row_step + j * results.place_step + k;
        finished(line.at[j], shift, results.added != nullptr ? results.added + offset : nullptr,
                 FloatLanes::all_of(slope))
            .store(results.out + offset);
      }
    }
  }
}

void depthwise(const float* const* places, std::size_t count, const float* weights,
               std::size_t channels, const float* bias, float slope, float* out) {
  for (std::size_t c = 0; c < channels; c += 16) {
    FloatLanes sum = FloatLanes::zero();
    for (std::size_t i = 0; i < count; ++i)
      sum = multiply_add(FloatLanes::load(places[i] + c),
                         FloatLanes::load(weights + i * channels + c), sum);
    finished(sum, FloatLanes::load(bias + c), nullptr, FloatLanes::all_of(slope)).store(out + c);
  }
}

void largest(const float* const* places, std::size_t count, std::size_t channels, float* out) {
  for (std::size_t c = 0; c < channels; ++c) out[c] = places[0][c];
  for (std::size_t i = 1; i < count; ++i) {
    const float* place = places[i];
    for (std::size_t c = 0; c < channels; ++c) out[c] = place[c] > out[c] ? place[c] : out[c];
  }
}

void mean(const float* const* places, std::size_t count, std::size_t channels, float* out) {
  constexpr std::size_t at_once = 64;
  for (std::size_t begin = 0; begin < channels; begin += at_once) {
    const std::size_t some = channels - begin < at_once ? channels - begin : at_once;
    double sums[at_once] = {};
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t c = 0; c < some; ++c) sums[c] += static_cast<double>(places[i][begin + c]);
    for (std::size_t c = 0; c < some; ++c)
      out[begin + c] = static_cast<float>(sums[c] / static_cast<double>(count));
  }
}

void rectify(const float* x, std::size_t places, std::size_t channels, const float* factors,
             const float* shifts, float* out) {
  for (std::size_t place = 0; place < places; ++place, x += channels, out += channels)
    for (std::size_t c = 0; c < channels; ++c) {
      const float value = x[c] * factors[c] + shifts[c];
      out[c] = value > 0 ? value : 0;
    }
}

bool all_finite(const float* values, std::size_t count) {
  constexpr std::uint32_t exponent = 0x7F800000;
  std::uint32_t bad = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t bits = 0;
    __builtin_memcpy(&bits, values + i, sizeof bits);
    bad |= (bits & exponent) == exponent ? 1U : 0U;
  }
  return bad == 0;
}

constexpr dk::NetworkTable make_network_table() {
  return {.multiply = multiply,
          .pack_panel = pack_panel,
          .pack_tile_panel = pack_tile_panel,
          .transform_places = transform_places,
          .transform_points = transform_points,
          .depthwise = depthwise,
          .largest = largest,
          .mean = mean,
          .rectify = rectify,
          .all_finite = all_finite};
}

}  // namespace
