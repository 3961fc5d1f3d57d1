#include "shard_options.hpp"

#include <fmt/format.h>

#include "print_line.hpp"

namespace deepvoro {

void add_shard_options(CLI::App& app, std::string& shard, std::string& folder) {
  app.add_option("--shard", shard,
                 "do one of several shares of the work, 0/8 to 7/8, for 'deepvoro merge'; auto: "
                 "that of a Slurm array task or an MPI rank");
  app.add_option("--out", folder,
                 "with --shard: folder of the pieces, which all shares have in "
                 "common");
}

void print_share(const Share& share, const ShareReport& report, const std::string& folder) {
  print_line(fmt::format("{}: share {} of {} is done: {} pieces made, {} were there", folder,
                         share.index, share.count, report.made, report.pieces - report.made));
}

}  // namespace deepvoro
