// gradus lesson: walks through the notebooks on attention, compares their printouts, and finds leaks.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <memory>
#include <sstream>

#include "gradus/annexes/pages/frame.hpp"
#include "gradus/annexes/teach/lesson_page.hpp"
#include "gradus/annexes/teach/lessons.hpp"
#include "gradus/autograd/graph/record.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/cli/program/flags.hpp"
#include "gradus/cli/program/nearest.hpp"
#include "gradus/cli/program/shell.hpp"
#include "gradus/cli/program/terminal.hpp"
#include "gradus/cli/program/verbs.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/folder.hpp"

namespace gradus::cli {
namespace {

/// Prints `sentence` in lines of at most 100 columns, after its number.
void print_sentence(int number, const std::string& sentence) {
  std::cout << "\n" << number << ". ";
  size_t column = 4;
  std::istringstream words(sentence);
  for (std::string word; words >> word; column += word.size() + 1) {
    if (column + word.size() > 100) {
      std::cout << "\n   ";
      column = 4;
    }
    std::cout << word << " ";
  }
  std::cout << "\n";
}

/// Prints each step as the notebook does.
int walk(const teach::Lesson& lesson) {
  std::cout << lesson.title << " (notebook " << lesson.notebook << ", annexes/teach/" << lesson.file()
            << ".cpp)\n";
  int number = 0;
  for (const teach::LessonStep& step : lesson.steps()) {
    if (step.cell.empty())
      print_sentence(++number, step.sentence);
    else
      std::cout << "\n" << step.cell << "\n" << step.ours << "\n";
  }
  std::cout << std::flush;
  return kDone;
}

/// Prints the notebook's lines and ours, and counts the equal digits.
int compare(const teach::Lesson& lesson) {
  int64_t cells = 0, different = 0, unknown = 0, digits = 0, equal = 0;
  for (const teach::LessonStep& step : lesson.steps()) {
    if (step.cell.empty()) continue;
    std::cout << "\n" << step.cell;
    if (step.notebook.empty()) {
      std::cout << ": the notebook's numbers are not known\n";
      ++unknown;
      continue;
    }
    const teach::PrintedComparison c = teach::compare_printed(step.ours, step.notebook);
    std::cout << "\n";
    for (const auto& [theirs, own, marks] : c.lines) {
      std::cout << "  notebook | " << theirs << "\n  gradus   | " << own << "\n";
      if (theirs != own) std::cout << "             " << marks << "\n";
    }
    std::cout << "  " << c.equal << " of " << c.digits << " digits equal" << (c.same ? "" : ": DIFFERS")
              << "\n";
    digits += c.digits;
    equal += c.equal;
    ++cells;
    different += c.same ? 0 : 1;
  }
  std::cout << "\n"
            << lesson.name << ": " << cells << " cells compared, " << different << " different; "
            << grouped(equal) << " of " << grouped(digits) << " digits equal";
  if (unknown > 0) std::cout << "; " << unknown << " cells whose numbers are not known";
  std::cout << std::endl;
  return different == 0 ? kDone : kCheckFailed;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  const Tensor x = a.contiguous(), y = b.contiguous();
  return std::memcmp(x.data<float>(), y.data<float>(), sizeof(float) * static_cast<size_t>(x.numel())) == 0;
}

double largest_difference(const Tensor& a, const Tensor& b) { return amax(abs(a - b)).item(); }

/// Changes each token in turn, and checks that no output before it changes.
int leak_check(const teach::Lesson& lesson) {
  const NoGrad no_grad;
  const Tensor x = lesson.laboratory().x;
  const int64_t T = x.size(0);
  const Tensor before = lesson.attention(x);
  std::cout << lesson.name
            << ": one token of the input is changed by 1, the earlier outputs are compared bit for bit\n\n"
            << "  changed   earlier outputs        its own and later ones\n";
  int64_t leaks = 0;
  for (int64_t t = 1; t < T; ++t) {
    const Tensor change = pad(ones({1, x.size(1)}), 0, T, t);
    const Tensor after = lesson.attention(x + change);
    const Tensor earlier = before.slice(0, 0, t), moved = after.slice(0, 0, t);
    const bool same = same_bits(earlier, moved);
    leaks += same ? 0 : 1;
    std::cout << "  token " << t + 1 << "   " << std::left << std::setw(20)
              << (same ? "the same bits" : concat("MOVED by ", largest_difference(earlier, moved)))
              << std::right << "   moved by "
              << largest_difference(before.slice(0, t, T), after.slice(0, t, T)) << "\n";
  }
  std::cout << (leaks == 0 ? "\nno output depends on a later token" : "\noutputs depend on later tokens")
            << std::endl;
  return leaks == 0 ? kDone : kCheckFailed;
}

int compare_all() {
  std::cout << "Largest difference of a context vector from the one that masks scores with -inf:\n\n";
  for (const teach::Agreement& row : teach::compare_variants())
    std::cout << "  " << (row.agrees ? "same      " : "DIFFERENT ") << std::left << std::setw(40)
              << row.variant << std::setw(10) << concat(std::setprecision(2), row.difference) << row.why
              << "\n"
              << std::right;
  std::cout << "\nsame: to rounding, at most 1e-6" << std::endl;
  return kDone;
}

int list() {
  std::cout << "lessons, by name or by number of the notebook:\n\n";
  for (const teach::Lesson& lesson : teach::lessons())
    std::cout << "  " << std::left << std::setw(6) << lesson.notebook << std::setw(24) << lesson.name
              << lesson.title << "\n";
  std::cout << "  " << std::setw(6) << "" << std::setw(24) << "compare"
            << "All variants on the same input and weights: which agree, and why not" << std::right
            << std::endl;
  return kDone;
}

std::vector<std::string> lesson_names() {
  std::vector<std::string> names{"compare"};
  for (const teach::Lesson& lesson : teach::lessons()) names.emplace_back(lesson.name);
  return names;
}

const teach::Lesson& chosen_lesson(const std::string& name) {
  std::vector<std::string> known = lesson_names();
  for (const teach::Lesson& lesson : teach::lessons()) known.emplace_back(lesson.notebook);
  try {
    return teach::find_lesson(name);
  } catch (const Error& e) {
    throw Error(e.what(), did_you_mean(name, known));
  }
}

struct LessonFlags {
  std::string name, html, html_all;
  bool compare = false, leak_check = false, json = false;
};

/// Refuses flags that do not go together.
void check(const LessonFlags& flags) {
  const std::string name = flags.name.empty() ? "none" : flags.name;
  if ((flags.name.empty() || name == "compare") && (flags.compare || flags.leak_check))
    fail("lesson", "--compare and --leak-check need the name of a lesson, got ", name, ".");
  const int outputs = (flags.compare || flags.leak_check ? 1 : 0) + (flags.json ? 1 : 0) +
                      (flags.html.empty() ? 0 : 1) + (flags.html_all.empty() ? 0 : 1);
  if (outputs > 1)
    fail("lesson", "--html, --html-all, --json and the checks must come one at a time, got ", outputs,
         " of them.");
  if (!flags.html.empty() && flags.name.empty())
    fail("lesson",
         "--html needs the name of a lesson, or compare, got none. Hint: --html-all DIR writes all.");
  if (!flags.html_all.empty() && !flags.name.empty())
    fail("lesson", "--html-all must come without a name, because it writes all lessons, got ", name, ".");
}

int write_page(const std::string& name, const std::filesystem::path& file) {
  if (file.extension() != ".html") fail("lesson", "--html must end in .html, got ", file, ".");
  files::check_replaceable("lesson", "--html", file, pages::is_page_of("lesson"));
  files::write_atomically(file, [&](std::ostream& out) { out << teach::lesson_html(name); });
  std::cout << "wrote   " << shell_path(file) << std::endl;
  return kDone;
}

int write_site(const std::filesystem::path& folder) {
  files::make_folders(folder);
  files::FolderUpdate update(folder);
  for (const auto& [name, text] : teach::lesson_site()) {
    files::check_replaceable("lesson", "--html-all", folder / name, pages::is_page_of("lesson"));
    update.write(name, text);
  }
  update.commit_without_list();
  std::cout << "wrote   " << shell_path(folder / "index.html") << std::endl;
  return kDone;
}

int lesson(const LessonFlags& flags) {
  check(flags);
  if (!flags.html_all.empty()) return write_site(flags.html_all);
  const bool has_lesson = !flags.name.empty() && flags.name != "compare";
  const std::string name(has_lesson ? chosen_lesson(flags.name).name : flags.name);
  if (!flags.html.empty()) return write_page(name, flags.html);
  if (flags.json) {
    std::cout << teach::lesson_json(name) << std::endl;
    return kDone;
  }
  if (!has_lesson) return name.empty() ? list() : compare_all();
  const teach::Lesson& chosen = teach::find_lesson(name);
  if (!flags.compare && !flags.leak_check) return walk(chosen);
  const int compared = flags.compare ? compare(chosen) : kDone;
  return flags.leak_check ? std::max(compared, leak_check(chosen)) : compared;
}

}  // namespace

Action add_lesson(CLI::App& verb, const std::string& program) {
  auto flags = std::make_shared<LessonFlags>();
  suggest(verb.add_option(
              "name", flags->name,
              "A lesson, the number of its notebook, or compare; without a name,\nlesson lists the lessons"),
          lesson_names)
      ->type_name("NAME");
  verb.add_flag("--compare", flags->compare, "Print the notebook's numbers and those of gradus");
  verb.add_flag("--leak-check", flags->leak_check, "Check that changing a token changes no earlier output");
  add_value(verb, "--html", flags->html, "FILE",
            "Write a page to FILE.html: the cells, a layer to try out, and\nquestions");
  add_value(verb, "--html-all", flags->html_all, "DIR",
            "Write a folder of pages: a list, each lesson, and the variants");
  verb.add_flag("--json", flags->json, "Print what the page shows as a JSON object");
  verb.footer(
      with_program(R"(Each lesson runs the cells of one notebook from its manual_seed and prints their output;
cell numbers are the notebook's. Its source, a file of annexes/teach/, reads like the notebook.
On a page, an edit of an input, a weight or the mask recomputes the layer in the browser.
Exits with 3 if --compare finds a difference or --leak-check a leak.

Examples:
  $ lesson                                   list them
  $ lesson 000                               walk through notebook 000
  $ lesson two-masks --compare               the notebook's numbers and ours
  $ lesson unscaled-attention --leak-check   change a token, compare bits
  $ lesson compare                           all variants on the same weights
  $ lesson 000 --html lesson.html            a page on which the numbers can be changed
  $ lesson --html-all lessons                all pages, for a web server or to open as files)",
                   program));
  return {[flags] { return lesson(*flags); }};
}

}  // namespace gradus::cli
