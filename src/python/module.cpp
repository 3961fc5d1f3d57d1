#include <algorithm>
#include <string>

#include "bindings.hpp"
#include "core/trusted_files.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/core/parallel.hpp"
#include "deepvoro/core/version.hpp"

namespace deepvoro::python {
namespace {

PyObject* error_type = nullptr;  // deepvoro.Error, which lives as long as the interpreter

// One line, whatever file or class names it quotes, as the program prints it.
py::object text_of(std::string message) {
  std::ranges::replace_if(
      message, [](unsigned char c) { return c < ' ' || c == 0x7F; }, ' ');
  return py::reinterpret_steal<py::object>(
      PyUnicode_DecodeUTF8(message.data(), static_cast<py::ssize_t>(message.size()), "replace"));
}

py::object name_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::missing_file:
      return py::str("missing_file");
    case ErrorCode::damaged_file:
      return py::str("damaged_file");
    case ErrorCode::bad_picture:
      return py::str("bad_picture");
    case ErrorCode::missing_network:
      return py::str("missing_network");
    case ErrorCode::missing_class:
      return py::str("missing_class");
    case ErrorCode::negative_features:
      return py::str("negative_features");
    case ErrorCode::none:
      break;
  }
  return py::none();
}

void translate(std::exception_ptr failure) {
  try {
    std::rethrow_exception(std::move(failure));
  } catch (const Error& error) {
    const py::object text = text_of(error.what());
    if (error.kind() == ErrorKind::internal) {
      PyErr_SetObject(PyExc_RuntimeError, text.ptr());
      return;
    }
    const py::object raised = py::reinterpret_borrow<py::object>(error_type)(text);
    raised.attr("code") = name_of(error.code());
    PyErr_SetObject(error_type, raised.ptr());
  }
}

}  // namespace

MatrixView<const float> rows_of(const py::array_t<float>& array) {
  constexpr auto item = static_cast<py::ssize_t>(sizeof(float));
  if (array.ndim() != 2 || array.shape(1) < 1)
    throw usage_error("rows must be an array [samples, features]");
  const bool side_by_side = array.shape(1) == 1 || array.strides(1) == item;
  const bool apart = array.shape(0) < 2 ||
                     (array.strides(0) % item == 0 && array.strides(0) >= array.shape(1) * item);
  if (!side_by_side || !apart)
    throw usage_error("rows must lie in memory one after the other; see numpy.ascontiguousarray");
  return {array.data(), static_cast<std::size_t>(array.shape(0)),
          static_cast<std::size_t>(array.shape(1)),
          static_cast<std::size_t>(std::max(array.strides(0) / item, array.shape(1)))};
}

void stop_if_interrupted() {
  const py::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

PYBIND11_MODULE(_core, module) {
  module.doc() = "The library behind the package deepvoro.";
  module.attr("__version__") = std::string(version());
  module.attr("commit") = std::string(commit());
  py::class_<TrustInAllFiles>(module, "TrustInAllFiles",
                              "While one of these lives, files that unpack to far more than they "
                              "hold are read, too.")
      .def(py::init<>());
  module.def("available_threads", &available_threads,
             "How many threads this process may use at the same time.");
  error_type = PyErr_NewExceptionWithDoc("deepvoro.Error",
                                         "What is wrong with arguments or data, in one line: what, "
                                         "where, and what to do. Options are\n"
                                         "named in backquotes. `code` is None, or what can be "
                                         "decided by: missing_file, damaged_file,\n"
                                         "negative_features.",
                                         PyExc_ValueError, nullptr);
  module.attr("Error") = py::reinterpret_borrow<py::object>(error_type);
  py::register_exception_translator(&translate);
  bind_store(module);
  bind_episodes(module);
  bind_study(module);
  bind_fitted(module);
  bind_classifier(module);
}

}  // namespace deepvoro::python
