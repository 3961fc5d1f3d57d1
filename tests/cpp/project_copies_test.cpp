#include <gtest/gtest.h>

#include "project/project.hpp"
#include "test_project.hpp"
#include "test_store.hpp"

namespace deepvoro {
namespace {

using test::coloured_png;
using test::open_test_project;
using test::teach_one;

// A PNG with something after its end shows the same.
std::string same_pixels(const std::string& png) {
  return png + "x";
}

class CopiesTest : public testing::Test {
 protected:
  [[nodiscard]] static std::size_t count(const Project& project, const std::string& name) {
    return project.snapshot()->pictures_of(name).size();
  }
  test::TemporaryFolder folder_;
};

TEST_F(CopiesTest, ThePictureThatIsThereIsNotAddedAgain) {
  const auto project = open_test_project(folder_.path() / "project");
  const std::string png = coloured_png(0, 1);
  const Project::Taught first = teach_one(*project, "red", png);
  EXPECT_FALSE(first.known.front());
  const Project::Taught again = teach_one(*project, "red", png);
  EXPECT_TRUE(again.known.front());
  EXPECT_EQ(again.ids, first.ids);
  EXPECT_EQ(again.revision, first.revision);
  EXPECT_TRUE(again.notes.empty());
  EXPECT_EQ(count(*project, "red"), 1U);
  project->undo();  // what was added first
  EXPECT_FALSE(project->snapshot()->has_class("red"));
}

TEST_F(CopiesTest, TwiceInOneRequestIsOnce) {
  const auto project = open_test_project(folder_.path() / "project");
  const std::string png = coloured_png(0, 1);
  const std::string other = coloured_png(0, 2);
  const auto bytes = [](const std::string& text) { return std::as_bytes(std::span(text)); };
  const Project::Taught taught = project->teach(
      {{"red", "a.png", bytes(png)}, {"red", "b.png", bytes(png)}, {"red", "c.png", bytes(other)}});
  EXPECT_EQ(taught.known, (std::vector<bool>{false, true, false}));
  EXPECT_EQ(taught.ids[0], taught.ids[1]);
  EXPECT_EQ(count(*project, "red"), 2U);
  EXPECT_EQ(project->snapshot()->undo, "teach 2 pictures of red");
}

TEST_F(CopiesTest, InAnotherClassItIsAddedWithANote) {
  const auto project = open_test_project(folder_.path() / "project");
  const std::string png = coloured_png(0, 1);
  const std::string id = teach_one(*project, "red", png).ids.front();
  const Project::Taught taught = teach_one(*project, "green", png);
  EXPECT_FALSE(taught.known.front());
  EXPECT_EQ(taught.notes, (std::vector<std::string>{"picture is the same picture as red/" + id +
                                                    ".png; remove it from the wrong class"}));
  EXPECT_EQ(count(*project, "green"), 1U);
}

TEST_F(CopiesTest, AnotherFileOfTheSamePixelsIsAnotherPicture) {
  const auto project = open_test_project(folder_.path() / "project");
  const std::string png = coloured_png(0, 1);
  teach_one(*project, "red", png);
  EXPECT_FALSE(teach_one(*project, "red", same_pixels(png)).known.front());
  EXPECT_EQ(count(*project, "red"), 2U);
}

TEST_F(CopiesTest, WithoutFilesTheFeaturesTell) {
  const std::filesystem::path path = folder_.path() / "project";
  const std::string png = coloured_png(0, 1);
  teach_one(*open_test_project(path), "red", png);
  const std::filesystem::path file = folder_.path() / "alone.dv";
  std::filesystem::copy_file(path / "classifier.dv", file);
  const auto project = open_test_project(file);
  EXPECT_TRUE(teach_one(*project, "red", png).known.front());
  EXPECT_FALSE(teach_one(*project, "red", coloured_png(0, 2)).known.front());
}

}  // namespace
}  // namespace deepvoro
