// Charts in characters: where dots and labels are.
#include "gradus/cli/plots/chart.hpp"

#include "catch.hpp"
#include "gradus/files/utf8.hpp"

namespace gradus::plots::test_chart {

std::u32string decoded(std::string_view text) {
  std::u32string characters;
  for (; !text.empty();) {
    const files::CodePoint c = files::first_code_point(text);
    characters += c.value;
    text.remove_prefix(static_cast<size_t>(c.size));
  }
  return characters;
}

using Places = std::set<std::pair<int, int>>;

/// Dots of rows of braille characters, by Unicode's numbers: 1 2 3 7 down the left, 4 5 6 8 down the right.
Places dots(const std::vector<std::string>& rows, size_t margin = 0) {
  constexpr int kNumbers[2][4] = {{1, 2, 3, 7}, {4, 5, 6, 8}};
  Places places;
  for (size_t row = 0; row < rows.size(); ++row) {
    const std::u32string cells = decoded(rows[row]).substr(margin);
    for (size_t column = 0; column < cells.size(); ++column)
      for (int x = 0; x < 2; ++x)
        for (int y = 0; y < 4; ++y)
          if (cells[column] > 0x2800 && cells[column] <= 0x28FF &&
              (cells[column] - 0x2800) >> (kNumbers[x][y] - 1) & 1)
            places.emplace(2 * static_cast<int>(column) + x, 4 * static_cast<int>(row) + y);
  }
  return places;
}

std::vector<std::string> rows_of(const Canvas& canvas, bool colours = false) {
  std::vector<std::string> rows;
  for (int row = 0; row < canvas.height() / 4; ++row) rows.push_back(canvas.row(row, colours));
  return rows;
}

TEST_CASE("a canvas has every dot of a line, and nothing outside") {
  Canvas canvas(3, 2);
  CHECK((canvas.width() == 6 && canvas.height() == 8));
  Places diagonal;
  for (int i = 0; i < 6; ++i) diagonal.emplace(i, i);
  canvas.line(0, 0, 5, 5);
  CHECK(dots(rows_of(canvas)) == diagonal);

  for (int x = 0; x < 6; ++x)
    for (int y = 0; y < 8; ++y) {
      Canvas one(3, 2);
      one.line(x, y, x, y);
      CHECK(dots(rows_of(one)) == Places{{x, y}});
    }
  Canvas outside(3, 2);
  for (const double far : {-1.0, -1e300, 8.0, 1e300, -HUGE_VAL, HUGE_VAL, std::nan("")}) {
    outside.line(far, far, far, far);
    outside.line(far, 3, far, 3);
    outside.mark(far, 3, 'x');
  }
  CHECK(rows_of(outside) == std::vector<std::string>{"", ""});
  outside.line(3, -1e300, 3, 1e300);
  CHECK(dots(rows_of(outside)).size() == 8);
}

TEST_CASE("a mark is above the dots, and colours are on request") {
  Canvas canvas(3, 1);
  canvas.line(0, 3, 5, 3, 36);
  canvas.mark(2, 0, 'o', 35);
  canvas.line(0, 3, 5, 3, 36);
  CHECK(rows_of(canvas) == std::vector<std::string>{"⣀o⣀"});
  CHECK(rows_of(canvas, true) == std::vector<std::string>{"\033[36m⣀\033[35mo\033[36m⣀\033[0m"});
}

TEST_CASE("the dots of a chart are at the values of the curve") {
  const int rows = 12, columns = 50;
  Series curve;
  for (int i = 0; i <= 100; ++i) curve.points.emplace_back(i, 3 + std::sin(i / 10.0));
  const std::vector<std::string> lines = chart({curve}, {0, 100}, {1.5, 4.5}, "steps", {columns, rows});
  REQUIRE(lines.size() == rows);
  const size_t margin = decoded(lines[0]).find_first_of(U"│┤") + 1;
  const Places places = dots({lines.begin(), lines.end() - 2}, margin);
  const int width = 2 * (columns - static_cast<int>(margin)), height = 4 * (rows - 2);
  std::set<int> seen;
  for (const auto& [x, y] : places) {
    const double step = 100.0 * x / (width - 1), loss = 4.5 - 3.0 * y / (height - 1);
    CHECK(std::fabs(loss - (3 + std::sin(step / 10))) < 1.5 * 3 / height);  // a dot and a half
    seen.insert(x);
  }
  CHECK(std::ssize(seen) == width);  // without gaps
}

TEST_CASE("the labels of a chart are at their values") {
  // Marks at the ticks: each must be in the row, or the column, of its label.
  const int rows = 16, columns = 60;
  Range x{0, 500}, y{0, 5};
  Series marks{.points = {{0, 1}, {100, 2}, {200, 3}, {300, 4}, {400, 5}}, .mark = 'o'};
  const std::vector<std::string> lines = chart({marks}, x, y, "steps", {columns, rows});
  for (const std::string& line : lines) CHECK(decoded(line).size() <= columns);
  for (const auto& [step, loss] : marks.points) {
    const std::string label = std::to_string(static_cast<int>(loss));
    const auto line =
        std::ranges::find_if(lines, [&](const std::string& one) { return one.starts_with(label + " ┤"); });
    REQUIRE(line != lines.end());
    const size_t column = decoded(*line).find(U'o');
    REQUIRE(column != std::u32string::npos);
    CHECK(decoded(lines[rows - 2])[column] == U'┬');
    const std::string text = std::to_string(static_cast<int>(step));
    CHECK(lines.back().substr(column - text.size() / 2, text.size()) == text);
  }
  CHECK(lines.back().ends_with(" steps"));
}

TEST_CASE("a chart of any size and any values is made") {
  for (const int columns : {1, 5, 10, 40, 200})
    for (const int rows : {1, 2, 3, 8, 24})
      for (const double size : {1e-320, 1e-9, 1.0, 1e12, 1e300}) {
        const Series curve{.points = {{size, 0}, {2 * size, size}, {3 * size, -size}}};
        const std::vector<std::string> lines =
            chart({curve}, {size, 3 * size}, {-size, size}, "minutes", {columns, rows});
        CHECK(lines.size() == static_cast<size_t>(std::max(3, rows)));
        for (const std::string& line : lines)
          if (columns >= 40) CHECK(decoded(line).size() <= static_cast<size_t>(columns));
      }
}

}  // namespace gradus::plots::test_chart
