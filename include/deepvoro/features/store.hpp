#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "deepvoro/core/export.hpp"

namespace deepvoro {

enum class ElementType { float16, float32 };

[[nodiscard]] constexpr std::size_t element_size(ElementType type) {
  return type == ElementType::float16 ? 2 : 4;
}

// The view that no store has and every store can show for each of its networks: the sum over the
// views of the network of rows of unit length.
inline constexpr std::string_view kMeanView = "mean";

// Views of a store of several networks are named NETWORK/VIEW. The network of a view is empty where
// there is but one.
[[nodiscard]] DEEPVORO_API std::string_view network_of(std::string_view view);
[[nodiscard]] DEEPVORO_API std::string view_of(std::string_view network, std::string_view view);
[[nodiscard]] DEEPVORO_API bool is_mean_view(std::string_view view);

// The features of one split in one view, as they lie in the file, or in several one after the
// other: mapped, never copied whole. Those of the mean view are in memory. Copies share both.
class DEEPVORO_API FeatureRows {
 public:
  FeatureRows(std::vector<float> values, std::size_t samples, std::size_t dim);
  // Maps `file` and checks that it is a C-ordered float16 or float32 array [samples, dim].
  FeatureRows(const std::filesystem::path& file, std::size_t samples, std::size_t dim);
  // The rows of all parts. They must have the same dimension and type of elements.
  explicit FeatureRows(std::vector<FeatureRows> parts);

  [[nodiscard]] ElementType element() const { return element_; }
  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t dim() const { return dim_; }
  // Whether rows follow each other in memory.
  [[nodiscard]] bool is_contiguous() const { return parts_.empty(); }
  [[nodiscard]] const std::byte* row(std::size_t r) const {
    return is_contiguous() ? data_ + r * dim_ * element_size(element_) : row_of_parts(r);
  }
  // A row as float32, which holds either type exactly. out: [dim]
  void copy_row(std::size_t r, std::span<float> out) const;

 private:
  [[nodiscard]] const std::byte* row_of_parts(std::size_t r) const;

  std::vector<FeatureRows> parts_;      // none where there is one
  std::vector<std::size_t> ends_;       // of each part, the row after its last
  std::shared_ptr<const void> memory_;  // which holds the rows
  ElementType element_ = ElementType::float32;
  std::size_t rows_;
  std::size_t dim_;
  const std::byte* data_ = nullptr;
};

// A feature store on disk. Opening reads and checks store.json alone; labels and views are checked
// when they are asked for. Immutable, so safe to share between threads.
class DEEPVORO_API FeatureStore {
 public:
  struct Split {
    std::size_t samples = 0;
    std::vector<std::string> classes;
  };
  // Another store whose views this one uses, and how many rows of them it takes of each split.
  struct Part {
    std::filesystem::path store;
    std::map<std::string, std::size_t> rows;
  };

  explicit FeatureStore(std::filesystem::path folder);

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  // The networks, by the order of their first views; a single nameless one where views name none.
  [[nodiscard]] const std::vector<std::string>& networks() const { return networks_; }
  // Of a view or of the mean of a network; throws a data error that names the views there are.
  [[nodiscard]] std::size_t dim(std::string_view view) const;
  [[nodiscard]] const std::vector<std::string>& views() const { return views_; }
  // Those of one network.
  [[nodiscard]] std::vector<std::string> views_of(std::string_view network) const;
  [[nodiscard]] const std::map<std::string, Split>& splits() const { return splits_; }
  // Where the rows of views are, one after the other; none where they are in this store.
  [[nodiscard]] const std::vector<Part>& parts() const { return parts_; }
  [[nodiscard]] const std::string& provenance_json() const { return provenance_json_; }

  [[nodiscard]] bool has_split(const std::string& name) const { return splits_.contains(name); }
  // Also of the mean view of a network.
  [[nodiscard]] bool has_view(std::string_view name) const;
  [[nodiscard]] const Split& split(const std::string& name) const;
  // The split that is meant where none is named: the only one, or novel.
  [[nodiscard]] std::string usual_split() const;
  // SHA-256 of the model that made the features; empty where the store does not say.
  [[nodiscard]] std::string model_sha256() const;
  // Whether the store, or one that it was joined from, says that pictures were decoded at a
  // fraction of their size (Extraction::fast_decode).
  [[nodiscard]] bool fast_decode() const;

  // Class index of each sample of a split.
  [[nodiscard]] std::vector<std::size_t> labels(const std::string& split) const;
  // The samples of each class of a split, in ascending order.
  [[nodiscard]] std::vector<std::vector<std::size_t>> rows_by_class(const std::string& split) const;
  [[nodiscard]] FeatureRows features(const std::string& split, const std::string& view) const;

  [[nodiscard]] std::filesystem::path labels_file(const std::string& split) const;
  // More than one where the store has parts.
  [[nodiscard]] std::vector<std::filesystem::path> view_files(const std::string& split,
                                                              const std::string& view) const;
  // The same, for a message.
  [[nodiscard]] std::string view_place(const std::string& split, const std::string& view) const;

  // Throws a usage error when a file to be written lies inside the store, where it could take the
  // place of one of its own. `flag` names it.
  void refuse_output_inside(const std::string& flag, const std::filesystem::path& file) const;

  // SHA-256 of what `sha256sum store.json */*.npy */*/*.npy` prints for the files of this store,
  // the lines sorted by path: one name for all that an evaluation can depend on. Files of parts
  // have the paths that store.json gives them.
  [[nodiscard]] std::string sha256(unsigned threads = 1) const;

 private:
  void check_parts_are_there() const;
  [[nodiscard]] std::string name_in_store(const std::filesystem::path& file) const;
  [[nodiscard]] FeatureRows mean_features(const std::string& split, const std::string& view) const;

  std::filesystem::path folder_;
  std::vector<std::string> networks_;
  std::vector<std::size_t> dims_;  // of the networks
  std::vector<std::string> views_;
  std::map<std::string, Split> splits_;
  std::vector<Part> parts_;
  std::string provenance_json_;
};

// Views and splits become file names: letters, digits, '_', '-' and '.', not beginning with '.',
// and not "labels". Nor is "mean" the name of a view in a store.
[[nodiscard]] DEEPVORO_API bool is_view_name(std::string_view name);
[[nodiscard]] DEEPVORO_API bool is_split_name(std::string_view name);

}  // namespace deepvoro
