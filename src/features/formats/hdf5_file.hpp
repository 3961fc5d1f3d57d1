#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/child_process.hpp"
#include "number_array.hpp"

namespace deepvoro {

class Hdf5Reader;

// Datasets of an HDF5 file, read by a process with little memory and time, which a damaged file may
// well end.
class Hdf5File {
 public:
  explicit Hdf5File(std::filesystem::path file);

  [[nodiscard]] std::string where() const { return file_.string(); }
  [[nodiscard]] bool has(const std::string& name) const;
  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] LoadedArray load(const std::string& name) const;

 private:
  using Question = std::function<void(const Hdf5Reader& reader, const ByteSink& answer)>;
  [[nodiscard]] ChildAnswer ask(const Question& question) const;

  std::filesystem::path file_;
  ChildLimits limits_;
};

// What that process says of a file. The file may have taken it over, so an answer is believed no
// more than a file is; `where` names it in errors.
void send_names(const std::vector<std::string>& names, const ByteSink& answer);
[[nodiscard]] std::vector<std::string> names_in(const ChildAnswer& answer,
                                                const std::string& where);
void send_array(const NumberArray& array, const ByteSink& answer);
[[nodiscard]] LoadedArray array_in(ChildAnswer answer, const std::string& where);

}  // namespace deepvoro
