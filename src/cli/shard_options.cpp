#include "shard_options.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <optional>

#include "core/text.hpp"
#include "deepvoro/cluster/work_in_crew.hpp"
#include "print_line.hpp"
#include "progress_bar.hpp"
#include "shard/mpi_share.hpp"

namespace deepvoro {
namespace {

void print_report(const PieceDealer& dealer, const ShareReport& report, const std::string& folder) {
  const std::size_t before = report.pieces - report.made - report.waiting;
  const std::string done = fmt::format("{} made, {} {} there", counted(report.made, "piece"),
                                       before, before == 1 ? "was" : "were");
  const std::string which = fmt::format("{}: {}", folder, dealer.name());
  if (report.waiting == 0)
    print_line(fmt::format("{} is done: {}", which, done));
  else
    print_line(
        fmt::format("{}: {}, {} {} on pieces of other shares that are missing; run this share "
                    "again when they are done",
                    which, done, report.waiting, report.waiting == 1 ? "depends" : "depend"));
}

// A variable of the shell that is not set must not turn a share into the whole work.
std::string refuse_empty(const std::string& shard) {
  if (shard.empty()) (void)share_named(shard);
  return {};
}

// With a share that is fixed, each process of mpirun does the same.
void note_processes_without_shares(const Share& share) {
  const std::optional<Share> process = share_of_mpi();
  if (!process || process->count < 2) return;
  const bool may_be_meant = share.count % process->count == 0;
  if (may_be_meant && share.index % process->count == process->index) return;
  const std::size_t speaker = may_be_meant && share.index % process->count == 0 ? 1 : 0;
  if (process->index == speaker)
    fmt::print(stderr,
               "note: mpirun started {} processes, and this one does share {}/{}, as --shard says; "
               "with --shard auto or mpi they divide the work among them\n",
               process->count, share.index, share.count);
}

}  // namespace

void add_shard_option(CLI::App& app, std::string& shard) {
  app.add_option(
         "--shard", shard,
         "do one of several shares of the work, 0/8 to 7/8, and leave pieces in the folder "
         "--out for 'deepvoro merge'; auto: that of a Slurm array task or an MPI rank; mpi: all "
         "processes of mpirun take what is left to do")
      ->check(CLI::Validator(refuse_empty, ""));
}

void run_shard(const std::string& shard, const std::string& folder, const ShareOfWork& work) {
  const auto run = [&](PieceDealer& dealer) {
    std::optional<ProgressBar> bar(dealer.name());
    const ShareReport report = work(dealer, bar->callback());
    bar.reset();
    if (dealer.speaks()) print_report(dealer, report, folder);
  };
  if (shard == "mpi") return work_in_crew(run);
  const Share share = share_named(shard);
  if (shard != "auto") note_processes_without_shares(share);
  ShareDealer dealer(share);
  run(dealer);
}

}  // namespace deepvoro
