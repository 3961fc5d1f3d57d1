#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/matrix.hpp"
#include "deepvoro/classifier/classifier.hpp"

// Files and feature stores for tests, written without the library's own writers.
namespace deepvoro::test {

// A folder of its own for one test, removed with everything in it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path operator/(std::string_view name) const {
    return path_ / name;
  }
  [[nodiscard]] std::vector<std::string> file_names() const;

 private:
  std::filesystem::path path_;
};

void write_file(const std::filesystem::path& file, std::string_view contents);
[[nodiscard]] std::string read_file(const std::filesystem::path& file);
// What save() writes.
[[nodiscard]] std::string saved_bytes(const Classifier& classifier);

// The bytes of a .npy file of version 1 with the given dictionary as header.
[[nodiscard]] std::string npy_bytes(std::string_view dictionary, std::string_view data,
                                    int version = 1);
[[nodiscard]] std::string npy_dictionary(std::string_view descr, std::span<const std::size_t> shape,
                                         bool fortran_order = false);

template <class T>
[[nodiscard]] std::string_view bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

using Rows = std::vector<std::vector<float>>;

void write_view(const std::filesystem::path& file, const Rows& rows);
void write_labels(const std::filesystem::path& file, const std::vector<std::int64_t>& labels);

struct SplitData {
  std::vector<std::int64_t> labels;
  std::vector<std::string> classes;
  std::map<std::string, Rows> views;
};
using StoreData = std::map<std::string, SplitData>;

void write_store(const std::filesystem::path& folder, const StoreData& splits);

// Non-negative rows around one center a class; classes interleaved, so that the order of first
// appearance is not that of their indices.
struct RandomSplit {
  std::size_t classes = 6;
  std::size_t samples_per_class = 12;
  std::size_t dim = 5;
  std::vector<std::string> views{"s84_r0_f0", "s84_r0_f1"};
  double noise = 1.0;
  std::uint32_t seed = 1;
};
[[nodiscard]] SplitData random_split(const RandomSplit& recipe);
// base, val and novel, so noisy that members differ.
[[nodiscard]] StoreData noisy_splits();

// Random rows that are no features, just points.
[[nodiscard]] Matrix<double> random_points(std::size_t count, std::size_t dim, std::uint32_t seed);

}  // namespace deepvoro::test
