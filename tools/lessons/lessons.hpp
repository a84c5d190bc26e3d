// The five notebooks on causal attention that students have open beside gradus, as lessons: each runs a
// notebook's cells in C++ from its manual_seed and prints what the notebook shows, digit for digit. The
// source of a lesson, in lessons/, reads like the notebook.
//
// Ownership: lessons() lives as long as the program. Thread-safety: distinct pages from distinct threads.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gradus/autograd/tensor.hpp"

namespace gradus::tools {

/// What a lesson is written on.
class LessonPage {
 public:
  virtual ~LessonPage() = default;
  /// A sentence on the step that comes next.
  virtual void say(std::string_view sentence) = 0;
  /// What a cell of the notebook prints here, and what the notebook shows below that cell: empty where there
  /// is nothing to compare with. A line break at the start of `notebook` does not count.
  virtual void print(std::string_view cell, const std::string& ours, std::string_view notebook) = 0;
  void print(std::string_view cell, const std::string& ours) { print(cell, ours, {}); }
};

struct Lesson {
  std::string_view name;      ///< what `gradus lesson` is given
  std::string_view notebook;  ///< number of the notebook, which names the lesson too
  std::string_view title;
  std::string_view source;  ///< file that holds it
  void (*walk)(LessonPage& page);
  Tensor (*input)();  ///< (T, d_in)
  Tensor (*attention)(
      const Tensor& x);  ///< the lesson's last layer in evaluation mode: (T, d_in) -> (T, d_out)
};

const std::vector<Lesson>& lessons();
/// By name or number. Throws Error that lists the names if there is no such lesson.
const Lesson& find_lesson(std::string_view name);

/// What a notebook shows beside what we print, line by line.
struct PrintedComparison {
  struct Line {
    std::string notebook, ours;
    std::string marks;  ///< '^' below each character that differs, else ' '
  };
  std::vector<Line> lines;
  int64_t digits = 0;  ///< of the notebook
  int64_t equal = 0;   ///< of these, how many stand at the same place in ours
  bool same = false;   ///< every character is
};
/// A line break at the start of `notebook` does not count.
PrintedComparison compare_printed(std::string_view ours, std::string_view notebook);

/// How far one way to write attention is from the one that masks scores with -inf, on the same input and
/// weights.
struct Agreement {
  std::string variant;
  double difference;  ///< largest absolute difference of an element; NaN if there is a NaN
  bool agrees;        ///< to rounding: at most 1e-6
  std::string why;    ///< in a few words
};
/// Every variant of the lessons on the sentence of six tokens, with weights of manual_seed(789).
std::vector<Agreement> compare_variants();

}  // namespace gradus::tools
