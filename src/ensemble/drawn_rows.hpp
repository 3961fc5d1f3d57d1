#pragma once

#include <cstddef>
#include <vector>

#include "deepvoro/episodes/episode.hpp"
#include "ensemble/engine.hpp"
#include "features/row_set.hpp"

namespace deepvoro {

// The rows of a split that are looked at to measure some of its episodes: those that are drawn and
// those that the center of a view is made of.
class DrawnRows {
 public:
  DrawnRows(const EpisodeSetting& setting, EpisodeRange range);

  [[nodiscard]] const RowSet& rows() const { return rows_; }
  // Those of the range, with places among these rows in the place of rows.
  [[nodiscard]] const EpisodeList& episodes() const { return episodes_; }
  [[nodiscard]] std::vector<std::size_t> labels() const;

 private:
  const EpisodeSetting& setting_;
  EpisodeList episodes_;
  RowSet rows_;
};

}  // namespace deepvoro
