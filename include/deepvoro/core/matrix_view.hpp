#pragma once

#include <cstddef>
#include <span>
#include <type_traits>

namespace deepvoro {

// Memory layout, everywhere in this library: a matrix is row-major, one row a sample, row r
// beginning at data + r*stride (in elements, stride >= cols). Rows that kernels read are padded:
// the stride is a multiple of kRowPadding and the elements between cols and stride are zero, so
// that sums over a row need no special case for its end.
inline constexpr std::size_t kRowPadding = 16;

[[nodiscard]] constexpr std::size_t padded(std::size_t cols) {
  return (cols + kRowPadding - 1) / kRowPadding * kRowPadding;
}

// Non-owning view of a matrix. Copying it copies nothing; it must not outlive its memory.
template <class T>
class MatrixView {
 public:
  MatrixView() = default;
  MatrixView(T* data, std::size_t rows, std::size_t cols, std::size_t stride)
      : data_(data), rows_(rows), cols_(cols), stride_(stride) {}
  MatrixView(T* data, std::size_t rows, std::size_t cols) : MatrixView(data, rows, cols, cols) {}

  [[nodiscard]] T* data() const { return data_; }
  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t cols() const { return cols_; }
  [[nodiscard]] std::size_t stride() const { return stride_; }
  [[nodiscard]] T* row(std::size_t r) const { return data_ + r * stride_; }
  [[nodiscard]] std::span<T> operator[](std::size_t r) const { return {row(r), cols_}; }

  operator MatrixView<const T>() const  // NOLINT(google-explicit-constructor): as T* to const T*
      requires(!std::is_const_v<T>) {
    return {data_, rows_, cols_, stride_};
  }

 private:
  T* data_ = nullptr;
  std::size_t rows_ = 0;
  std::size_t cols_ = 0;
  std::size_t stride_ = 0;
};

}  // namespace deepvoro
