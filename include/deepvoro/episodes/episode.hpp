#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "deepvoro/core/export.hpp"

namespace deepvoro {

// K-way N-shot: `ways` classes, of each `shots` labelled samples and `queries` to be classified.
struct EpisodeShape {
  std::size_t ways = 5;
  std::size_t shots = 1;
  std::size_t queries = 15;

  bool operator==(const EpisodeShape&) const = default;
  [[nodiscard]] std::size_t total_support() const { return ways * shots; }
  [[nodiscard]] std::size_t total_queries() const { return ways * queries; }
};

using SampleIndex = std::uint32_t;

// Row indices of one episode, class by class, in the order drawn. Never features.
struct Episode {
  std::span<const SampleIndex> support;  // [ways * shots]
  std::span<const SampleIndex> query;    // [ways * queries]
};

// Episodes drawn once and shared by every method.
class DEEPVORO_API EpisodeList {
 public:
  explicit EpisodeList(const EpisodeShape& shape) : shape_(shape) {}

  [[nodiscard]] const EpisodeShape& shape() const { return shape_; }
  [[nodiscard]] std::size_t size() const {
    return rows_.size() / (shape_.total_support() + shape_.total_queries());
  }
  [[nodiscard]] Episode operator[](std::size_t index) const;
  // How many episodes were drawn before this one, also those that a part does without.
  [[nodiscard]] std::size_t number(std::size_t index) const { return first_ + index; }
  [[nodiscard]] EpisodeList part(std::size_t begin, std::size_t end) const;
  // All rows of all episodes.
  [[nodiscard]] std::span<const SampleIndex> rows() const { return rows_; }
  // The same episodes with every row replaced by what `other` gives for it.
  [[nodiscard]] EpisodeList replaced(const std::function<SampleIndex(SampleIndex)>& other) const;

  // Makes room for so many, which only saves time.
  void reserve(std::size_t episodes);
  // Appends one way of the episode under construction: its support rows, then its query rows.
  // An episode is complete after `ways` of them.
  void append_way(std::span<const SampleIndex> support_then_query);

 private:
  EpisodeShape shape_;
  // Episode by episode: all support rows, then all query rows.
  std::vector<SampleIndex> rows_;
  std::vector<SampleIndex> pending_support_;
  std::vector<SampleIndex> pending_query_;
  std::size_t first_ = 0;  // of these among all that were drawn
};

enum class Protocol {
  deepvoro,  // a fresh permutation for each class of each episode
  dc,        // classes cut to the smallest; one index array, permuted again for each class
};

[[nodiscard]] DEEPVORO_API Protocol protocol_named(const std::string& name);
[[nodiscard]] DEEPVORO_API const char* name(Protocol protocol);

// Which episodes are drawn.
struct EpisodePlan {
  EpisodeShape shape;
  Protocol protocol = Protocol::deepvoro;
  std::size_t count = 2000;
  std::uint32_t seed = 0;

  bool operator==(const EpisodePlan&) const = default;
};

// The samples episodes are drawn from. `where` names them in errors.
struct SamplePool {
  std::span<const std::size_t> labels;
  std::span<const std::string> class_names;
  std::string where;
};

// Draws episodes with NumPy's legacy stream. Every class must have shots + queries samples, even
// one that no episode happens to use, so that a longer run cannot fail where a shorter one worked.
[[nodiscard]] DEEPVORO_API EpisodeList draw_episodes(const SamplePool& samples,
                                                     const EpisodeShape& shape, Protocol protocol,
                                                     std::size_t count, std::uint32_t seed);

}  // namespace deepvoro
