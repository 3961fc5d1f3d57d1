#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace deepvoro::fuzz {

using Bytes = std::span<const std::byte>;

// One reader of bytes, given what it reads as the library gives it. Whatever the bytes are, it
// returns or throws an Error of usage or data. To add one, write a file in harnesses/.
class Harness {
 public:
  // Adds itself to all().
  Harness(const char* name, void (*read)(Bytes bytes));

  [[nodiscard]] static const std::vector<Harness>& all();
  [[nodiscard]] const char* name() const { return name_; }
  // Returns after an error that bytes may cause; lets any other through.
  void feed(Bytes bytes) const;

 private:
  const char* name_;
  void (*read_)(Bytes bytes);
};

// A file of this name that holds the bytes, for readers of files. Fuzzing keeps it in memory.
[[nodiscard]] std::filesystem::path file_with(Bytes bytes, const std::string& name);

[[nodiscard]] std::string text_of(Bytes bytes);

}  // namespace deepvoro::fuzz
