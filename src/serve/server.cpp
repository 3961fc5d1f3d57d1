#include "server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/file_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <limits>
#include <set>
#include <utility>

#include "core/stopwatch.hpp"
#include "core/text.hpp"
#include "deepvoro/core/error.hpp"
#include "work_pool.hpp"

namespace deepvoro::serve {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t kReadAtOnce = std::size_t{64} << 10U;
constexpr auto kDrainTime = std::chrono::seconds(2);
constexpr auto kAcceptPause = std::chrono::milliseconds(100);
constexpr unsigned kReadingThreads = 2;
constexpr unsigned kChangeThreads = 4;
// So slow may a client be that fetches something large.
constexpr std::size_t kSlowestBytesPerMillisecond = 50;

asio::ip::address address_of(const std::string& text) {
  error_code error;
  asio::ip::address address = asio::ip::make_address(text, error);
  if (error)
    throw usage_error(
        fmt::format("`listen` {}: is not an address; give one such as 127.0.0.1 or 0.0.0.0", text));
  return address;
}

// What was sent is not HTTP; other errors are those of the connection.
bool is_protocol_error(const error_code& error) {
  return error.category() == http::make_error_code(http::error::bad_method).category() &&
         error != http::error::end_of_stream && error != http::error::partial_message;
}

}  // namespace

class Session;

class Server::Implementation {
 public:
  Implementation(const std::string& address, std::uint16_t port, Application the_application,
                 const ServerLimits& the_limits)
      : application(std::move(the_application)),
        limits(the_limits),
        acceptor_(context),
        signals_(context),
        pause_(context),
        deadline_(context),
        questions_(limits.question_threads, limits.waiting),
        readings_(kReadingThreads, limits.waiting),
        changes_(kChangeThreads, limits.waiting) {
    const tcp::endpoint endpoint(address_of(address), port);
    error_code error;
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error)
      throw data_error(fmt::format("cannot listen at {}, port {}: {}; is another server there?",
                                   address, port, error.message()));
    port_ = acceptor_.local_endpoint().port();
  }

  Implementation(const Implementation&) = delete;
  Implementation& operator=(const Implementation&) = delete;
  ~Implementation() { is_over_ = true; }

  void run() {
    accept();
    context.run();
  }

  void stop() {
    asio::post(context, [this] { begin_to_stop(); });
  }

  void stop_on_signals() {
    for (const int signal : {SIGINT, SIGTERM}) signals_.add(signal);
    signals_.async_wait([this](error_code error, int) {
      if (!error) begin_to_stop();
    });
  }

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::size_t connections() const { return open_; }
  [[nodiscard]] bool is_stopping() const { return is_stopping_; }

  [[nodiscard]] WorkPool& pool(Lane lane) {
    if (lane == Lane::question) return questions_;
    return lane == Lane::reading ? readings_ : changes_;
  }

  // Bytes of bodies; false where there are too many already.
  [[nodiscard]] bool take_body(std::size_t bytes) {
    if (body_bytes_ + bytes > limits.all_body_bytes) return false;
    body_bytes_ += bytes;
    return true;
  }
  void give_back_body(std::size_t bytes) { body_bytes_ -= bytes; }

  void left(Session* session) noexcept;

 private:
  void accept();
  void begin_to_stop();

  // Sessions that the context still holds tell when they go, so these outlive it.
  std::set<Session*> sessions_;
  std::atomic<std::size_t> open_ = 0;
  std::size_t body_bytes_ = 0;
  bool is_accepting_ = false;
  bool is_stopping_ = false;
  bool is_over_ = false;
  std::uint16_t port_ = 0;

 public:
  asio::io_context context{1};
  Application application;
  ServerLimits limits;

 private:
  tcp::acceptor acceptor_;
  asio::signal_set signals_;
  asio::steady_timer pause_;
  asio::steady_timer deadline_;
  WorkPool questions_;
  WorkPool readings_;
  WorkPool changes_;
};

// One connection: requests one after the other.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(tcp::socket socket, Server::Implementation& server)
      : server_(server), stream_(std::move(socket)), buffer_(kReadAtOnce) {
    error_code ignored;
    stream_.socket().set_option(tcp::no_delay(true), ignored);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() {
    give_back_body();
    server_.left(this);
  }

  void begin() { read_header(server_.limits.header_time); }

  // Where nothing is under way; otherwise after the next answer.
  void end_when_idle() {
    if (is_reading_header_) close();
  }

  void close() {
    error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_both, ignored);
    stream_.close();
  }

 private:
  void read_header(std::chrono::milliseconds time) {
    parser_.emplace();
    parser_->header_limit(static_cast<std::uint32_t>(server_.limits.header_bytes));
    parser_->body_limit(std::numeric_limits<std::uint64_t>::max());  // told with the header
    is_reading_header_ = true;
    stream_.expires_after(time);
    http::async_read_header(stream_, buffer_, *parser_,
                            [self = shared_from_this()](error_code error, std::size_t) {
                              self->is_reading_header_ = false;
                              self->on_header(error);
                            });
  }

  void on_header(error_code error) {
    watch_ = Stopwatch();
    if (error == http::error::header_limit || error == http::error::buffer_overflow)
      return refuse(error_response(431, "the header of the request is too large"));
    if (error && !is_protocol_error(error)) return close();
    if (error)
      return refuse(error_response(400, "this is not an HTTP request: " + error.message()));
    read_head();
  }

  void read_head() {
    const auto& message = parser_->get();
    request_ = {};
    request_.head.method = std::string(message.method_string());
    is_head_ = message.method() == http::verb::head;
    for (const auto& field : message)
      request_.head.fields.try_emplace(lower_case(std::string(field.name_string())),
                                       std::string(field.value()));
    if (!parse_target(std::string(message.target()), request_.head))
      return refuse(error_response(400, "the address of the request is broken"));
    admission_ = server_.application.admit(request_.head);
    if (admission_.refusal) return refuse(std::move(*admission_.refusal));
    const auto length = parser_->content_length();
    if (length && *length > admission_.most_body_bytes)
      return refuse(
          error_response(413, fmt::format("the body is larger than {} MiB; send less at once",
                                          admission_.most_body_bytes >> 20U)));
    const bool has_body = length ? *length > 0 : parser_->chunked();
    taken_bytes_ = !has_body ? 0
                   : length  ? static_cast<std::size_t>(*length)
                             : admission_.most_body_bytes;
    if (!server_.take_body(taken_bytes_)) {
      taken_bytes_ = 0;
      return refuse(busy());
    }
    parser_->body_limit(admission_.most_body_bytes);
    stream_.expires_after(server_.limits.body_time);
    if (beast::iequals(message[http::field::expect], "100-continue")) return tell_to_continue();
    read_body();
  }

  void tell_to_continue() {
    auto response = std::make_shared<http::response<http::empty_body>>(http::status::continue_, 11);
    http::async_write(stream_, *response,
                      [self = shared_from_this(), response](error_code error, std::size_t) {
                        if (error) return self->close();
                        self->read_body();
                      });
  }

  void read_body() {
    http::async_read(
        stream_, buffer_, *parser_,
        [self = shared_from_this()](error_code error, std::size_t) { self->on_body(error); });
  }

  void on_body(error_code error) {
    if (error == http::error::body_limit)
      return refuse(
          error_response(413, fmt::format("the body is larger than {} MiB; send less at once",
                                          admission_.most_body_bytes >> 20U)));
    if (error) return close();
    keeps_alive_ = parser_->keep_alive();
    request_.body = std::move(parser_->get().body());
    if (admission_.lane == Lane::at_once) return write(answer());
    stream_.expires_never();
    // The context waits for answers that are not there yet. A session must end on its thread, so
    // the other thread keeps no part of it.
    struct Work {
      std::shared_ptr<Session> session;
      asio::executor_work_guard<asio::io_context::executor_type> guard;
    };
    const auto work =
        std::make_shared<Work>(Work{shared_from_this(), asio::make_work_guard(server_.context)});
    const bool is_taken = server_.pool(admission_.lane).submit([work] {
      asio::io_context& context = work->session->server_.context;
      const auto response = std::make_shared<Response>(work->session->answer());
      asio::post(context, [session = std::move(work->session), response] {
        session->write(std::move(*response));
      });
    });
    if (!is_taken) write(busy());
  }

  [[nodiscard]] Response answer() const {
    try {
      return server_.application.answer(request_);
    } catch (const std::exception& error) {
      return error_response(500, fmt::format("internal error: {}", error.what()));
    }
  }

  static Response busy() {
    Response response = error_response(503, "too much is waiting; try again in a moment");
    response.fields.emplace_back("Retry-After", "1");
    return response;
  }

  // What is still to come is not read.
  void refuse(Response response) {
    keeps_alive_ = false;
    has_more_to_read_ = true;
    write(std::move(response));
  }

  void give_back_body() { server_.give_back_body(std::exchange(taken_bytes_, 0)); }

  void write(Response response) {
    request_.body = {};
    give_back_body();
    if (server_.is_stopping()) keeps_alive_ = false;
    if (server_.application.answered) server_.application.answered(response, watch_.seconds());
    if (!response.file.empty()) return write_file(response);
    auto message = std::make_shared<http::response<http::string_body>>();
    message->body() = std::move(response.body);
    const std::size_t size = message->body().size();
    fill(*message, response);
    message->content_length(size);
    if (is_head_) message->body().clear();
    send(message, size);
  }

  void write_file(const Response& response) {
    auto message = std::make_shared<http::response<http::file_body>>();
    error_code error;
    message->body().open(response.file.c_str(), beast::file_mode::scan, error);
    std::error_code ignored;
    std::filesystem::remove(response.file, ignored);
    if (error) return refuse(error_response(500, "the file cannot be sent"));
    const std::size_t size = message->body().size();
    fill(*message, response);
    message->content_length(size);
    send(message, size);
  }

  template <class Message>
  void fill(Message& message, const Response& response) {
    message.version(11);
    message.result(response.status);
    message.set(http::field::content_type, response.type);
    for (const auto& [name, value] : server_.application.fields) message.set(name, value);
    for (const auto& [name, value] : response.fields) message.set(name, value);
    message.keep_alive(keeps_alive_);
  }

  template <class Message>
  void send(std::shared_ptr<Message> message, std::size_t size) {
    stream_.expires_after(server_.limits.write_time +
                          std::chrono::milliseconds(size / kSlowestBytesPerMillisecond));
    auto serializer =
        std::make_shared<http::serializer<false, typename Message::body_type>>(*message);
    if (is_head_) serializer->split(true);
    const auto written = [self = shared_from_this(), message, serializer](
                             error_code error, std::size_t) { self->on_written(error); };
    if (is_head_)
      http::async_write_header(stream_, *serializer, written);
    else
      http::async_write(stream_, *serializer, written);
  }

  void on_written(error_code error) {
    if (error) return close();
    if (keeps_alive_ && !server_.is_stopping()) return read_header(server_.limits.idle_time);
    if (!has_more_to_read_) return close();
    // A connection that is closed while the other side still sends would take the answer along.
    error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    stream_.expires_after(kDrainTime);
    buffer_.clear();
    drain();
  }

  void drain() {
    stream_.async_read_some(buffer_.prepare(kReadAtOnce / 2),
                            [self = shared_from_this()](error_code error, std::size_t) {
                              if (error) return self->close();
                              self->drain();
                            });
  }

  Server::Implementation& server_;
  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  Request request_;
  Admission admission_;
  Stopwatch watch_;
  std::size_t taken_bytes_ = 0;
  bool is_reading_header_ = false;
  bool keeps_alive_ = false;
  bool is_head_ = false;
  bool has_more_to_read_ = false;
};

void Server::Implementation::accept() {
  if (is_stopping_ || is_accepting_ || sessions_.size() >= limits.connections) return;
  acceptor_.async_accept([this](error_code error, tcp::socket socket) {
    is_accepting_ = false;
    if (is_stopping_) return;
    if (error) {  // too many open files, for instance
      pause_.expires_after(kAcceptPause);
      pause_.async_wait([this](error_code stopped) {
        if (!stopped) accept();
      });
      return;
    }
    const auto session = std::make_shared<Session>(std::move(socket), *this);
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
    if (is_stopping_ && sessions_.empty()) deadline_.cancel();
    accept();
  } catch (const std::exception&) {
    // Out of memory: the next session that ends accepts another.
    return;
  }
}

void Server::Implementation::begin_to_stop() {
  if (std::exchange(is_stopping_, true)) return;
  error_code ignored;
  acceptor_.close(ignored);
  pause_.cancel();
  signals_.cancel(ignored);
  const std::set<Session*> all = sessions_;
  for (Session* session : all) session->end_when_idle();
  if (sessions_.empty()) return;
  deadline_.expires_after(limits.stop_time);
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
