#include "features/row_set.hpp"

namespace deepvoro {

RowSet::RowSet(std::size_t all, std::initializer_list<std::span<const std::uint32_t>> lists)
    : all_(all), words_((all + kBits - 1) / kBits) {
  for (const std::span<const std::uint32_t> list : lists)
    for (const std::uint32_t row : list)
      words_[row / kBits].bits |= std::uint64_t{1} << row % kBits;
  std::uint32_t listed = 0;
  for (Word& word : words_) {
    word.place = listed;
    listed += static_cast<std::uint32_t>(std::popcount(word.bits));
  }
  rows_.reserve(listed);
  for (std::size_t w = 0; w < words_.size(); ++w)
    for (std::uint64_t left = words_[w].bits; left != 0; left &= left - 1)
      rows_.push_back(
          static_cast<std::uint32_t>(w * kBits + static_cast<std::size_t>(std::countr_zero(left))));
}

}  // namespace deepvoro
