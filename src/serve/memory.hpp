#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "http.hpp"

// What a server keeps so that it need not do it again. Safe to share between threads.
namespace deepvoro::serve {

// What follows from a revision of the project, computed once.
template <class Value>
class OfRevision {
 public:
  template <class Compute>
  [[nodiscard]] std::shared_ptr<const Value> get(std::uint64_t revision, const Compute& compute) {
    const std::scoped_lock lock(guard_);
    if (!value_ || revision_ != revision) {
      value_ = std::make_shared<const Value>(compute());
      revision_ = revision;
    }
    return value_;
  }

 private:
  std::mutex guard_;
  std::uint64_t revision_ = 0;
  std::shared_ptr<const Value> value_;
};

// Texts by key, those used last, up to a number of bytes.
class RecentTexts {
 public:
  explicit RecentTexts(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  [[nodiscard]] std::string get(const std::string& key,
                                const std::function<std::string()>& compute);

 private:
  using Entry = std::pair<std::string, std::string>;

  std::size_t most_bytes_;
  std::mutex guard_;
  std::size_t bytes_ = 0;
  std::list<Entry> entries_;  // the last used first
  std::map<std::string, std::list<Entry>::iterator> places_;
};

// A change that a client sends again, because it did not get the answer, is not made again. What
// failed for a reason that may pass is forgotten.
class AnsweredBefore {
 public:
  explicit AnsweredBefore(std::size_t most) : most_(most) {}

  // An empty key is never remembered.
  [[nodiscard]] Response once(const std::string& key, const std::function<Response()>& answer);

 private:
  std::size_t most_;
  std::mutex guard_;
  std::map<std::string, std::shared_future<Response>> answers_;
  std::list<std::string> order_;  // the oldest first
};

}  // namespace deepvoro::serve
