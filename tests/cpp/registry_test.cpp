#include "deepvoro/backbone/registry.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "backbone/model_file.hpp"
#include "expect_error.hpp"

namespace deepvoro {
namespace {

namespace fs = std::filesystem;
using test::expect_code;
using test::expect_error;

class Registry : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) /
              ("registry_" +
               std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::create_directories(folder_ / "backbones");
    for (const char* variable : {"DEEPVORO_DATA", "XDG_DATA_HOME", "HOME"}) {
      const char* value = std::getenv(variable);
      before_.emplace_back(variable, value != nullptr ? value : "");
      ::unsetenv(variable);
    }
    ::setenv("DEEPVORO_DATA", folder_.c_str(), 1);
  }
  void TearDown() override {
    fs::remove_all(folder_);
    for (const auto& [variable, value] : before_)
      value.empty() ? ::unsetenv(variable) : ::setenv(variable, value.c_str(), 1);
  }

  [[nodiscard]] fs::path file(const std::string& name) const {
    return folder_ / "backbones" / (name + ".safetensors");
  }
  void install(const std::string& name) const {
    write_model_file(file(name), description_, {}, WeightType::float32);
  }

  fs::path folder_;
  ModelDescription description_{
      .architecture = {.name = "resnet18"}, .licence = "MIT", .source = "somewhere"};
  std::vector<std::pair<const char*, std::string>> before_;
};

TEST_F(Registry, ListsWhatIsInstalled) {
  install("second");
  install("first");
  std::ofstream(folder_ / "backbones/notes.txt") << "no model";
  std::vector<InstalledBackbone> found = installed_backbones();
  std::erase_if(found,
                [&](const auto& one) { return one.file.parent_path() != folder_ / "backbones"; });
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].name, "first");
  EXPECT_EQ(found[1].name, "second");
  EXPECT_EQ(found[1].file, file("second"));
  EXPECT_EQ(found[1].description, description_);
}

TEST_F(Registry, TakesWhatAModelDoesNotSayFromBesideIt) {
  install("mine");
  std::ofstream(folder_ / "backbones/mine.about.json")
      << R"({"licence": "other", "trained_on": "clouds"})";
  const std::vector<InstalledBackbone> found = installed_backbones();
  const auto mine = std::ranges::find(found, "mine", &InstalledBackbone::name);
  ASSERT_NE(mine, found.end());
  ModelDescription expected = description_;
  expected.trained_on = "clouds";
  EXPECT_EQ(mine->description, expected);
}

TEST_F(Registry, NamesADamagedFileBesideAModel) {
  install("mine");
  const fs::path about = folder_ / "backbones/mine.about.json";
  for (const char* text : {"{", "[]", R"({"trained_on": 1})"}) {
    std::ofstream(about) << text;
    expect_error(ErrorKind::data, {about.string()}, [] { (void)installed_backbones(); });
  }
}

TEST_F(Registry, FindsFilesByName) {
  install("mine");
  EXPECT_EQ(backbone_file("mine"), file("mine"));
}

TEST_F(Registry, TakesPathsAsTheyAre) {
  install("mine");
  for (const std::string& path : {file("mine").string(), std::string("gone.ts"),
                                  std::string("gone.safetensors"), std::string("no/such")})
    EXPECT_EQ(backbone_file(path), path);
}

TEST_F(Registry, SaysHowToGetWhatIsMissing) {
  expect_error(ErrorKind::data, {"'resnet50'", "deepvoro backbone install resnet50"},
               [] { (void)backbone_file("resnet50"); });
  expect_error(ErrorKind::data, {"'what'", "deepvoro backbone list"},
               [] { (void)backbone_file("what"); });
  for (const char* name : {"resnet50", "what"})
    expect_code(ErrorCode::missing_network, [&] { (void)backbone_file(name); });
}

TEST_F(Registry, NamesADamagedFile) {
  std::ofstream(file("broken")) << "no model";
  expect_error(ErrorKind::data, {file("broken").string()}, [] { (void)installed_backbones(); });
}

TEST_F(Registry, LiesInTheDataFolderOfTheUser) {
  EXPECT_EQ(user_backbone_folder(), folder_ / "backbones");
  ::unsetenv("DEEPVORO_DATA");
  expect_error(ErrorKind::data, {"DEEPVORO_DATA"}, [] { (void)user_backbone_folder(); });
  EXPECT_NO_THROW((void)installed_backbones());
  ::setenv("HOME", "/home/me", 1);
  EXPECT_EQ(user_backbone_folder(), "/home/me/.local/share/deepvoro/backbones");
  ::setenv("XDG_DATA_HOME", "/data", 1);
  EXPECT_EQ(user_backbone_folder(), "/data/deepvoro/backbones");
}

}  // namespace
}  // namespace deepvoro
