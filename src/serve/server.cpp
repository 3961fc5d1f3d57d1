#include "server.hpp"

#include <fmt/format.h>

#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <set>
#include <utility>

#include "deepvoro/core/error.hpp"
#include "session.hpp"

namespace deepvoro::serve {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr auto kAcceptPause = std::chrono::milliseconds(100);

asio::ip::address address_of(const std::string& text) {
  error_code error;
  asio::ip::address address = asio::ip::make_address(text, error);
  if (error)
    throw usage_error(
        fmt::format("`listen` {}: is not an address; give one such as 127.0.0.1 or 0.0.0.0", text));
  return address;
}

}  // namespace

class Server::Implementation {
 public:
  Implementation(const std::string& address, std::uint16_t port, Application application,
                 const ServerLimits& limits)
      : host_(std::move(application), limits, [this](Session* session) { left(session); }),
        acceptor_(host_.context),
        signals_(host_.context),
        pause_(host_.context),
        deadline_(host_.context) {
    const tcp::endpoint endpoint(address_of(address), port);
    error_code error;
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error)
      throw data_error(
          fmt::format("cannot listen at {}, port {}: {}; stop what is there, or use --port 0 "
                      "for a port that is free",
                      address, port, error.message()));
    port_ = acceptor_.local_endpoint().port();
  }

  Implementation(const Implementation&) = delete;
  Implementation& operator=(const Implementation&) = delete;
  ~Implementation() { is_over_ = true; }

  void run() {
    accept();
    host_.context.run();
  }

  void stop() {
    asio::post(host_.context, [this] { begin_to_stop(); });
  }

  void stop_on_signals() {
    for (const int signal : {SIGINT, SIGTERM}) signals_.add(signal);
    signals_.async_wait([this](error_code error, int) {
      if (!error) begin_to_stop();
    });
  }

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::size_t connections() const { return open_; }

 private:
  void accept();
  void left(Session* session) noexcept;
  void begin_to_stop();

  // Sessions that the host's context still holds tell when they go, so these outlive it.
  std::set<Session*> sessions_;
  std::atomic<std::size_t> open_ = 0;
  bool is_accepting_ = false;
  bool is_over_ = false;
  std::uint16_t port_ = 0;
  SessionHost host_;
  tcp::acceptor acceptor_;
  asio::signal_set signals_;
  asio::steady_timer pause_;
  asio::steady_timer deadline_;
};

void Server::Implementation::accept() {
  if (host_.is_stopping || is_accepting_ || sessions_.size() >= host_.limits.connections) return;
  acceptor_.async_accept([this](error_code error, tcp::socket socket) {
    is_accepting_ = false;
    if (host_.is_stopping) return;
    if (error) {  // too many open files, for instance
      pause_.expires_after(kAcceptPause);
      pause_.async_wait([this](error_code stopped) {
        if (!stopped) accept();
      });
      return;
    }
    const auto session = std::make_shared<Session>(std::move(socket), host_);
    sessions_.insert(session.get());
    open_ = sessions_.size();
    session->begin();
    accept();
  });
  is_accepting_ = true;
}

void Server::Implementation::left(Session* session) noexcept {
  sessions_.erase(session);
  open_ = sessions_.size();
  if (is_over_) return;
  try {
    if (host_.is_stopping && sessions_.empty()) deadline_.cancel();
    accept();
  } catch (const std::exception&) {
    // Out of memory: the next session that ends accepts another.
    return;
  }
}

void Server::Implementation::begin_to_stop() {
  if (std::exchange(host_.is_stopping, true)) return;
  error_code ignored;
  acceptor_.close(ignored);
  pause_.cancel();
  signals_.cancel(ignored);
  const std::set<Session*> all = sessions_;
  for (Session* session : all) session->end_when_idle();
  if (sessions_.empty()) return;
  deadline_.expires_after(host_.limits.stop_time);
  deadline_.async_wait([this](error_code stopped) {
    if (stopped) return;
    for (Session* session : std::set<Session*>(sessions_)) session->close();
  });
}

Server::Server(const std::string& address, std::uint16_t port, Application application,
               const ServerLimits& limits)
    : implementation_(
          std::make_unique<Implementation>(address, port, std::move(application), limits)) {}

Server::~Server() = default;

std::uint16_t Server::port() const {
  return implementation_->port();
}

std::size_t Server::connections() const {
  return implementation_->connections();
}

void Server::run() {
  implementation_->run();
}

void Server::stop() {
  implementation_->stop();
}

void Server::stop_on_signals() {
  implementation_->stop_on_signals();
}

bool is_loopback(const std::string& address) {
  return address_of(address).is_loopback();
}

}  // namespace deepvoro::serve
