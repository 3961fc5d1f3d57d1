#pragma once

#include <string>

#include "deepvoro/core/error.hpp"

namespace deepvoro {

// A shared library that is loaded when it is first needed, and stays. Some bring dozens of others
// along, and each start of the program would wait for all of them.
class LoadedLibrary {
 public:
  // `name`: what the loader knows it by, such as "libm.so.6". `what`: those that need it, for the
  // error where it is missing. This and all errors of what it lacks have the code `code`.
  LoadedLibrary(const char* name, const std::string& what, ErrorCode code);

  template <class Function>
  [[nodiscard]] Function* function(const char* function_name) const {
    return reinterpret_cast<Function*>(address(function_name));
  }
  template <class Value>
  [[nodiscard]] Value& variable(const char* variable_name) const {
    return *static_cast<Value*>(address(variable_name));
  }

 private:
  [[nodiscard]] void* address(const char* symbol) const;

  const char* name_;
  ErrorCode code_;
  void* handle_;
};

}  // namespace deepvoro

// Declare a member of a class derived from LoadedLibrary: the function or the variable of this
// name, or of the one that a macro of a header gives it.
// NOLINTBEGIN(bugprone-macro-parentheses): the name of a member cannot stand in parentheses.
#define DEEPVORO_LOADED_FUNCTION(name) DEEPVORO_LOADED_FUNCTION_NAMED(name)
#define DEEPVORO_LOADED_FUNCTION_NAMED(name) \
  decltype(::name)* name = function<decltype(::name)>(#name)
#define DEEPVORO_LOADED_VARIABLE(name) decltype(::name)& name = variable<decltype(::name)>(#name)
// NOLINTEND(bugprone-macro-parentheses)
