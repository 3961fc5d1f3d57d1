#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "expect_error.hpp"
#include "features/formats/hdf5_file.hpp"

namespace deepvoro {
namespace {

using SentBytes = std::vector<std::byte>;

template <class Send>
SentBytes sent_by(const Send& send) {
  SentBytes sent;
  send([&](std::span<const std::byte> part) { sent.insert(sent.end(), part.begin(), part.end()); });
  return sent;
}

SentBytes array_answer() {
  static constexpr std::array<float, 6> values{1, 2, 3, 4, 5, 6};
  return sent_by([](const ByteSink& answer) {
    send_array(
        {.type = NumberType::float32, .shape = {2, 3}, .data = std::as_bytes(std::span(values))},
        answer);
  });
}

void expect_no_array(const SentBytes& answer) {
  test::expect_error(ErrorKind::data, {"file.h5", "damaged"}, [&] {
    (void)array_in({nullptr, answer}, "file.h5");
  });
}

TEST(Hdf5Answer, HandsOverAnArray) {
  const SentBytes answer = array_answer();
  const LoadedArray loaded = array_in({nullptr, answer}, "file.h5");
  EXPECT_EQ(loaded.array.type, NumberType::float32);
  EXPECT_EQ(loaded.array.shape, (std::vector<std::uint64_t>{2, 3}));
  EXPECT_EQ(loaded.array.data.size(), 24U);
}

TEST(Hdf5Answer, IsBelievedNoMoreThanAFile) {
  const SentBytes whole = array_answer();
  for (std::size_t size = 0; size < whole.size(); ++size)
    expect_no_array({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)});
  constexpr std::size_t dimensions = 8;
  for (const std::size_t place : {std::size_t{0}, dimensions, dimensions + 7, std::size_t{16}}) {
    SentBytes damaged = whole;
    damaged[place] = std::byte{255};
    expect_no_array(damaged);
  }
}

TEST(Hdf5Answer, HandsOverNames) {
  const std::vector<std::string> names{"features", "", "labels"};
  SentBytes answer = sent_by([&](const ByteSink& out) { send_names(names, out); });
  EXPECT_EQ(names_in({nullptr, answer}, "file.h5"), names);
  answer.pop_back();
  test::expect_error(ErrorKind::data, {"file.h5"}, [&] {
    (void)names_in({nullptr, answer}, "file.h5");
  });
}

}  // namespace
}  // namespace deepvoro
