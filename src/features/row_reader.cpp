#include "features/row_reader.hpp"

#include <algorithm>

#include "core/matrix.hpp"
#include "features/transformed_rows.hpp"

namespace deepvoro {

RowReader::RowReader(const FeatureStore& store, const std::string& split, const std::string& view)
    : is_mean_(is_mean_view(view)) {
  if (!is_mean_) {
    views_.push_back(store.features(split, view));
    return;
  }
  for (const std::string& one : store.views_of(network_of(view)))
    views_.push_back(store.features(split, one));
  wide_.resize(padded(dim()));
  sum_.resize(dim());
  mean_.resize(dim());
}

ElementType RowReader::element() const {
  return is_mean_ ? ElementType::float32 : views_.front().element();
}

const std::byte* RowReader::row(std::size_t index) {
  if (!is_mean_) return views_.front().row(index);
  std::ranges::fill(sum_, 0.0);
  for (const FeatureRows& view : views_)
    add_unit_row(view.element(), view.row(index), dim(), wide_.data(), sum_.data());
  std::ranges::transform(sum_, mean_.begin(),
                         [](double value) { return static_cast<float>(value); });
  return reinterpret_cast<const std::byte*>(mean_.data());
}

}  // namespace deepvoro
