#include "episode_options.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <string>
#include <system_error>

#include "deepvoro/core/parallel.hpp"

namespace deepvoro {

CLI::Validator whole_number() {
  return {[](const std::string& text) -> std::string {
            std::uint64_t value = 0;
            const char* end = text.data() + text.size();
            const auto parsed = std::from_chars(text.data(), end, value);
            if (parsed.ptr != end || parsed.ec == std::errc::invalid_argument)
              return fmt::format("'{}' is not a whole number of 0 or more", text);
            return parsed.ec == std::errc() ? "" : fmt::format("'{}' is too large", text);
          },
          ""};
}

namespace {

CLI::Validator at_most_all_threads() {
  return {[](std::string& text) -> std::string {
            std::uint64_t value = 0;
            const char* end = text.data() + text.size();
            if (std::from_chars(text.data(), end, value).ptr != end || value <= most_threads())
              return "";
            fmt::print(stderr,
                       "deepvoro: --threads {}: more than this machine can use; {} are used\n",
                       text, most_threads());
            text = std::to_string(most_threads());
            return "";
          },
          ""};
}

}  // namespace

CLI::Validator name_of_file() {
  return {[](const std::string& text) {
            return text == "-" ? std::string("'-' does not stand for standard output; name a file")
                               : std::string();
          },
          ""};
}

EpisodePlan EpisodeOptions::resolved() const {
  EpisodePlan with_protocol = plan;
  with_protocol.protocol = protocol_named(protocol);
  return with_protocol;
}

void add_episode_options(CLI::App& app, EpisodeOptions& options, const std::string& seed_help) {
  EpisodePlan& plan = options.plan;
  app.add_option("--ways,--n-way,--n_ways", plan.shape.ways, "classes per episode")
      ->check(whole_number())
      ->capture_default_str();
  app.add_option("--queries,--n-query,--n_queries", plan.shape.queries,
                 "samples per class to classify")
      ->check(whole_number())
      ->capture_default_str();
  app.add_option("--episodes,--n-tasks,--n_runs", plan.count, "number of episodes")
      ->check(whole_number())
      ->capture_default_str();
  app.add_option("--seed", plan.seed, seed_help)->check(whole_number())->capture_default_str();
  app.add_option("--protocol", options.protocol, "how episodes are drawn: deepvoro or dc")
      ->capture_default_str();
}

void add_threads_option(CLI::App& app, unsigned& threads) {
  threads = available_threads();
  app.add_option("--threads", threads, "threads; the result does not depend on it")
      ->check(whole_number())
      ->transform(at_most_all_threads())
      ->capture_default_str();
}

}  // namespace deepvoro
