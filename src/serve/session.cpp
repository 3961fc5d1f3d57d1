#include "session.hpp"

#include <fmt/format.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/file_body.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <filesystem>
#include <utility>

namespace deepvoro::serve {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;

constexpr std::size_t kReadAtOnce = std::size_t{64} << 10U;
constexpr auto kDrainTime = std::chrono::seconds(2);
constexpr unsigned kReadingThreads = 2;
constexpr unsigned kChangeThreads = 4;
// So slow may a client be that fetches something large.
constexpr std::size_t kSlowestBytesPerMillisecond = 50;

Response busy() {
  Response response = error_response(503, "too much is waiting; try again in a moment");
  response.fields.emplace_back("Retry-After", "1");
  return response;
}

}  // namespace

SessionHost::SessionHost(Application the_application, const ServerLimits& the_limits,
                         std::function<void(Session*)> has_left)
    : left(std::move(has_left)),
      application(std::move(the_application)),
      limits(the_limits),
      questions_(limits.question_threads, limits.waiting),
      readings_(kReadingThreads, limits.waiting),
      changes_(kChangeThreads, limits.waiting) {}

WorkPool& SessionHost::pool(Lane lane) {
  if (lane == Lane::question) return questions_;
  return lane == Lane::reading ? readings_ : changes_;
}

bool SessionHost::take_body(std::size_t bytes) {
  if (body_bytes_ + bytes > limits.all_body_bytes) return false;
  body_bytes_ += bytes;
  return true;
}

Session::Session(tcp::socket socket, SessionHost& host)
    : host_(host), stream_(std::move(socket)), buffer_(kReadAtOnce) {
  ErrorCode ignored;
  stream_.socket().set_option(tcp::no_delay(true), ignored);
}

Session::~Session() {
  give_back_body();
  host_.left(this);
}

void Session::end_when_idle() {
  if (is_reading_header_) close();
}

void Session::close() {
  ErrorCode ignored;
  stream_.socket().shutdown(tcp::socket::shutdown_both, ignored);
  stream_.close();
}

void Session::read_header(std::chrono::milliseconds time) {
  parsed_.emplace(host_.limits.header_bytes);
  is_head_ = false;
  is_reading_header_ = true;
  stream_.expires_after(time);
  http::async_read_header(stream_, buffer_, parsed_->parser(),
                          [self = shared_from_this()](const ErrorCode& error, std::size_t) {
                            self->is_reading_header_ = false;
                            self->on_header(error);
                          });
}

void Session::on_header(const ErrorCode& error) {
  watch_ = Stopwatch();
  if (error) return refuse_or_close(error);
  auto refusal = parsed_->take_head(host_.application);
  is_head_ = parsed_->is_head();
  if (refusal) return refuse(std::move(*refusal));
  if (!host_.take_body(parsed_->body_bytes())) return refuse(busy());
  taken_bytes_ = parsed_->body_bytes();
  stream_.expires_after(host_.limits.body_time);
  if (parsed_->waits_to_continue()) return tell_to_continue();
  read_body();
}

void Session::tell_to_continue() {
  auto response = std::make_shared<http::response<http::empty_body>>(http::status::continue_, 11);
  http::async_write(stream_, *response,
                    [self = shared_from_this(), response](const ErrorCode& error, std::size_t) {
                      if (error) return self->close();
                      self->read_body();
                    });
}

void Session::read_body() {
  http::async_read(
      stream_, buffer_, parsed_->parser(),
      [self = shared_from_this()](const ErrorCode& error, std::size_t) { self->on_body(error); });
}

void Session::on_body(const ErrorCode& error) {
  if (error) return refuse_or_close(error);
  keeps_alive_ = parsed_->parser().keep_alive();
  const Lane lane = parsed_->lane();
  request_ = parsed_->take();
  if (lane == Lane::at_once) return write(answer());
  stream_.expires_never();
  answer_in_pool(lane);
}

void Session::answer_in_pool(Lane lane) {
  // The context waits for answers that are not there yet. A session must end on its thread, so the
  // other thread keeps no part of it.
  struct Work {
    std::shared_ptr<Session> session;
    asio::executor_work_guard<asio::io_context::executor_type> guard;
  };
  const auto work =
      std::make_shared<Work>(Work{shared_from_this(), asio::make_work_guard(host_.context)});
  const bool is_taken = host_.pool(lane).submit([work] {
    asio::io_context& context = work->session->host_.context;
    const auto response = std::make_shared<Response>(work->session->answer());
    asio::post(context, [session = std::move(work->session), response] {
      session->write(std::move(*response));
    });
  });
  if (!is_taken) write(busy());
}

Response Session::answer() const {
  try {
    return host_.application.answer(request_);
  } catch (const std::exception& error) {
    return error_response(500, fmt::format("internal error: {}", error.what()));
  }
}

void Session::refuse(Response response) {
  keeps_alive_ = false;
  has_more_to_read_ = true;
  write(std::move(response));
}

void Session::refuse_or_close(const ErrorCode& error) {
  auto refusal = parsed_->refusal_of(error);
  if (!refusal) return close();
  refuse(std::move(*refusal));
}

void Session::give_back_body() {
  host_.give_back_body(std::exchange(taken_bytes_, 0));
}

void Session::write(Response response) {
  request_.body = {};
  give_back_body();
  if (host_.is_stopping) keeps_alive_ = false;
  if (host_.application.answered) host_.application.answered(response, watch_.seconds());
  if (!response.file.empty()) return write_file(response);
  auto message = std::make_shared<http::response<http::string_body>>();
  message->body() = std::move(response.body);
  const std::size_t size = message->body().size();
  fill(*message, response);
  message->content_length(size);
  if (is_head_) message->body().clear();
  send(message, size);
}

void Session::write_file(const Response& response) {
  auto message = std::make_shared<http::response<http::file_body>>();
  ErrorCode error;
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
void Session::fill(Message& message, const Response& response) {
  message.version(11);
  message.result(response.status);
  message.set(http::field::content_type, response.type);
  for (const auto& [name, value] : host_.application.fields) message.set(name, value);
  for (const auto& [name, value] : response.fields) message.set(name, value);
  message.keep_alive(keeps_alive_);
}

template <class Message>
void Session::send(std::shared_ptr<Message> message, std::size_t size) {
  stream_.expires_after(host_.limits.write_time +
                        std::chrono::milliseconds(size / kSlowestBytesPerMillisecond));
  auto serializer =
      std::make_shared<http::serializer<false, typename Message::body_type>>(*message);
  if (is_head_) serializer->split(true);
  const auto written = [self = shared_from_this(), message, serializer](
                           const ErrorCode& error, std::size_t) { self->on_written(error); };
  if (is_head_)
    http::async_write_header(stream_, *serializer, written);
  else
    http::async_write(stream_, *serializer, written);
}

void Session::on_written(const ErrorCode& error) {
  if (error) return close();
  if (keeps_alive_ && !host_.is_stopping) return read_header(host_.limits.idle_time);
  if (!has_more_to_read_) return close();
  // A connection that is closed while the other side still sends would take the answer along.
  ErrorCode ignored;
  stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
  stream_.expires_after(kDrainTime);
  buffer_.clear();
  drain();
}

void Session::drain() {
  stream_.async_read_some(buffer_.prepare(kReadAtOnce / 2),
                          [self = shared_from_this()](const ErrorCode& error, std::size_t) {
                            if (error) return self->close();
                            self->drain();
                          });
}

}  // namespace deepvoro::serve
