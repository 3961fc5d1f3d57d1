#pragma once

#include <arpa/inet.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "core/descriptor.hpp"

namespace deepvoro::test {

struct HttpAnswer {
  int status = 0;  // 0: the connection was closed without an answer
  std::string head;
  std::string body;
};

// A connection to a server of this machine that sends any bytes, right or wrong.
class HttpClient {
 public:
  explicit HttpClient(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) !=
        0)
      throw std::runtime_error("cannot connect");
  }

  // False where the other side has closed.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  HttpAnswer receive() {
    while (received_.find("\r\n\r\n") == std::string::npos)
      if (!read_some()) return {};
    const std::size_t end = received_.find("\r\n\r\n");
    HttpAnswer answer{
        std::stoi(received_.substr(received_.find(' ') + 1)), received_.substr(0, end), {}};
    const std::size_t length = content_length(answer.head);
    received_.erase(0, end + 4);
    while (received_.size() < length && read_some()) {
    }
    answer.body = received_.substr(0, length);
    received_.erase(0, length);
    return answer;
  }

  // Until the other side closes.
  void wait_for_end() {
    while (read_some()) {
    }
  }

 private:
  static std::size_t content_length(const std::string& head) {
    const std::size_t at = head.find("Content-Length: ");
    return at == std::string::npos ? 0 : std::stoul(head.substr(at + 16));
  }

  bool read_some() {
    std::array<char, 1 << 16> bytes{};
    const ssize_t count = ::recv(socket_.number(), bytes.data(), bytes.size(), 0);
    if (count <= 0) return false;
    received_.append(bytes.data(), static_cast<std::size_t>(count));
    return true;
  }

  Descriptor socket_;
  std::string received_;
};

}  // namespace deepvoro::test
