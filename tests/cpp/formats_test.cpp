#include <gtest/gtest.h>

#include <cstdint>
#include <random>

#include "deepvoro/core/error.hpp"
#include "features/formats/feature_table.hpp"
#include "features/npy.hpp"
#include "format_samples.hpp"
#include "test_store.hpp"

namespace deepvoro {
namespace {

const std::vector<float> kRowsInFileOrder{1, 2, 3, 0.5F, -1, 0, 4, 5, 6, 7, 8, 9};
const std::vector<float> kRowsByClass{0.5F, -1, 0, 7, 8, 9, 1, 2, 3, 4, 5, 6};

template <class T>
std::string raw(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

std::string safetensors(const std::string& head, const std::string& data) {
  const std::uint64_t length = head.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + head + data;
}

std::string sample_safetensors() {
  return safetensors(R"({"features":{"dtype":"F32","shape":[4,3],"data_offsets":[0,48]},)"
                     R"("labels":{"dtype":"I64","shape":[4],"data_offsets":[48,80]}})",
                     raw(kRowsInFileOrder) + raw(std::vector<std::int64_t>{5, 2, 5, 2}));
}

std::string sample_npy() {
  return npy_header("<f4", std::vector<std::uint64_t>{4, 3}) + raw(kRowsInFileOrder);
}

class Formats : public ::testing::Test {
 protected:
  FeatureTable read(const std::string& name, std::string_view content) {
    const std::filesystem::path file = folder_ / name;
    std::filesystem::remove(file);  // some file systems flush a file that is overwritten
    test::write_file(file, content);
    return read_feature_table(file, {});
  }
  std::string problem(const std::string& name, std::string_view content) {
    try {
      static_cast<void>(read(name, content));
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
  // Whatever the bytes are, they are read or refused; the sanitizers watch how.
  void read_or_refuse(const std::string& name, std::string_view content) {
    try {
      const FeatureTable table = read(name, content);
      ASSERT_EQ(table.values.size(), table.rows * table.dim);
    } catch (const Error& error) {
      ASSERT_NE(error.kind(), ErrorKind::internal) << error.what();
    }
  }
  void damage_in_every_way(const std::string& name, const std::string& content, int mutations) {
    for (std::size_t length = 0; length < content.size(); ++length)
      read_or_refuse(name, std::string_view(content).substr(0, length));
    std::mt19937 random(20240607);
    for (int i = 0; i < mutations; ++i) {
      std::string damaged = content;
      const std::size_t changes = 1 + random() % 3;
      for (std::size_t change = 0; change < changes; ++change)
        damaged[random() % damaged.size()] = static_cast<char>(random());
      read_or_refuse(name, damaged);
    }
  }

 private:
  test::TemporaryFolder folder_;
};

// A pickle of one operation again and again.
std::string repeated(std::size_t times, char operation) {
  std::string pickle(times, operation);
  pickle += '.';
  return pickle;
}

TEST_F(Formats, PicklesOfEveryProtocolAreReadClassByClass) {
  for (const std::string_view hex :
       {samples::kPickle0Hex, samples::kPickle1Hex, samples::kPickle2Hex, samples::kPickle3Hex,
        samples::kPickle4Hex, samples::kPickle5Hex}) {
    const FeatureTable table = read("x.plk", samples::from_hex(hex));
    EXPECT_EQ(table.rows, 4U);
    EXPECT_EQ(table.dim, 3U);
    EXPECT_EQ(table.values, kRowsByClass);
    ASSERT_TRUE(table.labels.has_value());
    EXPECT_EQ(table.labels->values, (std::vector<std::int64_t>{2, 2, 5, 5}));
    EXPECT_EQ(table.element, ElementType::float32);
  }
}

TEST_F(Formats, NpzAndSafetensorsAreReadInFileOrder) {
  for (const auto& [name, content] : {std::pair{"x.npz", samples::from_hex(samples::kNpzHex)},
                                      std::pair{"x.safetensors", sample_safetensors()}}) {
    const FeatureTable table = read(name, content);
    EXPECT_EQ(table.values, kRowsInFileOrder);
    EXPECT_EQ(table.labels->values, (std::vector<std::int64_t>{5, 2, 5, 2}));
  }
}

TEST_F(Formats, Hdf5IsReadUpToItsCount) {
  const FeatureTable table = read("x.h5", samples::from_hex(samples::kHdf5Hex));
  EXPECT_EQ(table.rows, 3U);
  EXPECT_EQ(table.labels->values, (std::vector<std::int64_t>{5, 2, 5}));
}

TEST_F(Formats, NpyHasNoLabels) {
  const FeatureTable table = read("x.NPY", sample_npy());
  EXPECT_EQ(table.values, kRowsInFileOrder);
  EXPECT_FALSE(table.labels.has_value());
}

TEST_F(Formats, DamagedFilesAreReadOrRefused) {
  for (const std::string_view hex :
       {samples::kPickle0Hex, samples::kPickle2Hex, samples::kPickle4Hex, samples::kPickle5Hex})
    damage_in_every_way("x.plk", samples::from_hex(hex), 3000);
  damage_in_every_way("x.npz", samples::from_hex(samples::kNpzHex), 3000);
  damage_in_every_way("x.safetensors", sample_safetensors(), 3000);
  damage_in_every_way("x.npy", sample_npy(), 3000);
}

TEST_F(Formats, TruncatedHdf5IsReadOrRefused) {
  damage_in_every_way("x.h5", samples::from_hex(samples::kHdf5Hex), 0);
}

TEST_F(Formats, SafetensorsWithImpossibleSizesAreRefused) {
  const auto with = [](const std::string& shape, const std::string& offsets) {
    return safetensors(
        R"({"x":{"dtype":"F32","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}",
        std::string(48, '\0'));
  };
  EXPECT_EQ(problem("x.safetensors", with("[4,3]", "[0,48]")), "");
  EXPECT_NE(problem("x.safetensors", with("[4,3]", "[0,44]")), "");
  EXPECT_NE(problem("x.safetensors", with("[4,3]", "[4,52]")), "");
  EXPECT_NE(problem("x.safetensors", with("[4,3]", "[48,0]")), "");
  EXPECT_NE(problem("x.safetensors", with("[4,3]", "[-1,47]")), "");
  EXPECT_NE(problem("x.safetensors", with("[4294967296,4294967299]", "[0,48]")), "");
  EXPECT_NE(problem("x.safetensors", with("[12]", "[0,48]")), "");
  EXPECT_NE(problem("x.safetensors", with("[0,3]", "[0,0]")), "");
  EXPECT_NE(problem("x.safetensors", std::string(8, '\xff')), "");
  EXPECT_NE(problem("x.safetensors", safetensors(std::string(100000, '['), "")), "");
}

TEST_F(Formats, PickleOfAnyOtherNameIsRefusedByThatName) {
  EXPECT_NE(problem("x.plk", "cos\nsystem\n(S'true'\ntR.").find("'os.system'"), std::string::npos);
  EXPECT_NE(problem("x.plk", "cbuiltins\neval\n.").find("'builtins.eval'"), std::string::npos);
  EXPECT_NE(problem("x.plk", "\x80\x04\x8c\x05posix\x8c\x06system\x93.").find("'posix.system'"),
            std::string::npos);
  EXPECT_NE(problem("x.plk", "ccollections\ndefaultdict\n(ccollections\ndefaultdict\ntR.")
                .find("anything but lists"),
            std::string::npos);
}

TEST_F(Formats, PicklesThatAskForMoreThanTheyHoldAreRefused) {
  using namespace std::string_literals;
  EXPECT_NE(problem("x.plk", "\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\x7f."s), "");  // bytes
  EXPECT_NE(problem("x.plk", "\x80\x02}r\xff\xff\xff\x7f."s), "");                    // memo
  EXPECT_NE(problem("x.plk", repeated(2'000'000, 'N')), "");                          // stack
  EXPECT_NE(problem("x.plk", repeated(100'000, '(')), "");                            // marks
  EXPECT_NE(problem("x.plk", "\x80\x02}q\0h\0h\0s."s), "");  // a dict in itself
  EXPECT_NE(problem("x.plk", ""), "");
  EXPECT_NE(problem("x.plk", "."), "");
}

TEST_F(Formats, AnEndingThatTellsNoFormatIsWrongUsage) {
  try {
    static_cast<void>(read("x.mat", ""));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
  }
}

}  // namespace
}  // namespace deepvoro
