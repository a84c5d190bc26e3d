// Logs of runs, read and drawn.
#include "gradus/tools/plots/loss_plot.hpp"

#include "autograd/compare.hpp"
#include "gradus/tools/plots/svg.hpp"
#include "temporary_folder.hpp"

namespace gradus::plots::test_loss_plot {

const char* const kLog =
    "{\"event\":\"step\",\"step\":1,\"loss\":4.0,\"elapsed_s\":3}\n"
    "{\"event\":\"step\",\"step\":2,\"loss\":2.0,\"elapsed_s\":6}\n"
    "{\"event\":\"sample\",\"step\":2,\"text\":\"a\"}\n"
    "{\"event\":\"eval\",\"step\":2,\"val_loss\":2.5,\"elapsed_s\":9}\n";

LossCurve curve(const std::string& name, std::vector<LossPoint> validation) {
  return {.name = name, .training = {}, .validation = std::move(validation)};
}

int64_t count(const std::string& text, const std::string& part) {
  int64_t n = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
  return n;
}

/// Of the runs; the legend has one more.
int64_t dots(const std::string& svg) { return count(svg, "<circle") - 1; }

LossCurve losses_of(const std::filesystem::path& path) {
  pages::LoggedRun run(path);
  run.update();
  return read_losses(run);
}

std::string error_of_log(const std::string& log) {
  const testing::TemporaryFolder folder;
  std::ofstream(folder / "metrics.jsonl") << log;
  return testing::error_of([&] { losses_of(folder.path()); });
}

TEST_CASE("a run's losses are read from its folder or its log, whole lines only") {
  const testing::TemporaryFolder folder;
  std::ofstream(folder / "metrics.jsonl") << kLog << "{\"event\":\"step\",\"st";
  for (const auto& run : {folder.path(), folder / "metrics.jsonl"}) {
    const LossCurve read = losses_of(run);
    CHECK(read.name == folder.path().filename().string());
    REQUIRE(read.training.size() == 2);
    CHECK(read.training[1].step == 2);
    CHECK(read.training[1].minutes == Approx(0.1));
    CHECK(read.training[1].loss == 2);
    REQUIRE(read.validation.size() == 1);
    CHECK(read.validation[0].minutes == Approx(0.15));
    CHECK(read.validation[0].loss == 2.5);
  }
}

TEST_CASE("a log of another program may say of its tokens what it likes") {
  const testing::TemporaryFolder folder;
  for (const auto& [tokens, count] : {std::pair<const char*, int64_t>{"null", 0},
                                      {"1.5e5", 150'000},
                                      {"\"all\"", 0},
                                      {"-3", 0},
                                      {"1e300", 0}}) {
    std::ofstream(folder / "metrics.jsonl")
        << "{\"event\":\"eval\",\"step\":200,\"val_loss\":1.9,\"elapsed_s\":12.5,\"tokens\":" << tokens
        << "}\n";
    INFO(tokens);
    CHECK(losses_of(folder.path()).validation_tokens == count);
  }
}

TEST_CASE("what is no log is refused by line") {
  CHECK_HAS(error_of_log(""), "must have losses, got none.");
  CHECK_HAS(error_of_log("{\"event\":\"step\",\"step\":1,\"los"), "must have losses");
  CHECK_HAS(error_of_log("{}\n"), "metrics.jsonl:1 must have a field 'event'.");
  CHECK_HAS(error_of_log(std::string(kLog) + "x\n"), "metrics.jsonl:5 must be JSON");
  const testing::TemporaryFolder folder;
  CHECK_HAS(testing::error_of([&] { losses_of(folder.path()); }), "metrics.jsonl");
  CHECK_HAS(testing::error_of([&] { losses_of(folder / "results.jsonl"); }),
            "must be the log of a run, got the results of a sweep", "folder");
}

TEST_CASE("a plot has a line and dots for each run, and says how it ended") {
  const std::string svg =
      loss_plot({curve("a<b", {{1, 1, 3}, {2, 2, 2}}), curve("c&d", {{1, 0.5, 2.5}})}, {});
  CHECK(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  CHECK(svg.ends_with("</svg>\n"));
  CHECK(dots(svg) == 3);
  CHECK(count(svg, "<text") == count(svg, "</text>"));
  CHECK(count(svg, "nan") == 0);
  CHECK_HAS(svg, "loss against minutes", "a&lt;b: 2 at the end", "c&amp;d: 2.5 at the end");
}

TEST_CASE("a plot names its axes and says which lines are of training") {
  LossCurve run = curve("run", {{1, 1, 3}, {2, 2, 2}});
  run.training = {{1, 1, 3.1}, {2, 2, 2.1}};
  for (const bool by_steps : {false, true}) {
    const std::string svg = loss_plot({run}, {.by_steps = by_steps});
    CHECK(count(svg, by_steps ? ">steps</text>" : ">minutes</text>") == 1);
    for (const char* name : {">loss, nats a token</text>", ">validation loss</text>", ">training loss, "})
      CHECK(count(svg, name) == 1);
    CHECK(count(svg, "stroke-opacity") == 2);  // the run's thin line, and the one that is explained
  }
}

TEST_CASE("a run may have any name: what XML does not allow in a text is not in the picture") {
  const std::string svg = text(0, 0, "a]]>b\xEF\xBF\xBE\xEF\xBF\xBF\x01\xFF&<\xC3\xA9\xF0\x9F\x98\x80");
  CHECK_HAS(svg,
            ">a]]&gt;b\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD&amp;&lt;\xC3\xA9\xF0\x9F\x98\x80<");
}

TEST_CASE("runs that never validated show what they lost in training") {
  LossCurve run{.name = "run", .training = {}, .validation = {}};
  for (int i = 1; i <= 1000; ++i) run.training.push_back({double(i), 0.1 * i, 100.0 / i});
  const std::string svg = loss_plot({run}, {.by_steps = true});
  CHECK_HAS(svg, "run: 0.1 in training", "loss against steps");
  CHECK(count(svg, "L") > 90);   // a hundred means,
  CHECK(count(svg, "L") < 140);  // with axes and ticks
}

TEST_CASE("losses that are not finite, single points and steps without a time") {
  CHECK_THROWS_WITH(loss_plot({curve("a", {{1, NAN, 3}})}, {}),
                    ContainsSubstring("a must have logged the time, got none. Hint: --by steps."));
  CHECK(dots(loss_plot({curve("a", {{1, NAN, 3}})}, {.by_steps = true})) == 1);
  CHECK(dots(loss_plot({curve("a", {{1, 1, 3}, {2, 2, INFINITY}, {3, 3, NAN}})}, {})) == 1);
  CHECK_THROWS_WITH(loss_plot({curve("a", {{1, 1, NAN}})}, {}), ContainsSubstring("must have finite losses"));
  const std::string from_zero = loss_plot({curve("a", {{0, 0, 3}, {1, 1, 2}})}, {.logarithmic = true});
  CHECK(dots(from_zero) == 1);
  CHECK(count(from_zero, "inf") == 0);
}

TEST_CASE("losses and times of any size end as a picture") {
  for (const double loss : {0.0, -1e-300, 1e16, 1e17, -1e300})
    for (const double minutes : {1e-320, 1e-9, 1e12})
      for (const bool logarithmic : {false, true})
        CHECK(loss_plot({curve("a", {{1, minutes, loss}, {2, 2 * minutes, loss + 1}})},
                        {.logarithmic = logarithmic})
                  .size() < 10'000);
}

TEST_CASE("an axis has a few round values, on it") {
  for (const double high : {0.001, 0.7, 1.0, 3.3, 99.0, 1e6}) {
    const Axis even{0, high, 0, 100}, ratios{high / 100, high, 0, 100, true};
    for (const Axis& axis : {even, ratios}) {
      const std::vector<double> at = ticks(axis);
      CHECK(at.size() >= 3);
      CHECK(at.size() <= 10);
      CHECK(axis(at.front()) >= 0);
      CHECK(axis(at.back()) <= 100 + 1e-9);
    }
    CHECK(even(high / 2) == Approx(50));
    CHECK_FALSE(std::signbit(ticks({-high, high, 0, 1}).at(ticks({-high, high, 0, 1}).size() / 2)));
    CHECK(ratios(high / 10) == Approx(50));
  }
}

}  // namespace gradus::plots::test_loss_plot
