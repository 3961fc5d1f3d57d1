#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>

#include "deepvoro/core/matrix_view.hpp"

namespace deepvoro {

// Zeroed memory aligned to a cache line; large blocks ask for large pages, because rows are picked
// from them at random. nullptr for no bytes.
[[nodiscard]] void* allocate_zeroed(std::size_t bytes);
// Gives back what allocate_zeroed() gave for so many bytes.
void release_zeroed(void* memory, std::size_t bytes);

// Owning matrix of zeros with padded rows, aligned to a cache line.
template <class T>
class Matrix {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Matrix() = default;
  Matrix(std::size_t rows, std::size_t cols)
      : rows_(rows), cols_(cols), data_(allocate(rows * padded(cols) * sizeof(T))) {}

  // Zeros of another shape; a matrix that has this one stays as it is.
  void reshape(std::size_t rows, std::size_t cols) {
    if (rows != rows_ || cols != cols_) *this = Matrix(rows, cols);
  }

  [[nodiscard]] MatrixView<T> view() { return {data_.get(), rows_, cols_, padded(cols_)}; }
  [[nodiscard]] MatrixView<const T> view() const {
    return {data_.get(), rows_, cols_, padded(cols_)};
  }
  [[nodiscard]] T* row(std::size_t r) { return data_.get() + r * padded(cols_); }
  [[nodiscard]] const T* row(std::size_t r) const { return data_.get() + r * padded(cols_); }
  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t cols() const { return cols_; }
  [[nodiscard]] std::size_t stride() const { return padded(cols_); }

 private:
  struct Release {
    std::size_t bytes = 0;
    void operator()(T* memory) const { release_zeroed(memory, bytes); }
  };
  using Memory = std::unique_ptr<T[], Release>;

  static Memory allocate(std::size_t bytes) {
    return Memory(static_cast<T*>(allocate_zeroed(bytes)), Release{bytes});
  }

  std::size_t rows_ = 0;
  std::size_t cols_ = 0;
  Memory data_;
};

}  // namespace deepvoro
