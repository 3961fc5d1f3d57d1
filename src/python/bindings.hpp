#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "core/matrix.hpp"

// The parts of the module _core. Whatever may take long or may run in parallel is called with the
// GIL released; a loop of another thread may have to wait for it.
namespace deepvoro::python {

namespace py = pybind11;

void bind_store(py::module_& module);
void bind_episodes(py::module_& module);
void bind_study(py::module_& module);
void bind_fitted(py::module_& module);
void bind_classifier(py::module_& module);

// Rows of features as they lie in the array, which must stay alive. The array is float32 with
// elements of a row side by side; rows may be apart.
[[nodiscard]] MatrixView<const float> rows_of(const py::array_t<float>& array);

[[nodiscard]] inline std::span<const std::size_t> labels_of(const py::array_t<std::size_t>& array) {
  return {array.data(), static_cast<std::size_t>(array.size())};
}

// An array that owns the values, which are not copied.
template <class T>
[[nodiscard]] py::array_t<T> array_of(std::vector<T> values, std::vector<py::ssize_t> shape) {
  auto* owned = new std::vector<T>(std::move(values));
  const py::capsule owner(owned, [](void* memory) { delete static_cast<std::vector<T>*>(memory); });
  return py::array_t<T>(std::move(shape), owned->data(), owner);
}

// For the progress of long work: raises KeyboardInterrupt when Ctrl-C was pressed.
void stop_if_interrupted();

}  // namespace deepvoro::python
