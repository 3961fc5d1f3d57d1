#include "deepvoro/shard/share.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "deepvoro/core/error.hpp"
#include "shard/mpi_share.hpp"

namespace deepvoro {
namespace {

constexpr std::size_t kMostWorkers = 1'000'000;

std::optional<std::size_t> whole_number_in(std::string_view text) {
  std::size_t value = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (text.empty() || parsed.ptr != end || parsed.ec != std::errc() || value > kMostWorkers)
    return {};
  return value;
}

std::optional<std::size_t> number_in_environment(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? std::nullopt : whole_number_in(text);
}

// A gap would give a task that is sent again another share than it had.
std::optional<Share> share_of_slurm() {
  const auto id = number_in_environment("SLURM_ARRAY_TASK_ID");
  if (!id) return {};
  const auto first = number_in_environment("SLURM_ARRAY_TASK_MIN");
  const auto last = number_in_environment("SLURM_ARRAY_TASK_MAX");
  const auto count = number_in_environment("SLURM_ARRAY_TASK_COUNT");
  if (!first || !last || !count)
    throw usage_error(
        "`shard` auto: SLURM_ARRAY_TASK_ID is set, but SLURM_ARRAY_TASK_MIN, SLURM_ARRAY_TASK_MAX "
        "or SLURM_ARRAY_TASK_COUNT is missing; name the share, as in `shard` 0/8");
  if (*id < *first || *id > *last || *last - *first + 1 != *count)
    throw usage_error(
        fmt::format("`shard` auto: the {} tasks of this Slurm array, {} to {}, are not numbered "
                    "one after the other; name the share, `shard` I/N, with the same N in each",
                    *count, *first, *last));
  return Share{*id - *first, *count};
}

Share share_of_environment() {
  const std::optional<Share> task = share_of_slurm();
  const std::optional<Share> rank = share_of_mpi();
  if (!task && !rank)
    throw usage_error(
        "`shard` auto: this is neither a task of a Slurm array nor started by mpirun; name the "
        "share, as in `shard` 0/8");
  const Share outer = task.value_or(Share{});
  const Share inner = rank.value_or(Share{});
  return {outer.index * inner.count + inner.index, outer.count * inner.count};
}

}  // namespace

std::optional<Share> share_of_mpi() {
  constexpr std::array<std::array<const char*, 2>, 2> variables{
      {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, {"PMI_RANK", "PMI_SIZE"}}};
  for (const auto& [rank_variable, size_variable] : variables) {
    const auto rank = number_in_environment(rank_variable);
    const auto size = number_in_environment(size_variable);
    if (rank && size && *rank < *size) return Share{*rank, *size};
  }
  return {};
}

Share share_named(const std::string& text) {
  if (text == "auto") return share_of_environment();
  const std::size_t slash = text.find('/');
  if (slash != std::string::npos) {
    const auto index = whole_number_in(std::string_view(text).substr(0, slash));
    const auto count = whole_number_in(std::string_view(text).substr(slash + 1));
    if (index && count && *index < *count) return {*index, *count};
    if (index && count && *count > 1)
      throw usage_error(fmt::format("`shard` {}: is not a share; shares of {} are 0/{} to {}/{}",
                                    text, *count, *count, *count - 1, *count));
  }
  throw usage_error(
      fmt::format("`shard` {}: is not a share; name one as I/N, with I from 0 to N - 1, as in 0/8",
                  text.empty() ? "''" : text));
}

}  // namespace deepvoro
