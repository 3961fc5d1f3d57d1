#pragma once

#include <cstddef>
#include <string>
#include <variant>
#include <vector>

#include "report/drawing.hpp"
#include "report/table.hpp"

namespace deepvoro {

// What made something that is shown.
struct Provenance {
  std::string command;
  std::string settings;
  std::vector<std::string> hashes;  // "cub-wrn28-10 sha256 0123456789ab"
  std::string program;
};

// One message. Panels are side by side where there is room.
struct Figure {
  std::string id;
  std::string title;  // the message, a sentence
  std::vector<Drawing> panels;
  std::string note = {};
  std::string csv = {};  // all numbers in it
  Provenance made_by = {};
  std::size_t columns = 2;  // of panels, in a file
};

struct ShownTable {
  ReportTable table;
  Provenance made_by = {};
};

// Pictures with words below them.
struct Gallery {
  struct Item {
    std::string image;  // PNG as base64; may be empty
    std::string title;
    std::string text;
  };
  std::string id;
  std::string title;
  std::string note = {};
  std::vector<Item> items = {};
  std::string csv = {};
  Provenance made_by = {};
};

using Block = std::variant<ShownTable, Figure, Gallery>;

struct Section {
  std::string id;
  std::string title;
  std::vector<Block> blocks = {};
};

struct Document {
  std::string title;
  std::string subject;  // what was evaluated, on what
  std::string lead;     // the main result, a sentence
  std::vector<Section> sections = {};
};

}  // namespace deepvoro
