#include "shard_options.hpp"

#include <fmt/format.h>

#include "print_line.hpp"

namespace deepvoro {

void add_shard_option(CLI::App& app, std::string& shard) {
  app.add_option("--shard", shard,
                 "do one of several shares of the work, 0/8 to 7/8, and leave pieces in the folder "
                 "--out for 'deepvoro merge'; auto: that of a Slurm array task or an MPI rank");
}

void print_share(const Share& share, const ShareReport& report, const std::string& folder) {
  const std::string done = fmt::format("{} pieces made, {} were there", report.made,
                                       report.pieces - report.made - report.waiting);
  const std::string which = fmt::format("{}: share {} of {}", folder, share.index, share.count);
  if (report.waiting == 0)
    print_line(fmt::format("{} is done: {}", which, done));
  else
    print_line(fmt::format("{}: {}, {} follow from other shares: run it again when those are done",
                           which, done, report.waiting));
}

}  // namespace deepvoro
