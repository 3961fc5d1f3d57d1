#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "http.hpp"

namespace deepvoro::serve {

// Where a request is answered: at once by the thread that reads requests, or by threads of its
// kind, so that none of a kind waits for those of another.
enum class Lane { at_once, question, reading, change };

struct Admission {
  std::optional<Response> refusal = {};  // before the body is read
  std::size_t most_body_bytes = 0;
  Lane lane = Lane::at_once;
};

// What a server is for. Called by several threads.
struct Application {
  std::function<Admission(const RequestHead& head)> admit;
  std::function<Response(const Request& request)> answer;
  // Told of every answer, and how long it took.
  std::function<void(const Response& response, double seconds)> answered = {};
  std::vector<std::pair<std::string, std::string>> fields = {};  // of every answer
};

struct ServerLimits {
  std::size_t header_bytes = std::size_t{16} << 10U;
  std::size_t connections = 2000;  // further ones wait to be accepted
  // Of all bodies that are in memory at a time; a request beyond is told to try again.
  std::size_t all_body_bytes = std::size_t{512} << 20U;
  std::size_t waiting = 4000;                     // requests, for each kind of thread
  std::chrono::milliseconds header_time{10'000};  // to send a header, or to be idle before it
  std::chrono::milliseconds idle_time{60'000};
  std::chrono::milliseconds body_time{120'000};
  std::chrono::milliseconds write_time{60'000};
  std::chrono::milliseconds stop_time{15'000};  // for what is under way at the end
  unsigned question_threads = 8;
};

// HTTP/1.1 on one address. Limits are kept by one thread that reads and writes; it never waits for
// an answer.
class Server {
 public:
  // Listens at once; port 0 is any that is free. A data error where that cannot be.
  Server(const std::string& address, std::uint16_t port, Application application,
         const ServerLimits& limits = {});
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] std::size_t connections() const;

  // Serves until stop(), then finishes what is under way.
  void run();
  // From any thread, at any time.
  void stop();
  // Calls stop() on SIGINT and SIGTERM.
  void stop_on_signals();

  class Implementation;

 private:
  std::unique_ptr<Implementation> implementation_;
};

// Whether an address is one of this machine alone. A usage error where it is none.
[[nodiscard]] bool is_loopback(const std::string& address);

}  // namespace deepvoro::serve
