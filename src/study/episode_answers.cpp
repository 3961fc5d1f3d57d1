#include "study/episode_answers.hpp"

#include <algorithm>

namespace deepvoro {

std::vector<std::byte> EpisodeAnswers::bytes(std::size_t begin, std::size_t end) const {
  const std::size_t queries = answers.size() / accuracy.size();
  const auto of_accuracy = std::as_bytes(std::span(accuracy).subspan(begin, end - begin));
  const auto of_answers =
      std::as_bytes(std::span(answers).subspan(begin * queries, (end - begin) * queries));
  std::vector<std::byte> all(of_accuracy.begin(), of_accuracy.end());
  all.insert(all.end(), of_answers.begin(), of_answers.end());
  return all;
}

bool read_episode_answers(std::span<const std::byte> bytes, std::size_t episodes,
                          const EpisodeShape& shape, EpisodeAnswers& out) {
  out.accuracy.resize(episodes);
  out.answers.resize(episodes * shape.total_queries());
  const auto accuracy = std::as_writable_bytes(std::span(out.accuracy));
  const auto answers = std::as_writable_bytes(std::span(out.answers));
  if (bytes.size() != accuracy.size() + answers.size()) return false;
  std::ranges::copy(bytes.first(accuracy.size()), accuracy.begin());
  std::ranges::copy(bytes.subspan(accuracy.size()), answers.begin());
  return std::ranges::all_of(out.accuracy,
                             [](double percent) { return percent >= 0 && percent <= 100; }) &&
         std::ranges::all_of(out.answers, [&](std::uint32_t way) { return way < shape.ways; });
}

}  // namespace deepvoro
