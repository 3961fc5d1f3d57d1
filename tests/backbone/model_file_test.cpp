#include "backbone/model_file.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "../cpp/expect_error.hpp"
#include "backbone/torch/network_file.hpp"
#include "core/files.hpp"

namespace deepvoro {
namespace {

namespace fs = std::filesystem;
using test::expect_error;

class ModelFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) /
              ("checkpoint_" +
               std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::create_directories(folder_);
    description_.architecture = {
        .name = "conv4", .widths = {4, 5, 6, 7}, .embedding = 2, .first_stride = 2};
    description_.input_size = 28;
    description_.pixels = {{0.5F, 0.25F, 0.125F}, {0.5F, 1.0F, 0.3F}};
    description_.recipe_json = R"({"epochs":3})";
    description_.data_sha256 = "abc";
    description_.licence = "CC0";
    description_.source = "a test";
    description_.trained_on = "noise";
    torch::manual_seed(1);
    network_ = std::make_unique<Network>(description_.architecture);
  }
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] fs::path file() const { return folder_ / "model.safetensors"; }
  void write(WeightType type = WeightType::float32) const {
    write_network(file(), description_, network_->tensors(), type);
  }
  // The file with one text of its header replaced by another of the same length.
  void damage(const std::string& from, const std::string& to) const {
    ASSERT_EQ(from.size(), to.size());
    std::string text = read_text(file());
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    std::ofstream(file(), std::ios::binary) << text.replace(at, from.size(), to);
  }

  fs::path folder_;
  ModelDescription description_;
  std::unique_ptr<Network> network_;
};

TEST_F(ModelFileTest, ComesBackAsItWas) {
  write();
  const LoadedNetwork loaded = read_network(file());
  EXPECT_EQ(loaded.description, description_);
  ASSERT_EQ(loaded.network->tensors().size(), network_->tensors().size());
  for (std::size_t i = 0; i < network_->tensors().size(); ++i)
    EXPECT_TRUE(loaded.network->tensors()[i].tensor->equal(*network_->tensors()[i].tensor))
        << network_->tensors()[i].name;
}

TEST_F(ModelFileTest, HalvesAreRounded) {
  write(WeightType::float16);
  const LoadedNetwork loaded = read_network(file());
  for (std::size_t i = 0; i < network_->tensors().size(); ++i)
    EXPECT_TRUE(loaded.network->tensors()[i].tensor->equal(
        network_->tensors()[i].tensor->to(torch::kHalf).to(torch::kFloat32)))
        << network_->tensors()[i].name;
}

TEST_F(ModelFileTest, RefusesAnotherNetwork) {
  write();
  damage(R"(\"widths\":[4,5,6,7])", R"(\"widths\":[4,5,6,8])");
  expect_error(ErrorKind::data,
               {file().string(), "trunk.3.C.weight", "(7, 6, 3, 3)", "(8, 6, 3, 3)"},
               [&] { (void)read_network(file()); });
}

TEST_F(ModelFileTest, RefusesAnUnknownNetwork) {
  write();
  damage(R"(\"name\":\"conv4\")", R"(\"name\":\"conv9\")");
  expect_error(ErrorKind::data, {file().string(), "conv9"}, [&] { (void)read_network(file()); });
}

TEST_F(ModelFileTest, RefusesAMissingTensor) {
  write();
  damage("trunk.1.BN.bias", "trunk.1.BN.bees");
  expect_error(ErrorKind::data, {file().string(), "trunk.1.BN.bias"},
               [&] { (void)read_network(file()); });
}

TEST_F(ModelFileTest, RefusesATruncatedFile) {
  write();
  fs::resize_file(file(), fs::file_size(file()) - 4);
  expect_error(ErrorKind::data, {file().string(), "truncated"},
               [&] { (void)read_network(file()); });
}

TEST_F(ModelFileTest, RefusesAFileWithoutDescription) {
  write_safetensors(file(), {}, {}, NumberType::float32);
  expect_error(ErrorKind::data, {file().string(), "deepvoro train"},
               [&] { (void)read_network(file()); });
}

TEST_F(ModelFileTest, RefusesWeightsThatAreNotFinite) {
  const torch::NoGradGuard no_gradients;
  network_->tensors()[1].tensor->fill_(std::numeric_limits<float>::quiet_NaN());
  write();
  expect_error(ErrorKind::data, {file().string(), network_->tensors()[1].name, "nan"},
               [&] { (void)read_network(file()); });
}

TEST_F(ModelFileTest, RefusesScalesOfZero) {
  description_.pixels.deviation[1] = 0;
  write();
  expect_error(ErrorKind::data, {file().string(), "deviation"},
               [&] { (void)read_network(file()); });
}

}  // namespace
}  // namespace deepvoro
