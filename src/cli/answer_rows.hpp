#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "deepvoro/classifier/classifier.hpp"

namespace deepvoro {

// What answers are written like.
struct AnswerForm {
  bool as_json = false;            // otherwise CSV
  std::optional<double> reject;    // beyond this distance the answer is 'unknown'
  double threshold = 0;            // of the classifier, or the one to reject by
  std::optional<std::size_t> top;  // so many classes, the most probable first, instead of all
};

// Answers to pictures on the standard output: each is written when it is known.
class AnswerRows {
 public:
  AnswerRows(const Classifier& classifier, const AnswerForm& form)
      : classifier_(classifier), form_(form) {}

  void add(const std::string& file, const Prediction& prediction);
  void add_unreadable(const std::string& file, const std::string& reason);
  void end();

 private:
  void begin();
  [[nodiscard]] const std::string& answer(const Prediction& prediction) const;
  void write(const std::string& row);

  const Classifier& classifier_;
  AnswerForm form_;
  bool begun_ = false;
  bool has_rows_ = false;
};

}  // namespace deepvoro
