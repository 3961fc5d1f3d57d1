#include "project/classifier_saver.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>

#include "deepvoro/core/error.hpp"
#include "test_project.hpp"
#include "test_store.hpp"

namespace deepvoro {
namespace {

class ClassifierSaverTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto project = test::open_test_project(folder_.path() / "project");
    test::teach_one(*project, "red", test::coloured_png(0, 1));
    snapshot_ = project->snapshot();
    saver_.emplace(
        ClassifierSaver::Parts{.file = file_,
                               .last_snapshot = [this] { return snapshot_; },
                               .problem = [this](const auto& what) { problems_.push_back(what); }});
  }

  test::TemporaryFolder folder_;
  std::filesystem::path file_ = folder_.path() / "saved.dv";
  std::shared_ptr<const ProjectSnapshot> snapshot_;
  std::vector<std::string> problems_;
  std::optional<ClassifierSaver> saver_;
};

TEST_F(ClassifierSaverTest, SavesAtTheEndWhatIsNotSaved) {
  saver_.reset();
  EXPECT_EQ(Classifier::load(file_).classes(), std::vector<std::string>{"red"});
  EXPECT_TRUE(problems_.empty());
}

TEST_F(ClassifierSaverTest, AProblemAtTheEndIsToldOnce) {
  std::filesystem::create_directories(file_ / "in the way");
  EXPECT_THROW(saver_->save(), Error);
  saver_.reset();  // whoever called save() knows already
  EXPECT_TRUE(problems_.empty());
}

TEST_F(ClassifierSaverTest, AProblemThatNobodyKnowsIsToldAtTheEnd) {
  std::filesystem::create_directories(file_ / "in the way");
  saver_.reset();
  ASSERT_EQ(problems_.size(), 1U);
  EXPECT_NE(problems_.front().find("saved.dv"), std::string::npos);
}

TEST_F(ClassifierSaverTest, WhatChangedAfterAProblemIsTriedAgain) {
  std::filesystem::create_directories(file_ / "in the way");
  EXPECT_THROW(saver_->save(), Error);
  auto next = std::make_shared<ProjectSnapshot>(*snapshot_);
  ++next->revision;
  snapshot_ = next;
  std::filesystem::remove_all(file_);
  saver_.reset();
  EXPECT_TRUE(std::filesystem::is_regular_file(file_));
}

}  // namespace
}  // namespace deepvoro
