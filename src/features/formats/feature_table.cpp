#include "feature_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <type_traits>

#include "deepvoro/core/error.hpp"
#include "half.hpp"

namespace deepvoro {
namespace {

constexpr std::uint64_t kLargestDim = std::uint64_t{1} << 24U;

template <class T>
struct Tag {};

template <class Word>
Word load_word(const std::byte* at, std::endian order) {
  Word word{};
  if (order == std::endian::native) {
    std::memcpy(&word, at, sizeof word);
    return word;
  }
  std::array<std::byte, sizeof word> reversed;
  for (std::size_t i = 0; i < sizeof word; ++i) reversed[i] = at[sizeof word - 1 - i];
  std::memcpy(&word, reversed.data(), sizeof word);
  return word;
}

struct Half {};
struct BrainFloat {};

template <class T>
auto load_number(const std::byte* at, std::endian order) {
  if constexpr (std::is_same_v<T, Half>)
    return half_to_float(load_word<std::uint16_t>(at, order));
  else if constexpr (std::is_same_v<T, BrainFloat>)
    return bfloat16_to_float(load_word<std::uint16_t>(at, order));
  else
    return load_word<T>(at, order);
}

// Calls body with a Tag of the type the numbers have.
template <class Body>
void with_number_type(NumberType type, const Body& body) {
  switch (type) {
    case NumberType::float16:
      return body(Tag<Half>{});
    case NumberType::bfloat16:
      return body(Tag<BrainFloat>{});
    case NumberType::float32:
      return body(Tag<float>{});
    case NumberType::float64:
      return body(Tag<double>{});
    case NumberType::int8:
      return body(Tag<std::int8_t>{});
    case NumberType::int16:
      return body(Tag<std::int16_t>{});
    case NumberType::int32:
      return body(Tag<std::int32_t>{});
    case NumberType::int64:
      return body(Tag<std::int64_t>{});
    case NumberType::uint8:
      return body(Tag<std::uint8_t>{});
    case NumberType::uint16:
      return body(Tag<std::uint16_t>{});
    case NumberType::uint32:
      return body(Tag<std::uint32_t>{});
    case NumberType::uint64:
      return body(Tag<std::uint64_t>{});
  }
}

bool is_float(NumberType type) {
  return type == NumberType::float16 || type == NumberType::bfloat16 ||
         type == NumberType::float32 || type == NumberType::float64;
}

void check_extent(const NumberArray& array, const std::string& where) {
  const auto bytes = array_bytes(array.shape, number_size(array.type));
  if (!bytes || *bytes > array.data.size())
    throw data_error(
        fmt::format("{}: promises an array of shape {}, but has only {} bytes of data; the file is "
                    "damaged, write it again",
                    where, shape_text(array.shape), array.data.size()));
}

struct MatrixShape {
  std::size_t rows = 0;
  std::size_t cols = 0;
};

MatrixShape matrix_shape(const NumberArray& array, const std::string& where) {
  const bool vector = array.shape.size() == 1;
  if (!vector && array.shape.size() != 2)
    throw data_error(fmt::format("{}: has shape {}; features are a matrix [samples, dimensions]",
                                 where, shape_text(array.shape)));
  const std::uint64_t cols = array.shape.back();
  if (cols == 0 || cols > kLargestDim)
    throw data_error(fmt::format("{}: has rows of {} dimensions; 1 to {} are possible", where, cols,
                                 kLargestDim));
  return {vector ? 1 : array.shape.front(), cols};
}

[[noreturn]] void refuse_value(double value, const std::string& where, std::size_t row,
                               std::size_t column) {
  throw data_error(fmt::format(
      "{}: row {}, column {} is {}, {}; repair or remove that row", where, row, column, value,
      std::isfinite(value) ? "beyond what float32 can hold" : "but features must be finite"));
}

[[noreturn]] void refuse_label(const std::string& value, const std::string& where,
                               std::size_t row) {
  throw data_error(fmt::format("{}: row {} has label {}; labels are whole numbers of 64 bits",
                               where, row, value));
}

template <class T>
std::int64_t whole_number(T value, const std::string& where, std::size_t row) {
  if constexpr (std::is_floating_point_v<T>) {
    constexpr T largest_exact = std::is_same_v<T, double> ? T{0x1p53} : T{0x1p24};
    if (!(std::abs(value) <= largest_exact) || value != std::trunc(value))
      refuse_label(fmt::format("{}", value), where, row);
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    if (value > std::numeric_limits<std::int64_t>::max())
      refuse_label(fmt::format("{}", value), where, row);
  }
  return static_cast<std::int64_t>(value);
}

}  // namespace

void append_rows(const NumberArray& array, const std::string& where, std::size_t first_row,
                 FeatureTable& table) {
  if (!is_float(array.type))
    throw data_error(
        fmt::format("{}: holds whole numbers; features are float16, float32 or float64", where));
  const MatrixShape shape = matrix_shape(array, where);
  check_extent(array, where);
  if (table.rows == 0) table.dim = shape.cols;
  if (shape.cols != table.dim)
    throw data_error(fmt::format("{}: row {} has {} dimensions, but the rows before it have {}",
                                 where, first_row, shape.cols, table.dim));
  if (array.type != NumberType::float16) table.element = ElementType::float32;

  const std::size_t row_step = array.fortran_order ? 1 : shape.cols;
  const std::size_t column_step = array.fortran_order ? shape.rows : 1;
  const std::size_t begin = table.values.size();
  table.values.resize(begin + shape.rows * shape.cols);
  float* out = table.values.data() + begin;
  with_number_type(array.type, [&]<class T>(Tag<T>) {
    const std::size_t item = number_size(array.type);
    for (std::size_t row = 0; row < shape.rows; ++row)
      for (std::size_t column = 0; column < shape.cols; ++column) {
        const std::size_t index = row * row_step + column * column_step;
        const auto value = load_number<T>(array.data.data() + index * item, array.order);
        if (!(std::abs(static_cast<double>(value)) <= std::numeric_limits<float>::max()))
          refuse_value(static_cast<double>(value), where, first_row + row, column);
        *out++ = static_cast<float>(value);
      }
  });
  table.rows += shape.rows;
}

std::vector<std::int64_t> label_values(const NumberArray& array, const std::string& where) {
  if (array.shape.size() != 1)
    throw data_error(fmt::format("{}: has shape {}; labels are a vector, one for each sample",
                                 where, shape_text(array.shape)));
  check_extent(array, where);
  std::vector<std::int64_t> labels(array.shape.front());
  with_number_type(array.type, [&]<class T>(Tag<T>) {
    const std::size_t item = number_size(array.type);
    for (std::size_t row = 0; row < labels.size(); ++row)
      labels[row] =
          whole_number(load_number<T>(array.data.data() + row * item, array.order), where, row);
  });
  return labels;
}

RowLabels labels_by_name(const std::vector<std::string>& of_rows) {
  const std::set<std::string> distinct(of_rows.begin(), of_rows.end());
  RowLabels labels{.values = {}, .names = {distinct.begin(), distinct.end()}};
  for (const std::string& name : of_rows)
    labels.values.push_back(std::ranges::lower_bound(labels.names, name) - labels.names.begin());
  return labels;
}

}  // namespace deepvoro
