#pragma once

#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "pickle_value.hpp"

namespace deepvoro::pickle {

// Why a pickle is not read; whoever knows the file and the place adds them.
class Refusal : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What a name in a pickle stands for, or nothing when a feature file has no need of it.
[[nodiscard]] std::optional<Callable> find_callable(std::string_view module, std::string_view name);

// The meaning of the calls that NumPy's and collections' objects are pickled as. Nothing is ever
// executed: a call makes one of our own objects, or throws a Refusal.
class Calls {
 public:
  // `budget`: bytes that may be decoded in all, so that a small file cannot ask for much memory.
  Calls(Objects& objects, std::size_t budget) : objects_(objects), budget_(budget) {}

  [[nodiscard]] Value reduce(const Value& callable, const Value& arguments);
  void build(const Value& object, const Value& state);
  // Text as protocol 0 writes it: Latin-1 with \uXXXX for the rest.
  [[nodiscard]] Text unescape(std::string_view raw);

 private:
  [[nodiscard]] std::string& new_buffer(std::size_t largest);
  [[nodiscard]] Value encode_latin1(const Tuple& arguments);
  [[nodiscard]] Value make_dtype(const Tuple& arguments);
  [[nodiscard]] Value make_array(const Tuple& arguments);
  [[nodiscard]] Value make_scalar(const Tuple& arguments);

  Objects& objects_;
  std::size_t budget_;
};

}  // namespace deepvoro::pickle
