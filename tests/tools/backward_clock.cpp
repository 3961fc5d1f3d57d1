// Preloaded into a program, lets the time of day run backwards, an hour at every look.
#include <dlfcn.h>
#include <sys/time.h>

#include <atomic>
#include <ctime>

namespace {

std::time_t earlier_each_time() {
  static std::atomic<std::time_t> now{2'000'000'000};
  return now -= 3600;
}

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  using Function = int(clockid_t, timespec*);
  static auto* const real = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, "clock_gettime"));
  if (clock != CLOCK_REALTIME) return real(clock, time);
  *time = {earlier_each_time(), 0};
  return 0;
}

extern "C" int gettimeofday(timeval* time, void* /*zone*/) noexcept {
  *time = {earlier_each_time(), 0};
  return 0;
}

extern "C" std::time_t time(std::time_t* out) noexcept {
  const std::time_t now = earlier_each_time();
  if (out != nullptr) *out = now;
  return now;
}
