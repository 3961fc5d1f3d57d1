#include "test_store.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stdlib.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>

namespace deepvoro::test {

namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (fs::temp_directory_path() / "deepvoro-test-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::vector<std::string> TemporaryFolder::file_names() const {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(path_))
    names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

void write_file(const fs::path& file, std::string_view contents) {
  fs::create_directories(file.parent_path());
  std::ofstream stream(file, std::ios::binary);
  stream.write(contents.data(), static_cast<std::streamsize>(contents.size()));
  if (!stream.flush()) throw std::runtime_error("cannot write " + file.string());
}

std::string read_file(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::string saved_bytes(const Classifier& classifier) {
  const TemporaryFolder folder;
  classifier.save(folder / "saved.dv");
  return read_file(folder / "saved.dv");
}

std::string npy_bytes(std::string_view dictionary, std::string_view data, int version) {
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  const std::size_t prefix = 8 + length_bytes;
  std::string head(dictionary);
  head.append(63 - (prefix + head.size()) % 64, ' ').append("\n");
  std::string file("\x93NUMPY");
  file += static_cast<char>(version);
  file += '\0';
  for (std::size_t i = 0; i < length_bytes; ++i)
    file += static_cast<char>(head.size() >> (8 * i) & 0xFFU);
  return file.append(head).append(data);
}

std::string npy_dictionary(std::string_view descr, std::span<const std::size_t> shape,
                           bool fortran_order) {
  return fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': ({}{}), }}", descr,
                     fortran_order ? "True" : "False", fmt::join(shape, ", "),
                     shape.size() == 1 ? "," : "");
}

void write_view(const fs::path& file, const Rows& rows) {
  std::vector<float> values;
  for (const auto& row : rows) values.insert(values.end(), row.begin(), row.end());
  const std::vector<std::size_t> shape{rows.size(), rows.empty() ? 0 : rows.front().size()};
  write_file(file, npy_bytes(npy_dictionary("<f4", shape), bytes_of(values)));
}

void write_labels(const fs::path& file, const std::vector<std::int64_t>& labels) {
  const std::vector<std::size_t> shape{labels.size()};
  write_file(file, npy_bytes(npy_dictionary("<i8", shape), bytes_of(labels)));
}

void write_store(const fs::path& folder, const StoreData& splits) {
  const SplitData& any = splits.begin()->second;
  nlohmann::json document = {{"format", "deepvoro-store"},
                             {"version", 1},
                             {"dim", any.views.begin()->second.front().size()},
                             {"views", nlohmann::json::array()},
                             {"provenance", {{"made", "by a test"}}}};
  for (const auto& [view, unused] : any.views) document["views"].push_back(view);
  for (const auto& [split, data] : splits) {
    document["splits"][split] = {{"samples", data.labels.size()}, {"classes", data.classes}};
    write_labels(folder / split / "labels.npy", data.labels);
    for (const auto& [view, rows] : data.views) write_view(folder / split / (view + ".npy"), rows);
  }
  write_file(folder / "store.json", document.dump());
}

SplitData random_split(const RandomSplit& recipe) {
  std::mt19937 random(recipe.seed);
  std::normal_distribution<double> normal;
  SplitData data;
  for (std::size_t c = 0; c < recipe.classes; ++c) {
    data.classes.push_back(fmt::format("class-{}", c));
    data.labels.insert(data.labels.end(), recipe.samples_per_class, static_cast<std::int64_t>(c));
  }
  std::ranges::shuffle(data.labels, random);
  std::vector<std::vector<double>> centers(recipe.classes, std::vector<double>(recipe.dim));
  for (auto& center : centers)
    for (double& value : center) value = 3 + 1.5 * normal(random);
  for (const std::string& view : recipe.views)
    for (const std::int64_t label : data.labels) {
      std::vector<float> row;
      for (const double value : centers[static_cast<std::size_t>(label)])
        row.push_back(static_cast<float>(std::max(0.0, value + recipe.noise * normal(random))));
      data.views[view].push_back(std::move(row));
    }
  return data;
}

StoreData noisy_splits() {
  return {{"base", random_split({.noise = 2, .seed = 1})},
          {"val", random_split({.noise = 2, .seed = 2})},
          {"novel", random_split({.noise = 2, .seed = 3})}};
}

Matrix<double> random_points(std::size_t count, std::size_t dim, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  Matrix<double> points(count, dim);
  for (std::size_t r = 0; r < count; ++r)
    for (std::size_t i = 0; i < dim; ++i) points.row(r)[i] = normal(random);
  return points;
}

}  // namespace deepvoro::test
