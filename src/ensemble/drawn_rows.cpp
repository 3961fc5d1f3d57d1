#include "ensemble/drawn_rows.hpp"

#include "features/transformed_rows.hpp"

namespace deepvoro {
namespace {

RowSet rows_of(const EpisodeList& episodes, std::size_t rows_of_split) {
  return {rows_of_split, {episodes.rows(), rows_for_center(rows_of_split)}};
}

}  // namespace

DrawnRows::DrawnRows(const EpisodeSetting& setting, EpisodeRange range)
    : setting_(setting),
      episodes_(setting.episodes.part(range.begin, range.end)),
      rows_(rows_of(episodes_, setting.store.split(setting.split).samples)) {
  episodes_ = episodes_.replaced([&](SampleIndex row) { return rows_.place(row); });
}

std::vector<std::size_t> DrawnRows::labels() const {
  const std::vector<std::size_t> of_split = setting_.store.labels(setting_.split);
  std::vector<std::size_t> labels;
  labels.reserve(rows_.size());
  for (const SampleIndex row : rows_.rows()) labels.push_back(of_split[row]);
  return labels;
}

}  // namespace deepvoro
