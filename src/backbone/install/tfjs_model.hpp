#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace deepvoro {

// What the model.json of a Keras model says, as TensorFlow.js stores one: layers, and weights that
// lie one after another in a list of files. Float32 alone is understood.
class TfjsModel {
 public:
  struct Weight {
    std::vector<std::uint64_t> shape;
    std::size_t offset = 0;  // in elements, from the first byte of the first file
    std::size_t size = 0;    // elements
  };

  TfjsModel(std::string_view model_json, std::string where);

  [[nodiscard]] const std::vector<std::string>& files() const { return files_; }
  [[nodiscard]] std::size_t size() const { return size_; }  // elements of all weights
  [[nodiscard]] bool has_weight(const std::string& name) const { return weights_.contains(name); }
  // Of rank `rank`.
  [[nodiscard]] const Weight& weight(const std::string& name, std::size_t rank) const;
  // What a normalisation adds to its variances.
  [[nodiscard]] double epsilon(const std::string& layer) const;
  [[noreturn]] void fail(const std::string& what) const;

 private:
  std::string where_;
  std::vector<std::string> files_;
  std::map<std::string, Weight> weights_;
  std::map<std::string, double> epsilons_;
  std::size_t size_ = 0;
};

}  // namespace deepvoro
