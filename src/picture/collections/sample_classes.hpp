#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace deepvoro {

// Classes of the samples of tar shards, in which files of one sample have the same key: what their
// paths have before the first '.' of the name. The class is in KEY.cls, a text or number, or in
// KEY.json, as "class", "label" or "cls".
class SampleClasses {
 public:
  // Whether a file may say a class, and so is worth reading.
  [[nodiscard]] static bool may_tell(const std::string& path);
  // The largest such file that is read.
  static constexpr std::size_t kLargest = std::size_t{1} << 20U;

  // `where` names the archive. Two classes for one sample are a data error.
  void add(const std::string& path, std::span<const std::byte> content, const std::string& where);
  [[nodiscard]] std::optional<std::string> of(const std::string& picture) const;

 private:
  struct Told {
    std::string name;
    std::size_t archive;
  };
  std::map<std::string, Told> classes_;  // by key
  std::vector<std::string> archives_;    // in the order in which they told something
};

}  // namespace deepvoro
