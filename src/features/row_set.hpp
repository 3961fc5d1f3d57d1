#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

namespace deepvoro {

// Some rows of a split, in ascending order, numbered by their place among these rows.
class RowSet {
 public:
  // Of a split of `all` rows those that are listed, in any order and as often as they like.
  RowSet(std::size_t all, std::initializer_list<std::span<const std::uint32_t>> lists);

  [[nodiscard]] std::size_t size() const { return rows_.size(); }
  [[nodiscard]] std::size_t all() const { return all_; }
  [[nodiscard]] std::span<const std::uint32_t> rows() const { return rows_; }
  // Of a row that is one of these.
  [[nodiscard]] std::uint32_t place(std::size_t row) const {
    const Word& word = words_[row / kBits];
    const std::uint64_t before = (std::uint64_t{1} << (row % kBits)) - 1;
    return word.place + static_cast<std::uint32_t>(std::popcount(word.bits & before));
  }

 private:
  static constexpr std::size_t kBits = 64;
  struct Word {
    std::uint64_t bits = 0;   // which of 64 rows are listed
    std::uint32_t place = 0;  // how many are listed before these
  };

  std::size_t all_;
  std::vector<Word> words_;
  std::vector<std::uint32_t> rows_;
};

}  // namespace deepvoro
