#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

#include "core/stopwatch.hpp"
#include "parsed_request.hpp"
#include "server.hpp"
#include "work_pool.hpp"

namespace deepvoro::serve {

class Session;

// What all connections of a server share.
class SessionHost {
 public:
  SessionHost(Application the_application, const ServerLimits& the_limits,
              std::function<void(Session*)> has_left);

  [[nodiscard]] WorkPool& pool(Lane lane);

  // Bytes of bodies; false where there are too many already.
  [[nodiscard]] bool take_body(std::size_t bytes);
  void give_back_body(std::size_t bytes) { body_bytes_ -= bytes; }

 private:
  // Sessions that the context still holds need what stands before it.
  std::size_t body_bytes_ = 0;

 public:
  const std::function<void(Session*)> left;  // told of each that ends
  const Application application;
  const ServerLimits limits;
  bool is_stopping = false;
  boost::asio::io_context context{1};

 private:
  WorkPool questions_;
  WorkPool readings_;
  WorkPool changes_;
};

// One connection: requests one after the other. Everything but answers happens on the thread of the
// host's context.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(boost::asio::ip::tcp::socket socket, SessionHost& host);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  void begin() { read_header(host_.limits.header_time); }
  // Where nothing is under way; otherwise after the next answer.
  void end_when_idle();
  void close();

 private:
  using ErrorCode = boost::system::error_code;

  void read_header(std::chrono::milliseconds time);
  void on_header(const ErrorCode& error);
  void tell_to_continue();
  void read_body();
  void on_body(const ErrorCode& error);
  void answer_in_pool(Lane lane);
  [[nodiscard]] Response answer() const;

  // What is still to come is not read.
  void refuse(Response response);
  void refuse_or_close(const ErrorCode& error);
  void give_back_body();

  void write(Response response);
  void write_file(const Response& response);
  template <class Message>
  void fill(Message& message, const Response& response);
  template <class Message>
  void send(std::shared_ptr<Message> message, std::size_t size);
  void on_written(const ErrorCode& error);
  void drain();

  SessionHost& host_;
  boost::beast::tcp_stream stream_;
  boost::beast::flat_buffer buffer_;
  std::optional<ParsedRequest> parsed_;
  Request request_;
  Stopwatch watch_;
  std::size_t taken_bytes_ = 0;
  bool is_reading_header_ = false;
  bool keeps_alive_ = false;
  bool is_head_ = false;
  bool has_more_to_read_ = false;
};

}  // namespace deepvoro::serve
