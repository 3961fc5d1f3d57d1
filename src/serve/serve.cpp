#include "serve.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <memory>
#include <thread>

#include "api.hpp"
#include "core/descriptor.hpp"
#include "core/files.hpp"
#include "core/stopwatch.hpp"
#include "deepvoro/backbone/registry.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/core/parallel.hpp"
#include "gate.hpp"
#include "project/open_project.hpp"
#include "server.hpp"
#include "sketches.hpp"

namespace deepvoro::serve {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kMostNetworks = 4;
constexpr std::size_t kShortestToken = 16;
constexpr std::size_t kLongestToken = 200;

// Each connection is an open file, and the usual limit is 1024.
void allow_many_files() {
  constexpr rlim_t wanted = 8192;
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = std::max(files.rlim_cur, std::min(wanted, files.rlim_max));
  (void)::setrlimit(RLIMIT_NOFILE, &files);
}

std::string token_in(const fs::path& file) {
  std::string token = read_text(file, kLongestToken);
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r' || token.back() == ' '))
    token.pop_back();
  if (token.size() < kShortestToken ||
      token.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") !=
          std::string::npos)
    throw data_error(fmt::format(
        "{}: a token has at least {} letters and digits; remove the file, and a new one is made",
        file.string(), kShortestToken));
  return token;
}

// What is in the file, or a new one, which goes there. Nobody else can read it.
std::string token_of(const fs::path& file) {
  if (file.empty()) return new_token();
  constexpr mode_t own = S_IRUSR | S_IWUSR;
  Descriptor opened(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, own));
  if (!opened) {
    if (errno == EEXIST) return token_in(file);
    throw data_error(fmt::format("{}: cannot be written: {}; does the folder exist?", file.string(),
                                 std::strerror(errno)));
  }
  std::string token = new_token();
  const std::string line = token + "\n";
  if (::write(opened.number(), line.data(), line.size()) != static_cast<ssize_t>(line.size()) ||
      !opened.close())
    throw data_error(fmt::format("{}: cannot be written: {}", file.string(), std::strerror(errno)));
  return token;
}

std::string url_of(const ServeOptions& options, std::uint16_t port, const std::string& token) {
  const bool is_everywhere = options.listen == "0.0.0.0" || options.listen == "::";
  const std::string address = is_everywhere ? "localhost" : options.listen;
  // Who has a file for the token does not want it in logs.
  return fmt::format("http://{}:{}/{}",
                     address.find(':') == std::string::npos ? address : "[" + address + "]", port,
                     options.token_file.empty() ? "?token=" + token : "");
}

ProjectOptions project_options(const ServeOptions& options, const ServeEvents& events) {
  ProjectOptions project{.path = options.path,
                         .backbone = options.backbone,
                         .read_only = options.read_only,
                         .problem = events.problem};
  project.limits.networks = std::clamp(available_threads(), 1U, kMostNetworks);
  if (project.path.empty()) {
    project.path = user_backbone_folder().parent_path() / "projects" / "sketches";
    project.ready_made = ready_made_sketches();
  }
  return project;
}

// Serves in a thread of its own, so that visitors are told what is going on while a network loads.
class Running {
 public:
  explicit Running(Server& server)
      : server_(server), thread_([this] {
          try {
            server_.run();
          } catch (...) {
            failure_ = std::current_exception();
          }
          has_ended_ = true;
        }) {}
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() {
    server_.stop();
    if (thread_.joinable()) thread_.join();
  }

  [[nodiscard]] bool has_ended() const { return has_ended_; }
  void wait() {
    thread_.join();
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  Server& server_;
  std::atomic<bool> has_ended_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

struct StoppedWhileLoading {};

}  // namespace

void serve(const ServeOptions& options, const ServeEvents& events) {
  const bool is_public = !is_loopback(options.listen);
  if (is_public && options.token_file.empty())
    throw usage_error(
        fmt::format("`listen` {}: others can reach this address, so `token_file` must be given",
                    options.listen));
  ProjectOptions project = project_options(options, events);
  const FoundProject found = find_project(project);
  allow_many_files();
  std::signal(SIGPIPE, SIG_IGN);
  const std::string token = token_of(options.token_file);
  Api api({.gate = {.token = token, .is_public = is_public, .names = options.hosts},
           .read_only = options.read_only});
  ServerLimits limits;
  limits.question_threads = 4 * std::clamp(available_threads(), 1U, kMostNetworks);
  Server server(options.listen, options.port, api.application(), limits);
  api.set_connections([&server] { return server.connections(); });
  server.stop_on_signals();
  if (events.listening) events.listening(url_of(options, server.port(), token));
  Running running(server);

  const Stopwatch loading;
  project.progress = [&](double done) {
    if (running.has_ended()) throw StoppedWhileLoading();
    api.set_seconds_left(loading.seconds() / std::max(done, 1e-3) * (1 - done));
  };
  try {
    const std::shared_ptr<Project> opened = open_project(project, found);
    api.set_project(opened);
    if (events.ready)
      events.ready({.path = project.path,
                    .is_new = found.is_new && project.ready_made.empty(),
                    .seconds = loading.seconds()});
    running.wait();
    opened->save();
  } catch (const StoppedWhileLoading&) {
    return;
  }
}

}  // namespace deepvoro::serve
