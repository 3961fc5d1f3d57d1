#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace deepvoro::serve {

struct ServeOptions {
  std::filesystem::path path = {};  // folder or classifier; empty: the user's own sketches
  std::string backbone = {};
  std::string listen = "127.0.0.1";
  std::uint16_t port = 8080;  // 0: any that is free
  // Holds the token; made where it is not there. Must be given where others can reach the address.
  std::filesystem::path token_file = {};
  bool read_only = false;
  std::vector<std::string> hosts = {};  // further names of this machine
};

// Told while a server runs. Each may be left out; `problem` comes from any thread.
struct ServeEvents {
  std::function<void(const std::string& url)> listening = {};
  struct Ready {
    std::filesystem::path path;
    bool is_new = false;  // and empty
    double seconds = 0;
  };
  std::function<void(const Ready& ready)> ready = {};
  std::function<void(const std::string& problem)> problem = {};
};

// Serves a project until SIGINT or SIGTERM, then finishes requests and saves.
void serve(const ServeOptions& options, const ServeEvents& events);

}  // namespace deepvoro::serve
