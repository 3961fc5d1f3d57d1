#include "deepvoro/episodes/episode.hpp"

#include <algorithm>
#include <array>

#include "core/names.hpp"

namespace deepvoro {
namespace {

constexpr std::array kProtocolNames = {"deepvoro", "dc"};

}  // namespace

Episode EpisodeList::operator[](std::size_t index) const {
  const std::size_t support = shape_.total_support();
  const std::size_t query = shape_.total_queries();
  const SampleIndex* start = rows_.data() + index * (support + query);
  return {{start, support}, {start + support, query}};
}

EpisodeList EpisodeList::part(std::size_t begin, std::size_t end) const {
  const auto rows_of = [&](std::size_t episodes) {
    return rows_.begin() + static_cast<std::ptrdiff_t>(
                               episodes * (shape_.total_support() + shape_.total_queries()));
  };
  EpisodeList some(shape_);
  some.first_ = number(begin);
  some.rows_.assign(rows_of(begin), rows_of(end));
  return some;
}

EpisodeList EpisodeList::replaced(const std::function<SampleIndex(SampleIndex)>& other) const {
  EpisodeList all = *this;
  std::ranges::transform(all.rows_, all.rows_.begin(), other);
  return all;
}

void EpisodeList::reserve(std::size_t episodes) {
  rows_.reserve(episodes * (shape_.total_support() + shape_.total_queries()));
}

void EpisodeList::append_way(std::span<const SampleIndex> support_then_query) {
  const auto shots = static_cast<std::ptrdiff_t>(shape_.shots);
  const auto begin = support_then_query.begin();
  pending_support_.insert(pending_support_.end(), begin, begin + shots);
  pending_query_.insert(pending_query_.end(), begin + shots, support_then_query.end());
  if (pending_support_.size() < shape_.total_support()) return;
  rows_.insert(rows_.end(), pending_support_.begin(), pending_support_.end());
  rows_.insert(rows_.end(), pending_query_.begin(), pending_query_.end());
  pending_support_.clear();
  pending_query_.clear();
}

Protocol protocol_named(const std::string& name) {
  return value_named<Protocol>(name, kProtocolNames, "`protocol` {}: unknown; use deepvoro or dc");
}

const char* name(Protocol protocol) {
  return name_of(protocol, kProtocolNames);
}

}  // namespace deepvoro
