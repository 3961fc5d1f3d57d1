#pragma once

#include <bit>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "number_array.hpp"

// The few kinds of Python object that a pickled feature file is made of. Containers may share and
// even contain each other: follow pointers to a fixed depth only.
namespace deepvoro::pickle {

struct None {};
struct Text {
  std::string_view utf8;
};
struct Bytes {
  std::string_view bytes;
};

// The functions and types a file may name; each stands for itself until it is called.
enum class Callable { reconstruct, frombuffer, scalar, ndarray, dtype, encode, defaultdict, list };

struct List;
struct Tuple;
struct Dict;
struct Dtype;
struct Array;

using Value = std::variant<None, bool, std::int64_t, double, Text, Bytes, Callable, List*, Tuple*,
                           Dict*, Dtype*, Array*>;

struct List {
  std::vector<Value> items;
};
struct Tuple {
  std::vector<Value> items;
};
struct Dict {
  std::vector<std::pair<Value, Value>> items;
};
struct Dtype {
  std::string_view name;  // "f4", or of a type that holds no numbers
  std::endian order = std::endian::little;
};
struct Array {
  const Dtype* dtype = nullptr;  // none until its state is known
  std::vector<std::uint64_t> shape;
  bool fortran_order = false;
  std::string_view data;
};

// Owns every object of one pickle. Text and bytes lie in the file itself, except those that had to
// be decoded.
struct Objects {
  std::deque<List> lists;
  std::deque<Tuple> tuples;
  std::deque<Dict> dicts;
  std::deque<Dtype> dtypes;
  std::deque<Array> arrays;
  std::deque<std::string> decoded;
};

}  // namespace deepvoro::pickle
