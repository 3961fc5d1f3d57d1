#include "project/project_check.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "expect_error.hpp"
#include "project/project_archive.hpp"
#include "project/project_map.hpp"
#include "test_project.hpp"
#include "test_store.hpp"

namespace deepvoro {
namespace {

using test::coloured_png;
using test::teach_one;

class TaughtProject : public testing::Test {
 protected:
  void SetUp() override {
    for (std::uint32_t i = 0; i < 4; ++i)
      for (std::size_t colour = 0; colour < 3; ++colour)
        teach_one(*project_, std::string("class ") + "rgb"[colour],
                  coloured_png(colour, static_cast<std::uint32_t>(10 * colour) + i));
    // In the wrong class.
    wrong_ = teach_one(*project_, "class b", coloured_png(0, 99)).ids.front();
    teach_one(*project_, "alone", coloured_png(1, 98));
  }

  test::TemporaryFolder folder_;
  std::unique_ptr<Project> project_ = test::open_test_project(folder_ / "project");
  std::string wrong_;
};

TEST_F(TaughtProject, IsCheckedAsItsClassifierWasWhenItWasFitted) {
  const auto snapshot = project_->snapshot();
  const ProjectCheck check = check_project(*snapshot);
  const Calibration& calibration = snapshot->classifier->calibration();
  const LeftOutCount counted = count_left_out(calibration, snapshot->classifier->labels());
  EXPECT_EQ(check.pictures.size(), counted.samples);
  EXPECT_EQ(check.pictures.size(), 13U);  // one is alone in its class
  EXPECT_EQ(check.right(), counted.correct);
  for (std::size_t i = 0; i < snapshot->sample_ids.size(); ++i) {
    const auto place = check.places.find(snapshot->sample_ids[i]);
    ASSERT_EQ(place != check.places.end(), calibration.left_out[i].has_value());
    if (place == check.places.end()) continue;
    const ProjectCheck::Picture& picture = check.pictures[place->second];
    EXPECT_EQ(picture.answer, *calibration.left_out[i]);
    EXPECT_EQ(picture.label, snapshot->classifier->labels()[i]);
    ASSERT_TRUE(picture.probability.has_value());
    if (picture.answer == picture.label) {
      EXPECT_DOUBLE_EQ(picture.doubt, 1 - *picture.probability);
    } else {
      EXPECT_GE(picture.doubt, *picture.probability);
    }
  }
  EXPECT_EQ(check.pictures.front().id, wrong_);
  EXPECT_TRUE(std::ranges::is_sorted(check.pictures, std::ranges::greater(),
                                     &ProjectCheck::Picture::doubt));
}

TEST_F(TaughtProject, HasAMapWithTheCellOfTheNearestPictureEverywhere) {
  const auto snapshot = project_->snapshot();
  const ProjectMap map = map_project(*snapshot);
  ASSERT_EQ(map.points.size(), 14U);
  const auto [left, bottom, right, top] = map.bounds;
  for (const PlanePoint& point : map.points) {
    EXPECT_GT(point[0], left);
    EXPECT_LT(point[0], right);
    EXPECT_GT(point[1], bottom);
    EXPECT_LT(point[1], top);
  }
  const double side = (right - left) / static_cast<double>(map.width);
  EXPECT_NEAR(side, (top - bottom) / static_cast<double>(map.height), 1e-9 * side);
  std::vector<std::size_t> raster;
  for (const auto& [label, length] : map.runs) raster.insert(raster.end(), length, label);
  ASSERT_EQ(raster.size(), map.width * map.height);
  for (std::size_t i = 0; i < raster.size(); i += 37) {
    const double x = left + side * (static_cast<double>(i % map.width) + 0.5);
    const double y = top - side * (static_cast<double>(i / map.width) + 0.5);
    const auto distance = [&](const PlanePoint& point) {
      return std::hypot(point[0] - x, point[1] - y);
    };
    const auto nearest = std::ranges::min_element(map.points, {}, distance) - map.points.begin();
    EXPECT_EQ(raster[i], snapshot->classifier->labels()[static_cast<std::size_t>(nearest)]);
  }
}

TEST_F(TaughtProject, ComesOutOfItsArchiveAgain) {
  const std::filesystem::path file = folder_ / "project.zip";
  project_->add_class("nothing yet");
  write_archive(*project_, *project_->snapshot(), file);
  const std::string bytes = test::read_file(file);
  const ArchivedPictures archived = read_archive(std::as_bytes(std::span(bytes)), 1 << 20);
  ASSERT_EQ(archived.pictures.size(), 14U);
  const auto other = test::open_test_project(folder_ / "other");
  EXPECT_EQ(archived.classes, std::vector<std::string>{"nothing yet"});
  other->teach(archived.pictures, {}, archived.classes);
  // Names of files are others, so their order may be, but not what there is.
  EXPECT_EQ(other->snapshot()->classes, project_->snapshot()->classes);
  for (const std::string& name : project_->snapshot()->classes)
    EXPECT_EQ(other->snapshot()->pictures_of(name).size(),
              project_->snapshot()->pictures_of(name).size());
  test::expect_error(ErrorKind::data, {"too large"},
                     [&] { (void)read_archive(std::as_bytes(std::span(bytes)), 100); });
}

}  // namespace
}  // namespace deepvoro
