#include "memory.hpp"

#include <utility>

namespace deepvoro::serve {

std::string RecentTexts::get(const std::string& key, const std::function<std::string()>& compute) {
  {
    const std::scoped_lock lock(guard_);
    if (const auto found = places_.find(key); found != places_.end()) {
      entries_.splice(entries_.begin(), entries_, found->second);
      return found->second->second;
    }
  }
  std::string text = compute();
  const std::scoped_lock lock(guard_);
  if (places_.contains(key)) return text;  // meanwhile by another thread
  entries_.emplace_front(key, text);
  places_[key] = entries_.begin();
  bytes_ += text.size();
  while (bytes_ > most_bytes_ && !entries_.empty()) {
    bytes_ -= entries_.back().second.size();
    places_.erase(entries_.back().first);
    entries_.pop_back();
  }
  return text;
}

Response AnsweredBefore::once(const std::string& key, const std::function<Response()>& answer) {
  if (key.empty()) return answer();
  std::promise<Response> promise;
  std::shared_future<Response> earlier;
  {
    const std::scoped_lock lock(guard_);
    const auto [found, is_new] = answers_.try_emplace(key);
    if (is_new) {
      found->second = promise.get_future().share();
      order_.push_back(key);
      if (order_.size() > most_) {
        answers_.erase(order_.front());
        order_.pop_front();
      }
    } else {
      earlier = found->second;
    }
  }
  if (earlier.valid()) return earlier.get();
  Response response = answer();
  constexpr unsigned failures = 500;
  if (response.status >= failures) {
    const std::scoped_lock lock(guard_);
    answers_.erase(key);
    order_.remove(key);
  }
  promise.set_value(response);
  return response;
}

}  // namespace deepvoro::serve
