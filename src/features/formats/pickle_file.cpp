#include "pickle_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "core/files.hpp"
#include "deepvoro/core/error.hpp"
#include "pickle_reader.hpp"

namespace deepvoro {
namespace {

using pickle::Value;

NumberArray number_array(const pickle::Array& array, const std::string& where) {
  if (array.dtype == nullptr) throw data_error(fmt::format("{}: has an array without data", where));
  std::string_view name = array.dtype->name;
  if (!name.empty() && (name.front() == '<' || name.front() == '|')) name.remove_prefix(1);
  const auto type = numpy_number_type(name);
  if (!type)
    throw data_error(fmt::format("{}: has an array that does not hold plain numbers", where));
  return {.type = *type,
          .order = array.dtype->order,
          .fortran_order = array.fortran_order,
          .shape = array.shape,
          .data = std::as_bytes(std::span(array.data))};
}

std::int64_t class_label(const Value& key, const std::string& where) {
  if (const auto* number = std::get_if<std::int64_t>(&key)) return *number;
  if (pickle::Array* const* scalar = std::get_if<pickle::Array*>(&key);
      scalar != nullptr && (*scalar)->shape.empty()) {
    NumberArray array = number_array(**scalar, where);
    array.shape = {1};
    return label_values(array, where).front();
  }
  throw data_error(fmt::format("{}: has a class that is not a whole number", where));
}

const std::vector<Value>* sequence(const Value& value) {
  if (pickle::List* const* list = std::get_if<pickle::List*>(&value)) return &(*list)->items;
  if (pickle::Tuple* const* tuple = std::get_if<pickle::Tuple*>(&value)) return &(*tuple)->items;
  return nullptr;
}

// Appends what the classes hold to a table. An array may be named many times in a pickle, so the
// values taken are counted: a file cannot hold more of them than it has bytes.
class TableBuilder {
 public:
  TableBuilder(std::string where, std::size_t file_bytes)
      : where_(std::move(where)), values_left_(file_bytes) {}

  void add_class(std::int64_t label, const Value& rows) {
    const std::string where = fmt::format("{}: class {}", where_, label);
    const std::size_t before = table_.rows;
    if (pickle::Array* const* matrix = std::get_if<pickle::Array*>(&rows);
        matrix != nullptr && (*matrix)->shape.size() == 2) {
      if ((*matrix)->shape.front() != 0) add_array(**matrix, where, 0);
    } else if (const std::vector<Value>* list = sequence(rows)) {
      for (std::size_t row = 0; row < list->size(); ++row) add_vector((*list)[row], where, row);
    } else {
      throw data_error(fmt::format("{}: is neither a list of vectors nor a matrix", where));
    }
    labels_.insert(labels_.end(), table_.rows - before, label);
  }

  FeatureTable finish() {
    table_.labels = RowLabels{std::move(labels_)};
    return std::move(table_);
  }

 private:
  void charge(std::uint64_t values, const std::string& where) {
    if (values > values_left_)
      throw data_error(fmt::format("{}: asks for more values than the file holds; refused", where));
    values_left_ -= values;
  }

  void add_array(const pickle::Array& array, const std::string& where, std::size_t row) {
    charge(array_bytes(array.shape, 1).value_or(UINT64_MAX), where);
    append_rows(number_array(array, where), where, row, table_);
  }

  void add_vector(const Value& vector, const std::string& where, std::size_t row) {
    if (pickle::Array* const* array = std::get_if<pickle::Array*>(&vector);
        array != nullptr && (*array)->shape.size() == 1)
      return add_array(**array, where, row);
    const std::vector<Value>* numbers = sequence(vector);
    if (numbers == nullptr)
      throw data_error(fmt::format("{}: row {} is not a vector of numbers", where, row));
    charge(numbers->size(), where);
    std::vector<double> values;
    for (const Value& number : *numbers) values.push_back(plain_number(number, where, row));
    append_rows({.type = NumberType::float64,
                 .order = std::endian::native,
                 .shape = {values.size()},
                 .data = std::as_bytes(std::span(values))},
                where, row, table_);
  }

  static double plain_number(const Value& value, const std::string& where, std::size_t row) {
    if (const auto* number = std::get_if<double>(&value)) return *number;
    if (const auto* number = std::get_if<std::int64_t>(&value)) return static_cast<double>(*number);
    if (pickle::Array* const* scalar = std::get_if<pickle::Array*>(&value);
        scalar != nullptr && (*scalar)->shape.empty()) {
      NumberArray array = number_array(**scalar, where);
      array.shape = {1};
      FeatureTable one;
      append_rows(array, where, row, one);
      return static_cast<double>(one.values.front());
    }
    throw data_error(fmt::format("{}: row {} is not a vector of numbers", where, row));
  }

  std::string where_;
  std::uint64_t values_left_;
  FeatureTable table_;
  std::vector<std::int64_t> labels_;
};

}  // namespace

FeatureTable read_pickle_table(const std::filesystem::path& file) {
  const std::string where = file.string();
  const MappedFile mapped(file);
  const pickle::Document document = pickle::read_pickle(mapped.bytes(), where);
  pickle::Dict* const* dict = std::get_if<pickle::Dict*>(&document.root);
  if (dict == nullptr)
    throw data_error(fmt::format(
        "{}: is not a dict of class to list of vectors; save one with pickle.dump", where));
  std::vector<std::pair<std::int64_t, const Value*>> classes;
  for (const auto& [key, rows] : (*dict)->items)
    classes.emplace_back(class_label(key, where), &rows);
  std::ranges::sort(classes, {}, [](const auto& entry) { return entry.first; });

  TableBuilder builder(where, mapped.bytes().size());
  for (std::size_t i = 0; i < classes.size(); ++i) {
    if (i > 0 && classes[i].first == classes[i - 1].first)
      throw data_error(fmt::format("{}: class {} appears twice", where, classes[i].first));
    builder.add_class(classes[i].first, *classes[i].second);
  }
  return builder.finish();
}

}  // namespace deepvoro
