#include "picture/collection.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "core/sha256.hpp"
#include "deepvoro/core/parallel.hpp"
#include "expect_error.hpp"
#include "picture/bad_pictures.hpp"
#include "test_pictures.hpp"
#include "test_store.hpp"

namespace deepvoro {
namespace {

using test::big_endian;
using test::expect_error;
using test::png_bytes;
using test::random_picture;
using test::tar_bytes;
using test::TarMember;
using test::TemporaryFolder;
using test::write_file;
using Names = std::vector<std::string>;

Names names(const PictureCollection& collection) {
  Names all;
  for (std::size_t i = 0; i < collection.size(); ++i) all.push_back(collection.name(i));
  return all;
}

std::vector<std::size_t> labels(const PictureCollection& collection) {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < collection.size(); ++i) all.push_back(collection.label(i));
  return all;
}

std::string hash_of(const std::string& text) {
  return sha256_hex(std::as_bytes(std::span(text)));
}

void expect_refused(const std::filesystem::path& path,
                    std::initializer_list<std::string_view> fragments) {
  expect_error(ErrorKind::data, fragments, [&] { (void)PictureCollection::open(path); });
}

// Three pictures of two classes in every kind of collection.
const Bitmap kRobin = random_picture(4, 3, 1);
const Bitmap kOwl1 = random_picture(5, 3, 2);
const Bitmap kOwl2 = random_picture(6, 3, 3);

TEST(PictureCollection, ReadsAFolderPerClass) {
  const TemporaryFolder folder;
  write_file(folder / "robin/a.png", png_bytes(kRobin));
  write_file(folder / "owl/z.PNG", png_bytes(kOwl1));
  write_file(folder / "owl/more/b.jpeg", png_bytes(kOwl2));  // content decides
  write_file(folder / "owl/notes.txt", "no picture");
  write_file(folder / "owl/.hidden.png", "no picture");
  write_file(folder / ".git/x.png", "no picture");
  write_file(folder / "README.md", "no picture");
  const PictureCollection collection = PictureCollection::open(folder.path());
  EXPECT_EQ(collection.classes(), (Names{"owl", "robin"}));
  EXPECT_EQ(names(collection), (Names{"owl/more/b.jpeg", "owl/z.PNG", "robin/a.png"}));
  EXPECT_EQ(labels(collection), (std::vector<std::size_t>{0, 0, 1}));
  EXPECT_EQ(collection.read(0), kOwl2);
  EXPECT_EQ(collection.read(2), kRobin);
  EXPECT_EQ(collection.raw(2).size(), png_bytes(kRobin).size());
  EXPECT_EQ(collection.sha256(),
            hash_of(hash_of(png_bytes(kOwl2)) + "  owl/more/b.jpeg\n" + hash_of(png_bytes(kOwl1)) +
                    "  owl/z.PNG\n" + hash_of(png_bytes(kRobin)) + "  robin/a.png\n"));
}

TEST(PictureCollection, RefusesFoldersWithoutClassesOrPictures) {
  const TemporaryFolder folder;
  expect_refused(folder.path(), {"no folders with pictures"});
  write_file(folder / "a.png", png_bytes(kRobin));
  expect_refused(folder.path(), {"no folders with pictures"});
  write_file(folder / "robin/a.png", png_bytes(kRobin));
  write_file(folder / "owl/notes.txt", "");
  expect_refused(folder.path(), {"owl", "holds no pictures"});
  expect_refused(folder / "missing", {"missing", "cannot be read"});
}

TEST(PictureCollection, AnEmptyFolderIsNoClassAndIsNoted) {
  const TemporaryFolder folder;
  write_file(folder / "robin/a.png", png_bytes(kRobin));
  write_file(folder / "wren/.hidden", "");
  std::filesystem::create_directory(folder / "owl");
  const LabelledPictures found = labelled_pictures_at(folder.path());
  EXPECT_EQ(found.classes, (Names{"robin"}));
  ASSERT_EQ(found.notes.size(), 1U);
  EXPECT_NE(
      found.notes.front().find("2 folders are no class, because nothing is in them (owl, wren)"),
      std::string::npos)
      << found.notes.front();
}

TEST(PictureCollection, RefusesClassNamesThatAreNoText) {
  const TemporaryFolder folder;
  write_file(folder / "ow\nl/a.png", png_bytes(kRobin));
  expect_refused(folder.path(), {"class 0", "one line"});
}

TEST(PictureCollection, ReadsATarLikeItsFolder) {
  const TemporaryFolder folder;
  write_file(folder / "tree/robin/a.png", png_bytes(kRobin));
  write_file(folder / "tree/owl/z.png", png_bytes(kOwl1));
  write_file(folder / "birds.tar", tar_bytes({{"./tree/", "", '5'},
                                              {"./tree/robin/a.png", png_bytes(kRobin)},
                                              {"./tree/robin/._a.png", "of a Mac"},
                                              {"./tree/owl/link.png", "", '2'},
                                              {"./tree/owl/hard.png", "", '1'},
                                              {"./tree/readme.txt", "text"},
                                              {"./tree/owl/z.png", png_bytes(kOwl1)}}));
  const PictureCollection tar = PictureCollection::open(folder / "birds.tar");
  const PictureCollection tree = PictureCollection::open(folder / "tree");
  EXPECT_EQ(tar.classes(), tree.classes());
  EXPECT_EQ(names(tar), (Names{"owl/z.png", "robin/a.png"}));
  EXPECT_EQ(names(tar), names(tree));
  EXPECT_EQ(tar.sha256(), tree.sha256());
  EXPECT_EQ(tar.read(0), kOwl1);
  EXPECT_EQ(tar.read(1), kRobin);
}

// '\0' is how the oldest archives write a file, '7' one that should lie in one piece on the disk.
TEST(PictureCollection, ReadsFilesOfAllKindsFromATar) {
  const TemporaryFolder folder;
  const std::string data = png_bytes(kRobin);
  write_file(folder / "x.tar", tar_bytes({{"owl/a.png", data, '0'},
                                          {"owl/b.png", data, '\0'},
                                          {"owl/c.png", data, '7'},
                                          {"owl/device.png", "", '3'},
                                          {"owl/pipe.png", "", '6'}}));
  EXPECT_EQ(names(PictureCollection::open(folder / "x.tar")),
            (Names{"owl/a.png", "owl/b.png", "owl/c.png"}));
}

TEST(PictureCollection, TakesTheFirstFolderThatDiffersForTheClass) {
  const TemporaryFolder folder;
  const auto classes_of = [&](const std::vector<TarMember>& members) {
    write_file(folder / "x.tar", tar_bytes(members));
    return PictureCollection::open(folder / "x.tar").classes();
  };
  const std::string data = png_bytes(kRobin);
  EXPECT_EQ(classes_of({{"owl/a.png", data}}), Names{"owl"});
  EXPECT_EQ(classes_of({{"top/owl/a.png", data}, {"top/owl/b.png", data}}), Names{"owl"});
  EXPECT_EQ(classes_of({{"owl/x/a.png", data}, {"robin/x/a.png", data}}), (Names{"owl", "robin"}));
}

TEST(PictureCollection, RefusesBrokenTars) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder / "x.tar";
  const std::string data = png_bytes(kRobin);
  const auto expect_refused_tar = [&](const std::string& bytes,
                                      std::initializer_list<std::string_view> fragments) {
    write_file(file, bytes);
    expect_refused(file, fragments);
  };
  for (const char* path : {"/owl/a.png", "../owl/a.png", "owl/../../a.png", "owl/.."})
    expect_refused_tar(tar_bytes({{path, data}}), {"x.tar", path, "outside of its own folder"});
  expect_refused_tar(tar_bytes({{"a.png", data}}), {"x.tar", "a.png", "in no folder"});
  expect_refused_tar(tar_bytes({{"owl/a.txt", data}}), {"x.tar", "no pictures"});
  expect_refused_tar(tar_bytes({{"owl/a.png", data}, {"owl/a.png", data}}),
                     {"x.tar", "owl/a.png twice"});
  const std::string whole = tar_bytes({{"owl/a.png", data}, {"owl/b.png", data}});
  for (const std::size_t length : {300U, 511U, 520U, 1024U, 1100U, 2048U})
    expect_refused_tar(whole.substr(0, length), {"x.tar"});
  std::string damaged = whole;
  damaged[1] = 'x';
  expect_refused_tar(damaged, {"x.tar", "damaged"});
  expect_refused_tar(tar_bytes({{"x", "99 path=owl/a.png\n", 'x'}, {"b", data}}),
                     {"x.tar", "damaged"});
  expect_refused_tar(tar_bytes({{"x", "29 size=18446744073709551615\n", 'x'}, {"b", data}}),
                     {"x.tar"});
}

TEST(PictureCollection, ReadsLongNamesOfTars) {
  const TemporaryFolder folder;
  const std::string data = png_bytes(kRobin);
  const std::string long_name = "owl/" + std::string(150, 'o') + ".png";
  write_file(folder / "x.tar", tar_bytes({{"././@LongLink", long_name + '\0', 'L'},
                                          {"owl/ooo", data},
                                          {"pax", "23 path=robin/long.png\n", 'x'},
                                          {"short", data},
                                          {"owl/last.png", data}}));
  EXPECT_EQ(names(PictureCollection::open(folder / "x.tar")),
            (Names{"owl/last.png", long_name, "robin/long.png"}));
}

TEST(PictureCollection, TakesTheSizeInATarFromThePaxHeaderIfThereIsOne) {
  const TemporaryFolder folder;
  const std::string data = png_bytes(kRobin);
  const std::string record = " size=" + std::to_string(data.size()) + "\n";
  const std::string pax = std::to_string(record.size() + 2) + record;
  ASSERT_EQ(pax.size(), record.size() + 2);
  write_file(folder / "x.tar", tar_bytes({{"pax", pax, 'x'},
                                          {"owl/a.png", data + "not of it"},
                                          {"owl/b.png", data + "of it"}}));
  const PictureCollection tar = PictureCollection::open(folder / "x.tar");
  EXPECT_EQ(tar.raw(0).size(), data.size());
  EXPECT_EQ(tar.raw(1).size(), data.size() + 5);
}

TEST(PictureCollection, ReadsCloserLookJson) {
  const TemporaryFolder folder;
  write_file(folder / "pictures/owl/z.png", png_bytes(kOwl1));
  write_file(folder / "robin.png", png_bytes(kRobin));
  write_file(folder / "novel.json",
             R"({"label_names":["robin","never seen","owl"],
                 "image_names":["/somewhere/else/pictures/owl/z.png","robin.png","gone.png"],
                 "image_labels":[2,0,2]})");
  const PictureCollection collection = PictureCollection::open(folder / "novel.json");
  EXPECT_EQ(collection.classes(), (Names{"robin", "owl"}));
  EXPECT_EQ(labels(collection), (std::vector<std::size_t>{1, 0, 1}));
  EXPECT_EQ(collection.name(0), "/somewhere/else/pictures/owl/z.png");
  EXPECT_EQ(collection.read(0), kOwl1);
  EXPECT_EQ(collection.read(1), kRobin);
  expect_error(ErrorKind::data, {"gone.png", "cannot be read"}, [&] { (void)collection.read(2); });
  EXPECT_EQ(collection.sha256(),
            hash_of(hash_of(png_bytes(kOwl1)) + "  owl//somewhere/else/pictures/owl/z.png\n" +
                    hash_of(png_bytes(kRobin)) + "  robin/robin.png\nunreadable  owl/gone.png\n"));
}

TEST(PictureCollection, RefusesBrokenJson) {
  const TemporaryFolder folder;
  const auto expect_refused_json = [&](const char* text,
                                       std::initializer_list<std::string_view> fragments) {
    write_file(folder / "x.json", text);
    expect_refused(folder / "x.json", fragments);
  };
  expect_refused_json("{", {"x.json", "not valid JSON"});
  expect_refused_json("{}", {"x.json", "\"label_names\" is missing"});
  expect_refused_json(R"({"label_names":["a"],"image_names":["b"],"image_labels":7})",
                      {"x.json", "\"image_labels\" is missing"});
  expect_refused_json(R"({"label_names":["a"],"image_names":["b"],"image_labels":[]})",
                      {"x.json", "1 image_names but 0 image_labels"});
  for (const char* label : {"1", "-1", "0.5", "\"0\"", "null"})
    expect_refused_json(
        (R"({"label_names":["a"],"image_names":["b"],"image_labels":[)" + std::string(label) + "]}")
            .c_str(),
        {"x.json", "image_labels[0]", "from 0 to 0"});
  expect_refused_json(R"({"label_names":["a"],"image_names":[3],"image_labels":[0]})",
                      {"x.json", "image_names[0]"});
  expect_refused_json(R"({"label_names":[3],"image_names":["b"],"image_labels":[0]})",
                      {"x.json", "label_names[0]"});
  expect_refused_json(R"({"label_names":["a","a"],"image_names":["b","c"],"image_labels":[0,1]})",
                      {"x.json", "'a' appears twice"});
  expect_refused_json(R"({"label_names":[],"image_names":["b"],"image_labels":[0]})",
                      {"x.json", "label_names is empty"});
  expect_refused_json(R"({"label_names":["a"],"image_names":[],"image_labels":[]})",
                      {"x.json", "no pictures"});
}

TEST(PictureCollection, ReadsMiniImageNetCsv) {
  const TemporaryFolder folder;
  write_file(folder / "images/a.png", png_bytes(kRobin));
  write_file(folder / "b.png", png_bytes(kOwl1));
  write_file(folder / "images/c.png", png_bytes(kOwl2));
  write_file(folder / "train.csv",
             "\xEF\xBB\xBF"
             "filename,label\r\na.png,robin\r\nb.png,owl\nc.png,owl\n\n");
  const PictureCollection collection = PictureCollection::open(folder / "train.csv");
  EXPECT_EQ(collection.classes(), (Names{"robin", "owl"}));  // in order of appearance
  EXPECT_EQ(names(collection), (Names{"a.png", "b.png", "c.png"}));
  EXPECT_EQ(labels(collection), (std::vector<std::size_t>{0, 1, 1}));
  EXPECT_EQ(collection.read(0), kRobin);
  EXPECT_EQ(collection.read(1), kOwl1);
  EXPECT_EQ(collection.read(2), kOwl2);
}

TEST(PictureCollection, RefusesBrokenCsv) {
  const TemporaryFolder folder;
  write_file(folder / "a.png", png_bytes(kRobin));
  const auto expect_refused_csv = [&](const std::string& text,
                                      std::initializer_list<std::string_view> fragments) {
    write_file(folder / "x.csv", text);
    expect_refused(folder / "x.csv", fragments);
  };
  expect_refused_csv("filename,label\n", {"x.csv", "no pictures"});
  for (const char* line : {"a.png", "a.png,", ",robin", "a.png,robin,3", "\"a.png\",robin"})
    expect_refused_csv("filename,label\na.png,robin\n" + std::string(line) + "\n",
                       {"x.csv", "line 3"});
  for (const char* name : {"/a.png", "../a.png", "x/../../a.png"})
    expect_refused_csv("filename,label\n" + std::string(name) + ",robin\n",
                       {"x.csv", "line 2", "relative"});
  expect_refused_csv("filename,label\nb.png,robin\n", {"x.csv", "none of its pictures", "images"});
  expect_refused_csv("file,class\na.png,robin\n", {"x.csv", "not a collection of pictures"});
}

struct IdxPair {
  std::string images = big_endian(0x0803) + big_endian(2) + big_endian(2) + big_endian(3) +
                       std::string("\0\1\2\3\4\5\x0A\x14\x1E\x28\x32\x3C", 12);
  std::string labels = big_endian(0x0801) + big_endian(2) + std::string("\7\3", 2);
};

TEST(PictureCollection, ReadsAnIdxPairFromEitherFile) {
  const TemporaryFolder folder;
  const IdxPair pair;
  write_file(folder / "t10k-images-idx3-ubyte", pair.images);
  write_file(folder / "t10k-labels-idx1-ubyte", pair.labels);
  for (const char* file : {"t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"}) {
    const PictureCollection collection = PictureCollection::open(folder / file);
    EXPECT_EQ(collection.classes(), (Names{"3", "7"}));
    EXPECT_EQ(labels(collection), (std::vector<std::size_t>{1, 0}));
    EXPECT_EQ(collection.name(1), "1");
    const Bitmap bitmap = collection.read(1);
    EXPECT_EQ(bitmap.width, 3U);
    EXPECT_EQ(bitmap.height, 2U);
    EXPECT_EQ(bitmap.pixels, (std::vector<std::uint8_t>{10, 10, 10, 20, 20, 20, 30, 30, 30,  //
                                                        40, 40, 40, 50, 50, 50, 60, 60, 60}));
  }
}

TEST(PictureCollection, RefusesBrokenIdx) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder / "train-images-idx3-ubyte";
  const auto expect_refused_idx = [&](const IdxPair& pair,
                                      std::initializer_list<std::string_view> fragments) {
    write_file(file, pair.images);
    write_file(folder / "train-labels-idx1-ubyte", pair.labels);
    expect_refused(file, fragments);
  };
  IdxPair pair;
  pair.images.pop_back();
  expect_refused_idx(pair, {"images", "27 bytes where its header says 28"});
  pair = {};
  pair.images.resize(10);
  expect_refused_idx(pair, {"images", "truncated within its header"});
  pair = {};
  pair.labels.pop_back();
  expect_refused_idx(pair, {"labels", "9 bytes where its header says 10"});
  pair = {};
  pair.labels = big_endian(0x0801) + big_endian(1) + "\7";
  expect_refused_idx(pair, {"labels", "1 labels for 2 pictures"});
  pair = {};
  pair.labels = pair.images;
  expect_refused_idx(pair, {"labels", "not the other half"});
  pair = {};
  pair.images.replace(8, 8, big_endian(0xFFFFFFFF) + big_endian(0xFFFFFFFF));
  expect_refused_idx(pair, {"images", "not possible"});
  std::filesystem::remove(folder / "train-labels-idx1-ubyte");
  expect_refused(file, {"images", "labels are missing"});
}

TEST(PictureCollection, SaysWhatItCanOpen) {
  const TemporaryFolder folder;
  write_file(folder / "a.png", png_bytes(kRobin));
  expect_refused(folder / "a.png",
                 {"a.png", "not a collection of pictures", "folder for each class"});
  write_file(folder / "a.tar.gz", "\x1F\x8B\x08 and so on");
  expect_refused(folder / "a.tar.gz", {"a.tar.gz", "damaged archive"});
  write_file(folder / "empty", "");
  expect_refused(folder / "empty", {"empty", "not a collection of pictures"});
}

void write_bad_pictures(const TemporaryFolder& folder) {
  write_file(folder / "owl/1.png", png_bytes(kOwl1));
  write_file(folder / "owl/2.jpg", "a text");
  write_file(folder / "owl/3.png", png_bytes(kOwl2).substr(0, 70));
  std::filesystem::create_symlink("nowhere", folder / "owl/4.png");
  write_file(folder / "owl/5.png", png_bytes(kOwl2));
}

TEST(BadPictures, AreListedOnceWhenSkipped) {
  const TemporaryFolder folder;
  write_bad_pictures(folder);
  const PictureCollection collection = PictureCollection::open(folder.path());
  BadPictures bad(BadPictures::Policy::skip);
  std::vector<int> is_read(collection.size());
  for (int round = 0; round < 2; ++round)
    parallel_for(4, collection.size(), 1, [&](std::size_t i, std::size_t, unsigned) {
      is_read[i] = bad.read(collection, i).has_value() ? 1 : 0;
    });
  EXPECT_EQ(is_read, (std::vector<int>{1, 0, 0, 0, 1}));
  const auto list = bad.list();
  ASSERT_EQ(list.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(list[i].index, i + 1);
    EXPECT_NE(list[i].reason.find(collection.name(i + 1) + ": "), std::string::npos);
  }
}

TEST(BadPictures, StopTheWorkWhenNotSkipped) {
  const TemporaryFolder folder;
  write_bad_pictures(folder);
  const PictureCollection collection = PictureCollection::open(folder.path());
  BadPictures bad(BadPictures::Policy::stop);
  EXPECT_TRUE(bad.read(collection, 0).has_value());
  expect_error(ErrorKind::data, {"owl/2.jpg", "is not a picture of a known kind"},
               [&] { (void)bad.read(collection, 1); });
}

TEST(PictureCollection, NamesTheArchiveOfABadPicture) {
  const TemporaryFolder folder;
  write_file(folder / "x.tar", tar_bytes({{"owl/a.png", ""}, {"robin/b.png", "text"}}));
  const PictureCollection collection = PictureCollection::open(folder / "x.tar");
  expect_error(ErrorKind::data, {"x.tar/owl/a.png: is empty"}, [&] { (void)collection.read(0); });
  expect_error(ErrorKind::data, {"x.tar/robin/b.png"}, [&] { (void)collection.read(1); });
}

}  // namespace
}  // namespace deepvoro
