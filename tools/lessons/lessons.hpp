// The five notebooks on causal attention that students have open beside gradus, as lessons: each runs a
// notebook's cells in C++ from its manual_seed and prints the notebook's output, digit for digit. The
// source of a lesson reads like the notebook; the notebook's printouts are in the .txt file beside it.
//
// Ownership: lessons() lives as long as the program. Thread-safety: distinct pages from distinct threads.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gradus/tools/lessons/notebook.hpp"

namespace gradus::tools {

const std::vector<Lesson>& lessons();
/// By name or number. Throws Error that lists the names if there is no such lesson.
const Lesson& find_lesson(std::string_view name);

/// A notebook's printout beside ours, line by line.
struct PrintedComparison {
  struct Line {
    std::string notebook, ours;
    std::string marks;  ///< '^' below each character that differs, else ' '
  };
  std::vector<Line> lines;
  int64_t digits = 0;  ///< of the notebook
  int64_t equal = 0;   ///< how many of these stand at the same place in ours
  bool same = false;   ///< whether every character does
};
PrintedComparison compare_printed(std::string_view ours, std::string_view notebook);

/// The difference between one way to write attention and the one that masks scores with -inf, on the same
/// input and weights.
struct Agreement {
  std::string variant;
  double difference;  ///< largest absolute difference of an element; NaN if there is a NaN
  bool agrees;        ///< to rounding: at most 1e-6
  std::string why;    ///< in a few words
};
/// Every variant of the lessons on the sentence of six tokens, with the weights of manual_seed(789).
std::vector<Agreement> compare_variants();

}  // namespace gradus::tools
