// Five notebooks on causal attention, and the book behind them, as lessons: each runs a notebook's cells in
// C++ from its manual_seed and prints the notebook's output, digit for digit. The source of a lesson reads
// like the notebook; the notebook's printouts are in the .txt file with the same name. Thread-safety:
// distinct threads may use distinct pages.
#pragma once

#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gradus/annexes/layers/self_attention.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/autograd/random/random.hpp"
#include "gradus/autograd/tensor/tensor.hpp"
#include "gradus/files/error.hpp"

namespace gradus::teach {

/// The text of a file of this folder: "lesson.js". Throws std::out_of_range if there is none.
std::string_view embedded_file(std::string_view path);

using nn::Dropout;
using nn::Linear;
using nn::MaskOn;
using nn::SelfAttention;

inline constexpr double kInf = std::numeric_limits<double>::infinity();

/// A part of what a cell prints: a text, or a tensor in PyTorch's form; numpy() gives NumPy's.
struct Printed {
  explicit Printed(std::string words) : text(std::move(words)) {}
  explicit Printed(const Tensor& x) : Printed(x, torch_string(x)) {}
  Printed(const Tensor& x, std::string form) : text(std::move(form)), tensor(x.detach()) {}

  std::string text;
  Tensor tensor;  ///< undefined for a text
};

/// str(tensor.numpy()) in Python.
inline Printed numpy(const Tensor& x) { return {x, numpy_string(x.detach())}; }

/// A step of a lesson: a sentence, or our output of a cell of the notebook.
struct LessonStep {
  std::string sentence;        ///< empty for a cell
  std::string cell, ours;      ///< the name of the cell, and our output
  std::string_view notebook;   ///< the output in the notebook; empty if its numbers are not known
  std::vector<Printed> parts;  ///< of our output
};

/// Collects the steps of a lesson.
class LessonPage {
 public:
  /// `printouts`: FILE.txt, with headings "== CELL"; below one or more is the output of these cells.
  explicit LessonPage(std::string_view printouts);

  void say(std::string_view sentence) { steps_.push_back({std::string(sentence), "", "", "", {}}); }
  /// Prints the parts one after the other: texts, tensors and Printed.
  template <class... Parts>
  void print(std::string_view cell, const Parts&... parts) {
    add_cell(cell, {Printed(parts)...});
  }
  const std::vector<LessonStep>& steps() const { return steps_; }

 private:
  void add_cell(std::string_view cell, std::vector<Printed> parts);

  std::vector<LessonStep> steps_;
  std::vector<std::pair<std::string_view, std::string_view>> printouts_;  // cell, text; those not yet used
};

/// One layer of a lesson, whose numbers and options a reader changes on the lesson's page.
struct Laboratory {
  std::vector<std::string> tokens;  ///< the names of the rows of x
  Tensor x;                         ///< (T, d_in)
  Tensor W_query, W_key, W_value;   ///< (d_in, d_out); the queries are x W_query
  nn::SelfAttentionOptions options;
  Tensor dropout = {};  ///< (T, T): 0 or 1 / (1 - p), a factor of each weight; undefined: none

  Laboratory(const SelfAttention& layer, std::vector<std::string> tokens, const Tensor& x);
};

/// A question about a lesson, to be answered before the answer is read: three lines of questions.txt, with
/// the lesson's name and the setup in the first.
struct Question {
  std::string_view question, answer;
  /// Settings of the laboratory that show the answer, in the form of a link's part after '#':
  /// "fill=0&x.3.1=1.2" sets an option and x[3, 1]. Empty: nothing.
  std::string_view setup;
};

struct Lesson {
  std::string_view name;      ///< the argument of `gradus lesson`
  std::string_view notebook;  ///< number of the notebook; selects the lesson too
  std::string_view title;
  void (*cells)(LessonPage& page);  ///< runs the notebook's cells
  Laboratory (*laboratory)();
  /// The lesson's last layer in evaluation mode: (T, d_in) -> (T, d_out).
  Tensor (*attention)(const Tensor& x);

  /// The name of the lesson's files in this folder: FILE.cpp has the cells, FILE.txt the printouts.
  std::string file() const;
  std::vector<LessonStep> steps() const;
  std::vector<Question> questions() const;
};

/// All lessons; the list lives as long as the program.
const std::vector<Lesson>& lessons();
/// The lesson of a name or number. Throws Error that lists the names if there is none.
const Lesson& find_lesson(std::string_view name);

/// "Your journey starts with one step": six tokens with three features each.
Tensor journey();
std::vector<std::string> journey_words();
/// str(x.shape) in Python.
std::string torch_size(const Tensor& x);

/// A notebook's printout and ours, line by line.
struct PrintedComparison {
  struct Line {
    std::string notebook, ours;
    std::string marks;  ///< '^' below each character that differs, else ' '
  };
  std::vector<Line> lines;
  int64_t digits = 0;  ///< of the notebook
  int64_t equal = 0;   ///< digits that are equal in ours
  bool same = false;   ///< whether every character is equal
};
PrintedComparison compare_printed(std::string_view ours, std::string_view notebook);

/// The difference of a variant of attention from that which masks scores with -inf, on one input and weights.
struct Agreement {
  std::string variant;
  nn::SelfAttentionOptions options;  ///< of the layer; the other variants have those of the reference
  Tensor context;                    ///< (T, d_out)
  double difference;                 ///< largest absolute difference of an element; NaN if there is a NaN
  bool agrees;                       ///< to rounding: at most 1e-6
  std::string why;                   ///< a short reason
};
/// Every variant of the lessons on the sentence of six tokens, with the weights of manual_seed(789).
std::vector<Agreement> compare_variants();
/// The input and the reference of compare_variants().
Laboratory variants_laboratory();

}  // namespace gradus::teach
