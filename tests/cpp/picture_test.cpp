#include "deepvoro/picture/picture.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "expect_error.hpp"
#include "test_pictures.hpp"
#include "test_store.hpp"

namespace deepvoro {
namespace {

namespace fs = std::filesystem;
using test::expect_error;
using test::png_bytes;
using test::random_picture;
using test::TemporaryFolder;
using test::write_file;

std::vector<std::byte> as_bytes(const std::string& text) {
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

std::vector<std::string> names_of(const std::vector<Picture>& pictures) {
  std::vector<std::string> names;
  for (const Picture& picture : pictures) names.push_back(picture.name);
  return names;
}

TEST(Picture, BytesAndPixelsShowTheSame) {
  const Bitmap bitmap = random_picture(9, 7, 1);
  const Picture bytes = picture_from_bytes(as_bytes(png_bytes(bitmap)), "door");
  const Picture pixels = picture_from_pixels(bitmap, "camera");
  EXPECT_EQ(bytes.read(), bitmap);
  EXPECT_EQ(pixels.read(), bitmap);
  EXPECT_EQ(bytes.name, "door");
  EXPECT_EQ(pixels.where, "camera");
  EXPECT_TRUE(bytes.file.empty());
  Bitmap again;
  std::thread([&] { again = Picture(bytes).read(); }).join();
  EXPECT_EQ(again, bitmap);
}

TEST(Picture, AJpegMayBeReadReducedWhereverItLies) {
  const TemporaryFolder folder;
  const std::string file = test::jpeg_bytes(random_picture(64, 48, 1));
  fs::create_directories(folder / "all/class");
  write_file(folder / "all/class/a.jpg", file);
  write_file(folder / "a.tar", test::tar_bytes({{"a.jpg", file}}));
  for (const Picture& picture :
       {picture_from_bytes(as_bytes(file)), pictures_at(folder / "all/class/a.jpg").front(),
        pictures_at(folder / "a.tar").front(),
        labelled_pictures_at(folder / "all").pictures.front()}) {
    EXPECT_EQ(picture.read().width, 64U);
    EXPECT_EQ(picture.read_reduced(24).width, 32U);
    EXPECT_EQ(picture.read_reduced(25), picture.read());
  }
}

TEST(Picture, InMemoryItIsCalledByWhatItShows) {
  const Bitmap bitmap = random_picture(9, 7, 1);
  EXPECT_EQ(picture_from_pixels(bitmap).name, picture_from_pixels(Bitmap(bitmap)).name);
  EXPECT_NE(picture_from_pixels(bitmap).name, picture_from_pixels(random_picture(9, 7, 2)).name);
  // The same bytes in another shape are another picture.
  EXPECT_NE(picture_from_pixels({2, 3, std::vector<std::uint8_t>(18)}).name,
            picture_from_pixels({3, 2, std::vector<std::uint8_t>(18)}).name);
  const std::vector<std::byte> file = as_bytes(png_bytes(bitmap));
  EXPECT_EQ(picture_from_bytes(file).name, picture_from_bytes(file).name);
  EXPECT_FALSE(picture_from_bytes(file).name.empty());
}

TEST(Picture, BadBytesAreToldWhenTheyAreRead) {
  const Picture text = picture_from_bytes(as_bytes("no picture"), "door");
  expect_error(ErrorKind::data, {"door", "is not a picture of a known kind"},
               [&] { (void)text.read(); });
  const std::string whole = png_bytes(random_picture(9, 7, 1));
  const Picture cut = picture_from_bytes(as_bytes(whole.substr(0, whole.size() / 2)), "door");
  expect_error(ErrorKind::data, {"door"}, [&] { (void)cut.read(); });
}

TEST(Picture, PixelsMustBeAsManyAsTheSizeSays) {
  for (const Bitmap& wrong : {Bitmap{2, 2, std::vector<std::uint8_t>(11)}, Bitmap{0, 2, {}},
                              Bitmap{2, 0, {}}, Bitmap{1, 1, std::vector<std::uint8_t>(6)}})
    expect_error(ErrorKind::usage, {"three per pixel"},
                 [&] { (void)picture_from_pixels(wrong, "door"); });
}

TEST(Picture, AFolderHoldsThoseBelowItToo) {
  const TemporaryFolder folder;
  const std::string png = png_bytes(random_picture(5, 5, 3));
  fs::create_directories(folder / "b");
  for (const char* file : {"b/2.png", "a.JPG", "c.png", "notes.txt", ".hidden.png"})
    write_file(folder / file, png);
  const std::vector<Picture> pictures = pictures_at(folder.path());
  EXPECT_EQ(names_of(pictures), (std::vector<std::string>{"a.JPG", "b/2.png", "c.png"}));
  EXPECT_EQ(pictures[1].where, (folder / "b/2.png").string());
  EXPECT_EQ(pictures[1].file, folder / "b/2.png");
  EXPECT_EQ(pictures[1].read(), random_picture(5, 5, 3));
  EXPECT_EQ(names_of(pictures_at(folder / "notes.txt")), std::vector<std::string>{"notes.txt"});
  fs::create_directories(folder / "empty");
  expect_error(ErrorKind::data, {"empty", "no pictures"},
               [&] { (void)pictures_at(folder / "empty"); });
  expect_error(ErrorKind::data, {"absent", "no such file"},
               [&] { (void)pictures_at(folder / "absent"); });
}

TEST(Picture, ThoseOfACollectionHaveTheirClasses) {
  const TemporaryFolder folder;
  for (std::uint32_t i = 0; const char* file : {"owl/1.png", "owl/2.png", "jay/1.png"}) {
    fs::create_directories((folder / file).parent_path());
    write_file(folder / file, png_bytes(random_picture(5, 5, i++)));
  }
  const LabelledPictures all = labelled_pictures_at(folder.path());
  EXPECT_EQ(all.classes, (std::vector<std::string>{"jay", "owl"}));
  EXPECT_EQ(all.labels, (std::vector<std::size_t>{0, 1, 1}));
  EXPECT_EQ(names_of(all.pictures), (std::vector<std::string>{"1.png", "1.png", "2.png"}));
  EXPECT_EQ(all.pictures[0].where, "jay/1.png");
  EXPECT_EQ(all.pictures[0].read(), random_picture(5, 5, 2));
}

}  // namespace
}  // namespace deepvoro
