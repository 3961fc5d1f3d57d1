#include "project/project.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "core/files.hpp"
#include "deepvoro/backbone/embedder.hpp"
#include "expect_error.hpp"
#include "features/formats/half.hpp"
#include "project/project_error.hpp"
#include "test_project.hpp"
#include "test_store.hpp"

namespace deepvoro {
namespace {

namespace fs = std::filesystem;
using test::coloured_png;
using test::open_test_project;
using test::teach_one;
using test::TemporaryFolder;

template <class Action>
void expect_refusal(Refusal refusal, const Action& action) {
  try {
    action();
  } catch (const ProjectError& error) {
    EXPECT_EQ(error.refusal(), refusal) << error.what();
    return;
  }
  FAIL() << "nothing was refused";
}

// A classifier of what is in a folder, made without a project.
std::string fitted_file(const fs::path& pictures, const fs::path& out, bool fast_decode = false) {
  const LabelledPictures all = labelled_pictures_at(pictures);
  test::ColourNetwork network;
  std::vector<View> views;
  for (const std::string& name : test::kProjectViews) views.push_back(view_named(name));
  Embedder embedder(network, views);
  NamedSamples samples{.classes = all.classes, .labels = all.labels, .dim = network.dim()};
  samples.views.resize(views.size());
  for (const Picture& picture : all.pictures) {
    samples.names.push_back(picture.name);
    const auto halves = embedder.embed(
        embedder.seen(fast_decode ? picture.read_reduced(embedder.least_side()) : picture.read()),
        picture.where);
    for (std::size_t i = 0; i < halves.size(); ++i)
      samples.views[i / network.dim()].push_back(half_to_float(halves[i]));
  }
  Classifier::fit(samples, {.views = test::kProjectViews}).save(out);
  return read_text(out);
}

class ProjectTest : public testing::Test {
 protected:
  [[nodiscard]] fs::path path() const { return folder_.path() / "project"; }
  [[nodiscard]] std::string saved(Project& project) const {
    project.save();
    return read_text(project.classifier_file());
  }
  [[nodiscard]] std::string fitted() const {
    return fitted_file(path() / "pictures", folder_.path() / "fitted.dv");
  }
  static void teach_some(Project& project) {
    for (std::uint32_t i = 0; i < 3; ++i) {
      teach_one(project, "red", coloured_png(0, i));
      teach_one(project, "green", coloured_png(1, 10 + i));
    }
  }

  TemporaryFolder folder_;
};

TEST_F(ProjectTest, SavesWhatAFitOfItsFolderMakes) {
  const auto project = open_test_project(path());
  teach_some(*project);
  EXPECT_EQ(saved(*project), fitted());
  const std::string id = teach_one(*project, "blue", coloured_png(2, 7)).ids.front();
  project->move_picture(id, "green");
  project->rename_class("red", "crimson red");
  project->remove_class("blue");
  EXPECT_EQ(saved(*project), fitted());
  EXPECT_EQ(project->snapshot()->classifier->classes(),
            (std::vector<std::string>{"crimson red", "green"}));
}

TEST_F(ProjectTest, HasEverythingAgainWhenItIsOpenedAgain) {
  std::vector<std::string> ids;
  std::string before;
  {
    const auto project = open_test_project(path());
    teach_some(*project);
    project->add_class("empty");
    for (const auto& [id, picture] : project->snapshot()->pictures) ids.push_back(id);
    before = saved(*project);
  }
  const auto project = open_test_project(path());
  std::vector<std::string> after;
  for (const auto& [id, picture] : project->snapshot()->pictures) after.push_back(id);
  EXPECT_EQ(after, ids);
  EXPECT_EQ(project->snapshot()->classes, (std::vector<std::string>{"empty", "green", "red"}));
  EXPECT_EQ(saved(*project), before);
}

TEST_F(ProjectTest, AgreesWithWhatIsOnDiskWhenItIsOpened) {
  std::string removed;
  {
    const auto project = open_test_project(path());
    teach_some(*project);
    removed = project->snapshot()->pictures_of("red").front()->home.name;
  }
  fs::remove(path() / "pictures" / "red" / removed);
  std::ofstream(path() / "pictures" / "green" / "mine.png") << coloured_png(1, 77);
  fs::create_directory(path() / "pictures" / "blue");
  std::ofstream(path() / "pictures" / "blue" / "a.png") << coloured_png(2, 78);
  // Another picture under a name that the classifier knows.
  const std::string known = (*fs::directory_iterator(path() / "pictures" / "red")).path();
  std::ofstream(known) << coloured_png(0, 79);
  const auto project = open_test_project(path());
  EXPECT_EQ(project->snapshot()->pictures.size(), 7U);
  EXPECT_EQ(saved(*project), fitted());
}

TEST_F(ProjectTest, LooksAtPicturesAsItsClassifierDoes) {
  const auto jpeg = [](std::uint32_t seed) {
    return test::jpeg_bytes(test::random_picture(160, 144, seed));
  };
  for (const std::string class_name : {"red", "green"}) {
    fs::create_directories(path() / "pictures" / class_name);
    std::ofstream(path() / "pictures" / class_name / "a.jpg") << jpeg(1);
  }
  const auto project =
      open_project({.path = path()}, test::colour_network(100, {.fast_decode = true}));
  teach_one(*project, "red", jpeg(2));
  const fs::path out = folder_.path() / "fitted.dv";
  EXPECT_EQ(saved(*project), fitted_file(path() / "pictures", out, true));
  EXPECT_NE(saved(*project), fitted_file(path() / "pictures", out, false));
}

TEST_F(ProjectTest, LeavesOutPicturesThatCannotBeRead) {
  fs::create_directories(path() / "red");
  fs::create_directories(path() / "green");
  std::ofstream(path() / "red" / "good.png") << coloured_png(0, 1);
  std::ofstream(path() / "green" / "good.png") << coloured_png(1, 1);
  std::ofstream(path() / "green" / "bad.png") << "nothing";
  std::vector<std::string> problems;
  const auto project = open_project(
      {.path = path(), .problem = [&](const std::string& problem) { problems.push_back(problem); }},
      test::colour_network());
  EXPECT_EQ(project->snapshot()->pictures.size(), 2U);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_NE(problems.front().find("bad.png"), std::string::npos);
  // A folder of somebody's pictures is served as it is.
  teach_one(*project, "red", coloured_png(0, 2));
  EXPECT_EQ(std::distance(fs::directory_iterator(path() / "red"), fs::directory_iterator()), 2);
}

TEST_F(ProjectTest, UndoesAndRedoesEveryChange) {
  const auto project = open_test_project(path());
  teach_some(*project);
  const std::string picture = project->snapshot()->pictures_of("red").front()->id;
  std::vector<std::string> states{saved(*project)};
  const auto did = [&](auto&& change) {
    change();
    states.push_back(saved(*project));
    EXPECT_EQ(states.back(), fitted());
  };
  did([&] { project->move_picture(picture, "green"); });
  did([&] { project->remove_picture(picture); });
  did([&] { project->rename_class("green", "lime"); });
  did([&] { project->remove_class("lime"); });
  did([&] { teach_one(*project, "blue", coloured_png(2, 5)); });
  for (std::size_t i = states.size() - 1; i > 0; --i) {
    ASSERT_TRUE(project->snapshot()->undo.has_value());
    project->undo();
    EXPECT_EQ(saved(*project), states[i - 1]) << i;
    EXPECT_EQ(saved(*project), fitted()) << i;
  }
  for (std::size_t i = 1; i < states.size(); ++i) {
    project->redo();
    EXPECT_EQ(saved(*project), states[i]) << i;
  }
  EXPECT_FALSE(project->snapshot()->redo.has_value());
  expect_refusal(Refusal::invalid, [&] { project->redo(); });
}

TEST_F(ProjectTest, UndoesNeighboursOfOneGroupTogether) {
  const auto project = open_test_project(path());
  teach_some(*project);
  teach_one(*project, "blue", coloured_png(2, 1), "drop");
  teach_one(*project, "blue", coloured_png(2, 2), "drop");
  EXPECT_EQ(project->snapshot()->pictures.size(), 8U);
  project->undo();
  EXPECT_EQ(project->snapshot()->pictures.size(), 6U);
  EXPECT_FALSE(project->snapshot()->has_class("blue"));
  project->redo();
  EXPECT_EQ(project->snapshot()->pictures_of("blue").size(), 2U);
}

TEST_F(ProjectTest, RefusesWhatCannotBe) {
  const auto project = open_test_project(path());
  teach_some(*project);
  const std::uint64_t revision = project->snapshot()->revision;
  const std::vector<std::string> names{"",         ".hidden",   " space",  "a/b",
                                       "a\\b",     "line\nend", "Unknown", std::string(81, 'x'),
                                       "\xff\xfe", "x.dv",      "RED"};
  for (const std::string& name : names) {
    expect_refusal(Refusal::invalid, [&] { project->add_class(name); });
    expect_refusal(Refusal::invalid, [&] { teach_one(*project, name, coloured_png(0, 1)); });
  }
  expect_refusal(Refusal::invalid, [&] { project->add_class("red"); });
  expect_refusal(Refusal::invalid, [&] { project->rename_class("red", "green"); });
  expect_refusal(Refusal::missing, [&] { project->rename_class("blue", "grey"); });
  expect_refusal(Refusal::missing, [&] { project->remove_class("blue"); });
  expect_refusal(Refusal::missing, [&] { project->remove_picture("../../etc/passwd"); });
  expect_refusal(Refusal::missing, [&] { project->move_picture("0", "red"); });
  expect_refusal(Refusal::missing, [&] { (void)project->file_of("0"); });
  EXPECT_EQ(project->snapshot()->revision, revision);
  project->rename_class("red", "RED");  // by case alone, of the same class
  EXPECT_TRUE(project->snapshot()->has_class("RED"));
}

TEST_F(ProjectTest, TeachesTheGoodOfSeveralPictures) {
  const auto project = open_test_project(path());
  const std::string good = coloured_png(0, 1);
  const std::string bad = "no picture";
  const std::string bomb = test::png_header(60'000, 60'000);
  const auto as_bytes = [](const std::string& text) { return std::as_bytes(std::span(text)); };
  const Project::Taught taught = project->teach({{"red", "bad.png", as_bytes(bad)},
                                                 {"red", "good.png", as_bytes(good)},
                                                 {"red", "bomb.png", as_bytes(bomb)}});
  EXPECT_TRUE(taught.ids[0].empty());
  EXPECT_FALSE(taught.ids[1].empty());
  EXPECT_TRUE(taught.ids[2].empty());
  EXPECT_NE(taught.errors[0].find("bad.png"), std::string::npos);
  EXPECT_NE(taught.errors[2].find("60000 x 60000"), std::string::npos);
  const std::vector<std::byte> file = project->file_of(taught.ids[1]);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(file.data()), file.size()), good);
}

TEST_F(ProjectTest, IsServedByOneProcessAlone) {
  const auto project = open_test_project(path());
  teach_some(*project);
  test::expect_error(ErrorKind::data, {"served by another"}, [&] { open_test_project(path()); });
  EXPECT_EQ(open_test_project(path(), true)->snapshot()->pictures.size(), 6U);
}

TEST_F(ProjectTest, OfAClassifierAloneChangesItsFile) {
  {
    const auto project = open_test_project(path());
    teach_some(*project);
  }
  const fs::path file = folder_.path() / "alone.dv";
  fs::copy_file(path() / "classifier.dv", file);
  const std::string before = read_text(file);
  const auto project = open_test_project(file);
  teach_one(*project, "blue", coloured_png(2, 1));
  EXPECT_EQ(Classifier::load(file).classes(), (std::vector<std::string>{"blue", "green", "red"}));
  project->undo();
  EXPECT_EQ(read_text(file), before);
  const std::string id = project->snapshot()->pictures_of("red").front()->id;
  expect_refusal(Refusal::missing, [&] { (void)project->file_of(id); });
}

TEST_F(ProjectTest, LosesNothingThatManyThreadsTeachAtOnce) {
  const auto project = open_test_project(path());
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (std::uint32_t i = 0; i < 5; ++i) {
        const auto taught =
            teach_one(*project, "class " + std::to_string(t % 2), coloured_png(t % 2, 100 * t + i));
        const auto snapshot = project->snapshot();
        EXPECT_GE(snapshot->revision, taught.revision);
        EXPECT_TRUE(snapshot->pictures.contains(taught.ids.front()));
        EXPECT_EQ(snapshot->classifier->labels().size(), snapshot->pictures.size());
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(project->snapshot()->pictures.size(), 20U);
  EXPECT_EQ(saved(*project), fitted());
}

TEST_F(ProjectTest, RefusesPicturesWhenTooManyWait) {
  const auto project = open_project({.path = path()}, test::colour_network(0));
  expect_refusal(Refusal::busy, [&] { teach_one(*project, "red", coloured_png(0, 1)); });
  EXPECT_TRUE(fs::is_empty(path() / "pictures"));
}

}  // namespace
}  // namespace deepvoro
