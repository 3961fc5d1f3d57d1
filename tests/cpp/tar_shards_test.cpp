#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "deepvoro/picture/picture.hpp"
#include "expect_error.hpp"
#include "picture/collection.hpp"
#include "test_pictures.hpp"
#include "test_store.hpp"

namespace deepvoro {
namespace {

using test::expect_error;
using test::png_bytes;
using test::random_picture;
using test::tar_bytes;
using test::TarMember;
using test::TemporaryFolder;
using test::write_file;

const std::string kSample1 = png_bytes(random_picture(4, 3, 1));
const std::string kSample2 = png_bytes(random_picture(5, 3, 2));
const std::string kSample3 = png_bytes(random_picture(6, 3, 3));

// "class name" of each picture.
std::vector<std::string> classified(const PictureCollection& collection) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < collection.size(); ++i)
    all.push_back(collection.classes()[collection.label(i)] + " " + collection.name(i));
  return all;
}

TEST(TarShards, ClassesAreBesideThePictures) {
  const TemporaryFolder folder;
  write_file(folder / "a.tar", tar_bytes({{"0001.cls", "owl\n"},
                                          {"0001.png", kSample1},
                                          {"0002.png", kSample2},
                                          {"0002.json", R"({"label": 7, "caption": "x"})"}}));
  write_file(folder / "b.tar", tar_bytes({{"in/0003.seg.txt", "mask"},
                                          {"in/0003.png", kSample3},
                                          {"in/0003.json", R"({"class": " owl "})"}}));
  const auto all = PictureCollection::open(folder.path());
  EXPECT_EQ(classified(all),
            (std::vector<std::string>{"7 0002.png", "owl 0001.png", "owl in/0003.png"}));
  EXPECT_EQ(all.read(0).width, 5U);
  EXPECT_EQ(all.read(1).width, 4U);
  EXPECT_EQ(all.read(2).width, 6U);
  EXPECT_EQ(all.where(2), (folder / "b.tar" / "in/0003.png").string());
  EXPECT_TRUE(all.notes().empty());
  const auto one = PictureCollection::open(folder / "a.tar");
  EXPECT_EQ(classified(one), (std::vector<std::string>{"7 0002.png", "owl 0001.png"}));
}

TEST(TarShards, WithoutClassesBesideThemFoldersAreTheClasses) {
  const TemporaryFolder folder;
  write_file(folder / "parts/a.tar",
             tar_bytes({{"data/owl/1.png", kSample1}, {"about.json", R"({"label": "birds"})"}}));
  write_file(folder / "parts/b.tar", tar_bytes({{"data/robin/2.png", kSample2}}));
  write_file(folder / "parts/README.md", "two shards");
  write_file(folder / "whole.tar", tar_bytes({{"owl/1.png", kSample1}, {"robin/2.png", kSample2}}));
  const auto parts = PictureCollection::open(folder / "parts");
  EXPECT_EQ(classified(parts), (std::vector<std::string>{"owl owl/1.png", "robin robin/2.png"}));
  EXPECT_EQ(parts.sha256(), PictureCollection::open(folder / "whole.tar").sha256());
}

TEST(TarShards, WhatDoesNotFitIsRefusedByName) {
  const TemporaryFolder folder;
  const auto refused = [&](const std::vector<TarMember>& second,
                           std::initializer_list<std::string_view> words) {
    write_file(folder / "a.tar", tar_bytes({{"1.png", kSample1}, {"1.cls", "owl"}}));
    write_file(folder / "b.tar", tar_bytes(second));
    expect_error(ErrorKind::data, words, [&] { (void)PictureCollection::open(folder.path()); });
  };
  refused({{"2.png", kSample2}}, {"b.tar", "2.png", "has no class"});
  refused({{"2.png", kSample2}, {"2.json", R"({"label": [1]})"}},
          {"b.tar", "2.png", "has no class"});
  refused({{"2.png", kSample2}, {"2.cls", " \n"}}, {"b.tar", "2.png", "has no class"});
  refused({{"2.png", kSample2}, {"2.cls", "owl"}, {"2.json", R"({"class": "robin"})"}},
          {"b.tar", "2.json", "robin", "owl"});
  refused({{"1.png", kSample2}, {"1.cls", "owl"}},
          {"a.tar and b.tar: both have 1.png", "keys must differ"});
  refused({{"1.png", kSample2}, {"1.cls", "robin"}},
          {"a.tar and ", "b.tar: both have the sample '1'", "'owl' in one and 'robin'"});
  refused({{"2.png", kSample2}, {"2.cls", std::string(2'000'000, 'x')}}, {"b.tar"});
  refused({{"../2.png", kSample2}, {"2.cls", "owl"}}, {"b.tar", "../2.png"});
  write_file(folder / "b.tar", "not a tar");
  expect_error(ErrorKind::data, {"b.tar"}, [&] { (void)PictureCollection::open(folder.path()); });
}

TEST(TarShards, NothingElseMayLieBesideThem) {
  const TemporaryFolder folder;
  const std::string shard = tar_bytes({{"owl/1.png", kSample1}});
  const auto refused = [&](const std::string& beside, const std::string& content,
                           std::initializer_list<std::string_view> words) {
    write_file(folder / "all/a.tar", shard);
    write_file(folder / "all" / beside, content);
    expect_error(ErrorKind::data, words, [&] { (void)PictureCollection::open(folder / "all"); });
    std::filesystem::remove_all(folder / "all");
  };
  refused("robin/2.png", kSample2, {"all: holds both tar shards (a.tar) and folders (robin)"});
  refused("2.png", kSample2, {"tar shards (a.tar) and pictures (2.png)", "move one"});
  refused("b.tar.gz", "x", {"tar shards (a.tar) and compressed ones (b.tar.gz)"});
  write_file(folder / "packed/a.tar.gz", "x");
  expect_error(ErrorKind::data, {"packed: holds a.tar.gz", "must not be compressed", "gunzip"},
               [&] { (void)PictureCollection::open(folder / "packed"); });
  write_file(folder / "classes/owl/1.png", kSample1);
  write_file(folder / "classes/whole.tar.gz", "x");
  EXPECT_EQ(PictureCollection::open(folder / "classes").size(), 1U);
}

TEST(TarShards, ArePicturesWithoutClassesToo) {
  const TemporaryFolder folder;
  write_file(folder / "a.tar", tar_bytes({{"1.png", kSample1}, {"1.cls", "owl"}}));
  write_file(folder / "b.tar", tar_bytes({{"2.png", kSample2}}));
  const std::vector<Picture> pictures = pictures_at(folder.path());
  ASSERT_EQ(pictures.size(), 2U);
  EXPECT_EQ(pictures[0].where, (folder / "a.tar/1.png").string());
  EXPECT_EQ(pictures[1].read().width, 5U);
}

}  // namespace
}  // namespace deepvoro
