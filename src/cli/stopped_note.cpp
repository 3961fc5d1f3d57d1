#include "stopped_note.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>

namespace deepvoro {
namespace {

// A handler has no arguments of its own; both are written before it is set. The text is for when
// the file is there, or whenever there is none to look for.
std::string file_of_note;
std::string text_of_note;

// Only what may be called from a handler.
void say_and_stop(int signal) {
  if (file_of_note.empty() || ::access(file_of_note.c_str(), F_OK) == 0)
    (void)!::write(STDERR_FILENO, text_of_note.data(), text_of_note.size());
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

auto set_handler(const std::string& file, const std::string& outcome) {
  const bool on_terminal = ::isatty(STDERR_FILENO) != 0;
  file_of_note = file;
  text_of_note = fmt::format("{}deepvoro: stopped; {}\n", on_terminal ? "\r\033[K" : "", outcome);
  const auto before = std::signal(SIGINT, say_and_stop);
  if (before == SIG_IGN) std::signal(SIGINT, SIG_IGN);  // a shell's way to run in the background
  return before;
}

}  // namespace

StoppedNote::StoppedNote() : before_(set_handler("", "nothing was written")) {}

StoppedNote::StoppedNote(const std::string& file)
    : before_(set_handler(file, "the same command continues from " + file)) {}

StoppedNote::~StoppedNote() {
  std::signal(SIGINT, before_);
}

}  // namespace deepvoro
