// The lessons print what the notebooks print; verbs/test_lesson.cpp looks for leaks.
#include "gradus/annexes/teach/lessons.hpp"

#include "autograd/compare.hpp"
#include "cli/printed.hpp"

namespace gradus::test_lessons {

using namespace gradus::teach;
using namespace testing;

struct Walked {
  int sentences = 0, compared = 0;
  std::map<std::string, std::string> unknown;
};

Walked walked(std::string_view lesson) {
  Walked result;
  for (const LessonStep& step : find_lesson(lesson).steps()) {
    result.sentences += step.sentence.empty() ? 0 : 1;
    if (step.cell.empty()) continue;
    if (step.notebook.empty()) {
      result.unknown[step.cell] = step.ours;
      continue;
    }
    INFO(step.cell);
    INFO(step.ours << "\n  ==\n" << step.notebook);
    CHECK(testing::same_print(step.ours, step.notebook));
    ++result.compared;
  }
  return result;
}

/// The numbers of a printed matrix.
std::vector<double> numbers(const std::string& text) {
  return testing::Printed(text.substr(text.find("[["))).numbers;
}

void check_numbers(const std::string& text, const std::vector<double>& expected, double tolerance) {
  const std::vector<double> got = numbers(text);
  REQUIRE(got.size() == expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    INFO("number " << i << ": " << got[i] << ", expected " << expected[i]);
    CHECK(std::abs(got[i] - expected[i]) <= tolerance);
  }
}

TEST_CASE("lessons print what the notebooks print, to the last character") {
  const std::map<std::string_view, int> cells = {{"000", 13}, {"001", 8},  {"002", 11},
                                                 {"003", 5},  {"004", 10}, {"book", 1}};
  REQUIRE(lessons().size() == cells.size());
  for (const Lesson& lesson : lessons()) {
    INFO(lesson.name);
    const Walked page = walked(lesson.name);
    CHECK(page.compared == cells.at(lesson.notebook));
    CHECK(page.sentences > 2);
  }
}

// From PyTorch 1.13 without MKL, whose masks notebook 004 has.
TEST_CASE("what depends on a dropout mask is what PyTorch gives") {
  const Walked page = walked("004");
  check_numbers(page.unknown.at("In [51]"),
                {2, 0,         0,          0, 0, 0, 0,          0,          0, 0,         0, 0,
                 0, 0,         0.62063855, 0, 0, 0, 0.5516857,  0.4920569,  0, 0.4637631, 0, 0,
                 0, 0.3965619, 0.39679593, 0, 0, 0, 0.38694474, 0.33266598, 0, 0,         0, 0},
                1e-6);
  check_numbers(
      page.unknown.at("In [62]"),
      {-0.90384054, 0.4432096,   -0.43679893, 0.21418986,  -0.4849278, -0.13410191, -0.5833588, 0.00813283,
       -0.62186474, -0.05263352, -0.14171307, -0.05048606, 0,          0,           -1.1748701, 0.01155223,
       -0.7732556,  0.00728326,  -0.9139532,  -0.27685684, -0.7678606, -0.07353681, -0.6748546, -0.09838523},
      1e-6);
  check_numbers(
      page.unknown.at("In [64]"),
      {0.00270737, -0.05953421, 0.05121315, -0.618746,   0.03298822, -0.39889953, 0.04940023, -0.6210658,
       0.0354097,  -0.448133,   0.02688195, -0.33098966, 0.04111583, -0.45163295, 0.05121315, -0.618746,
       0.03339509, -0.40563253, 0.04940023, -0.6210658,  0.03552639, -0.4167064,  0.03407844, -0.42790672},
      1e-6);
}

TEST_CASE("dropout in notebook 000 takes one word a mask, halves the ones and doubles the rest") {
  const Walked page = walked("000");
  const std::vector<double> mask = numbers(page.unknown.at("In [827]"));
  REQUIRE(mask.size() == 36);
  for (const double m : mask) CHECK((m == 0 || m == 2));
  CHECK(page.unknown.size() == 3);
}

TEST_CASE("each lesson has questions and a layer to change, which is one of its own") {
  for (const Lesson& lesson : lessons()) {
    INFO(lesson.name);
    const std::vector<Question> questions = lesson.questions();
    CHECK((questions.size() >= 3 && questions.size() <= 5));
    for (const Question& q : questions) CHECK((q.question.ends_with("?") && q.answer.ends_with(".")));
    const Laboratory laboratory = lesson.laboratory();
    CHECK(laboratory.x.size(0) == static_cast<int64_t>(laboratory.tokens.size()));
    CHECK(laboratory.W_query.shape() == laboratory.W_value.shape());
    CHECK(laboratory.x.size(1) == laboratory.W_query.size(0));
  }
}

TEST_CASE("a cell keeps the tensors that it prints, between its texts") {
  for (const LessonStep& step : find_lesson("000").steps()) {
    std::string text;
    for (const teach::Printed& part : step.parts) text += part.text;
    CHECK(text == step.ours);
    if (step.cell != "In [820]") continue;
    REQUIRE(step.parts.size() == 4);
    CHECK(!step.parts[0].tensor.defined());
    CHECK(step.parts[1].tensor.shape() == Shape{6, 1});
    CHECK(std::abs(step.parts[3].tensor.at({1, 0}) - 0.5517) < 1e-4);
  }
}

TEST_CASE("the table of variants: who agrees, who does not") {
  const std::map<std::string, bool> expected = {{"-inf on the scores", true},
                                                {"-1e9 on the scores", true},
                                                {"0 on the weights, rows renormalised", true},
                                                {"safe softmax", true},
                                                {"mask handed in, dims named", true},
                                                {"in a batch", true},
                                                {"one query at a time", true},
                                                {"fused kernel", true},
                                                {"two heads", false},
                                                {"not scaled", false},
                                                {"0 on the scores", false},
                                                {"0 on the weights, not renormalised", false},
                                                {"no mask", false}};
  const std::vector<Agreement> table = compare_variants();
  REQUIRE(table.size() == expected.size());
  for (const Agreement& row : table) {
    INFO(row.variant << " by " << row.difference);
    CHECK(row.agrees == expected.at(row.variant));
    CHECK((row.agrees ? row.difference < 1e-6 : row.difference > 1e-3));
    CHECK(!row.why.empty());
  }
}

TEST_CASE("a printed difference is found and marked") {
  const PrintedComparison c = compare_printed("a 1.25\nb", "a 1.35");
  CHECK_FALSE(c.same);
  CHECK(c.digits == 3);
  CHECK(c.equal == 2);
  REQUIRE(c.lines.size() == 2);
  CHECK(c.lines[0].marks == "    ^ ");
  CHECK(c.lines[1].marks == "^");
  CHECK(compare_printed("x 1", "x 1").same);
  CHECK_FALSE(compare_printed("x 1", "x 1\n").same);
}

TEST_CASE("an unknown lesson is refused with the names of all") {
  CHECK_THROWS_WITH(
      find_lesson("005"),
      "[lesson] the name must be one of causal-self-attention, two-masks, masked-self-attention, "
      "unscaled-attention, attention-chapter, stacked-heads, or the number of a notebook, got '005'.");
}

}  // namespace gradus::test_lessons
