// The parts of a lesson, and what all lessons use: their sentence, and Python's
// texts.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gradus/autograd/ops/ops.hpp"
#include "gradus/autograd/tensor/tensor.hpp"
#include "gradus/files/error.hpp"

namespace gradus::tools {

/// A step of a lesson: a sentence, or our output of a cell of the notebook.
struct LessonStep {
  std::string sentence;       ///< empty for a cell
  std::string cell, ours;     ///< the name of the cell, and our output
  std::string_view notebook;  ///< the output in the notebook; empty if its numbers are not known
};

/// Collects the steps of a lesson.
class LessonPage {
 public:
  /// `printouts`: FILE.txt, which has headings "== CELL"; below one or more of them is the output of these
  /// cells in the notebook.
  explicit LessonPage(std::string_view printouts);

  void say(std::string_view sentence) { steps_.push_back({std::string(sentence), "", "", ""}); }
  void print(std::string_view cell, const std::string& ours);
  const std::vector<LessonStep>& steps() const { return steps_; }

 private:
  std::vector<LessonStep> steps_;
  std::vector<std::pair<std::string_view, std::string_view>> printouts_;  // cell, text; those not yet used
};

struct Lesson {
  std::string_view name;      ///< the argument of `gradus lesson`
  std::string_view notebook;  ///< number of the notebook; selects the lesson too
  std::string_view title;
  void (*cells)(LessonPage& page);  ///< runs the notebook's cells
  Tensor (*input)();                ///< (T, d_in)
  /// The lesson's last layer in evaluation mode: (T, d_in) -> (T, d_out).
  Tensor (*attention)(const Tensor& x);

  /// The name of the two files of this folder that hold the lesson: FILE.cpp the cells, FILE.txt the
  /// printouts.
  std::string file() const;
  std::vector<LessonStep> steps() const;
};

/// "Your journey starts with one step": six tokens with three features each.
inline Tensor journey() {
  return tensor(std::vector<double>{0.43, 0.15, 0.89,   // Your
                                    0.55, 0.87, 0.66,   // journey
                                    0.57, 0.85, 0.64,   // starts
                                    0.22, 0.58, 0.33,   // with
                                    0.77, 0.25, 0.10,   // one
                                    0.05, 0.80, 0.55},  // step
                {6, 3})
      .to(DType::float32);
}

/// str(tensor) in Python.
inline std::string str(const Tensor& x) { return torch_string(x); }

/// str(x.shape) in Python.
inline std::string torch_size(const Tensor& x) {
  std::string text = "torch.Size([";
  for (int d = 0; d < x.dim(); ++d) text += (d > 0 ? ", " : "") + std::to_string(x.size(d));
  return text + "])";
}

}  // namespace gradus::tools
