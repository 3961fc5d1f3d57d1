#include "episode_options.hpp"

#include <fmt/format.h>

#include "deepvoro/core/parallel.hpp"

namespace deepvoro {

CLI::Validator whole_number() {
  return {[](const std::string& text) -> std::string {
            const bool digits =
                !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
            constexpr std::size_t most_digits = 19;  // what 64 bits can hold
            if (!digits) return fmt::format("'{}' is not a whole number of 0 or more", text);
            return text.size() <= most_digits ? std::string()
                                              : fmt::format("'{}' is too large a number", text);
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
  app.add_option("--ways,--n-way,--n_ways", plan.shape.ways, "classes in an episode")
      ->check(whole_number())
      ->capture_default_str();
  app.add_option("--queries,--n-query,--n_queries", plan.shape.queries,
                 "samples of each class to be classified")
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
      ->capture_default_str();
}

}  // namespace deepvoro
