#include "harness.hpp"

#include "deepvoro/core/error.hpp"

namespace deepvoro::fuzz {
namespace {

std::vector<Harness>& registered() {
  static std::vector<Harness> harnesses;
  return harnesses;
}

}  // namespace

Harness::Harness(const char* name, void (*read)(Bytes bytes)) : name_(name), read_(read) {
  registered().push_back(*this);
}

const std::vector<Harness>& Harness::all() {
  return registered();
}

void Harness::feed(Bytes bytes) const {
  try {
    read_(bytes);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) throw;
  }
}

std::string text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace deepvoro::fuzz
