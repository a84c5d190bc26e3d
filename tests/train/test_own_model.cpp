// Any module with a loss trains with the loop of the decoder.
#include <csignal>

#include "autograd/compare.hpp"
#include "files_below.hpp"
#include "gradus/data/tokenizer.hpp"
#include "gradus/files/file.hpp"
#include "gradus/nn/layers.hpp"
#include "gradus/train/console.hpp"
#include "gradus/train/optimizers/lion.hpp"
#include "gradus/train/optimizers/sgd.hpp"
#include "gradus/train/run.hpp"
#include "small_model.hpp"
#include "temporary_folder.hpp"

namespace gradus::train::test_own_model {

using namespace testing;

namespace fs = std::filesystem;

/// Guesses the next byte from the last, and drops half of what it knows. Its loss grows with the batches.
class Pairs : public nn::Module {
 public:
  explicit Pairs(DType dtype = DType::float32) {
    Generator g(3);
    embed = nn::Embedding(256, 8, g);
    head = nn::Linear(8, 256, g);
    to(dtype);
  }
  Tensor loss(const data::Batch& batch, Generator* dropout) {
    if (training()) seen.fill_(seen.item() + 1);
    const Tensor known = drop(embed(batch.x.reshape({-1})), dropout);
    return cross_entropy(head(known), batch.y.reshape({-1})) * (1 + 1e-5 * seen.item());
  }
  void visit(nn::Visitor& v) override { v("embed", embed)("drop", drop)("head", head).buffer("seen", seen); }

  nn::Embedding embed{1, 1, unused};
  nn::Dropout drop{0.5};
  nn::Linear head{1, 1, unused};
  Tensor seen = zeros({});

 private:
  static inline Generator unused{0};
};

using Change = std::function<void(Recipe&, Pairs&)>;

struct Training {
  explicit Training(const Change& change = {}, DType dtype = DType::float32)
      : text(data::Tokenizer::bytes().encode(small_text()), 8, 0.1), model(dtype) {
    Recipe recipe{.loss = [this](const data::Batch& batch, Generator* g) { return model.loss(batch, g); },
                  .batches = text.training_batches(),
                  .loop = {.steps = 12, .batch = 4, .accum = 2, .eval_every = 3, .save_every = 4}};
    recipe.schedule = Schedule{.lr = 1e-2, .warmup = 2, .steps = 12};
    if (change) change(recipe, model);
    trainer.emplace(model, std::move(recipe));
  }
  template <class Watching = Observer>
  RunReport fit(const fs::path& folder, Watching&& observer = {}) {
    return train::fit(*trainer, folder, text.validation_batches(16), observer);
  }

  data::TextDataset text;
  Pairs model;
  std::optional<Trainer> trainer;
};

struct Watcher : Observer {
  void on_step(const StepReport& report) override { steps.push_back(report); }
  void on_eval(const EvalReport& report) override { evals.push_back(report); }
  std::vector<StepReport> steps;
  std::vector<EvalReport> evals;
};

/// The losses of the first three steps.
std::vector<double> losses(const Change& change = {}) {
  Training training(change);
  std::vector<double> found;
  for (int i = 0; i < 3; ++i) found.push_back(training.trainer->step().loss);
  return found;
}

TEST_CASE("a model of one's own learns, is evaluated, and leaves a run folder") {
  const testing::TemporaryFolder folder;
  Training training;
  Watcher watcher;
  const RunReport report = training.fit(folder / "run", watcher);
  CHECK(report.finished);
  CHECK(report.steps == 12);
  REQUIRE(watcher.steps.size() == 12);
  REQUIRE(watcher.evals.size() == 4);
  CHECK(watcher.steps[0].tokens == 2 * 4 * 8);
  CHECK(std::abs(watcher.steps[0].loss - std::log(256.0)) < 1);
  CHECK(watcher.evals.back().val_loss < watcher.evals.front().val_loss);
  CHECK(report.val_loss == watcher.evals.back().val_loss);
  std::vector<std::string> names;
  for (const auto& [name, text] : files_below(folder / "run")) names.push_back(name);
  CHECK(names == std::vector<std::string>{"checksums.sfv", "last/checksums.sfv", "last/model.safetensors",
                                          "last/optimizer.safetensors", "last/train.json",
                                          "last/trainer.json", "model.safetensors", "train.json"});
  const std::string log = files::read(folder / "run/metrics.jsonl");
  CHECK(std::count(log.begin(), log.end(), '\n') ==
        12 + 4 + 4);  // steps, evaluations and what was measured before them
}

TEST_CASE("stopped anywhere, it goes on with the same bits, buffers and groups of Lion too") {
  const bool lion = GENERATE(false, true);
  const Change change = [lion](Recipe& r, Pairs& model) {
    if (!lion) return;
    const ParameterGroups groups{{.pattern = "head.bias", .frozen = true},
                                 {.pattern = "embed.*", .lr_factor = 3.0, .weight_decay = 0.0}};
    r.optimizer = std::make_unique<Lion>(model.named_parameters(), LionOptions{}, groups);
  };
  const DType dtype = GENERATE(DType::float32, DType::float64);
  const int64_t stop = GENERATE(1, 7, 11);
  INFO("float " << name(dtype) << ", stopped after " << stop);
  const testing::TemporaryFolder folder;
  CHECK(Training(change, dtype).fit(folder / "whole").finished);
  const RunReport first = Training(change, dtype).fit(folder / "run", StopAfter(stop));
  CHECK_FALSE(first.finished);
  CHECK(first.steps == stop);
  Training going_on(change, dtype);
  const Tensor bias = going_on.model.head.bias.detach() * 1.0;
  const RunReport second = going_on.fit(folder / "run");
  CHECK(second.finished);
  CHECK(going_on.model.seen.item() == 12 * 2);
  CHECK((difference(going_on.model.head.bias.detach(), bias, 0.0) == "") == lion);
  CHECK(files_below(folder / "run") == files_below(folder / "whole"));

  // A run that is done has nothing left to do.
  CHECK(Training(change, dtype).fit(folder / "run").val_loss == second.val_loss);
  CHECK(files_below(folder / "run") == files_below(folder / "whole"));
}

TEST_CASE("an evaluation is made in the precision of the run", "[needs.fast]") {
  const testing::TemporaryFolder folder;
  const auto short_run = [](Recipe& r, Pairs&) {
    r.loop.precision = DType::bfloat16;
    r.loop.steps = r.loop.eval_every = 3;
  };
  Training training(short_run);
  Watcher watcher;
  training.fit(folder / "run", watcher);
  REQUIRE(watcher.evals.size() == 1);
  const auto loss_in = [&](DType precision) {
    const Autocast autocast(precision);
    return mean_loss(training.model, training.trainer->recipe().loss, training.text.validation_batches(16));
  };
  CHECK(watcher.evals[0].val_loss == loss_in(DType::bfloat16));
  CHECK(watcher.evals[0].val_loss != loss_in(DType::float32));
}

TEST_CASE("the parts of a recipe are replaced one at a time") {
  const std::vector<double> usual = losses();
  CHECK(losses() == usual);

  const std::vector<double> by_sgd =
      losses([](Recipe& r, Pairs& model) { r.optimizer = std::make_unique<SGD>(model.named_parameters()); });
  CHECK(by_sgd[0] == usual[0]);  // the same batch and model, before any update
  CHECK(by_sgd[2] != usual[2]);

  std::vector<int64_t> asked;
  const std::vector<double> at_rest = losses([&](Recipe& r, Pairs&) {
    r.schedule = [&](int64_t step) {
      asked.push_back(step);
      return 0.0;
    };
    r.loss = [loss = r.loss](const data::Batch& batch, Generator* g) { return loss(batch, g) * 0.0 + 1.0; };
  });
  CHECK(asked == std::vector<int64_t>{0, 1, 2});
  CHECK(at_rest == std::vector<double>{1, 1, 1});

  int64_t drawn = 0;
  (void)losses([&](Recipe& r, Pairs&) {
    r.batches = [&drawn, source = r.batches](int64_t n, Generator& g) {
      drawn += n;
      return source(n, g);
    };
  });
  CHECK(drawn == 3 * 2 * 4);
}

TEST_CASE("the console prints what happens, and a signal stops a run that goes on with the same bits") {
  const testing::TemporaryFolder folder;
  CHECK(Training().fit(folder / "whole").finished);

  Training interrupted([](Recipe& r, Pairs&) {
    r.batches = [drawn = 0, source = r.batches](int64_t n, Generator& g) mutable {
      if (++drawn == 2 * 5) ::raise(SIGINT);  // in the fifth step
      return source(n, g);
    };
  });
  std::ostringstream shown;
  {
    Console console(shown, /*every=*/2);
    const RunReport report = interrupted.fit(folder / "run", console);
    CHECK_FALSE(report.finished);
    CHECK(report.steps == 5);
  }
  CHECK_THAT(shown.str(), Catch::Matchers::StartsWith("step 2  loss ") &&
                              Catch::Matchers::Contains("\nstep 3  validation ") &&
                              Catch::Matchers::Contains(", the best\nstep 4  loss "));
  CHECK(Training().fit(folder / "run").finished);
  CHECK(files_below(folder / "run") == files_below(folder / "whole"));
}

TEST_CASE("a text that is changed under a run fails it with all that was learnt, and put back it goes on") {
  using namespace std::chrono_literals;
  const testing::TemporaryFolder folder;
  const fs::path file = folder / "text.bin";
  std::string bytes;
  for (const char c : small_text()) bytes.append({c, '\0'});
  const auto write = [&](const std::string& what) {
    std::ofstream(file, std::ios::binary) << what;
    fs::last_write_time(file, fs::file_time_type::clock::now() - 1h);  // No other write is in this tick.
  };
  const auto change_at = [&](int draw) {
    return [&, draw](Recipe& r, Pairs&) {
      const auto text = std::make_shared<data::TextDataset>(data::Tokens::open(file, 256), 8, 0.1);
      r.batches = [=, &file, &bytes, drawn = 0](int64_t n, Generator& g) mutable {
        if (++drawn == draw) std::ofstream(file, std::ios::binary) << std::string(bytes.size(), '\xff');
        return text->random_batch(data::Split::train, n, g);
      };
    };
  };
  write(bytes);
  CHECK(Training(change_at(0)).fit(folder / "whole").finished);
  for (const int64_t lost : {1, 7}) {  // before the first save, and between two
    write(bytes);
    const fs::path out = folder / concat("run", lost);
    const std::string error = error_of([&] { Training(change_at(2 * static_cast<int>(lost))).fit(out); });
    CHECK_THAT(error, Catch::Matchers::StartsWith(concat("[file] ", file, " must stay as it is")));
    write(bytes);
    if (lost > 1) {
      CHECK_HAS(error, concat("The state after step ", lost - 1, " can be resumed."));
      CHECK(RunFolder(out).load_last().trainer.step == lost - 1);
    }
    CHECK(Training(change_at(0)).fit(out).finished);
    CHECK(files_below(out) == files_below(folder / "whole"));
  }
}

TEST_CASE("a state that was saved, but not kept before the run was cut off, is kept when it goes on") {
  const testing::TemporaryFolder folder;
  const Change keep = [](Recipe& r, Pairs&) { r.loop.keep = 2; };
  Training(keep).fit(folder / "run");
  const auto whole = files_below(folder / "run");
  fs::rename(folder / "run/kept/step-12", folder / "run/kept/step.tmp");
  Training(keep).fit(folder / "run");
  CHECK(files_below(folder / "run") == whole);
}

TEST_CASE("a folder goes on with the recipe that began it, and with no other", "[needs.fast]") {
  const testing::TemporaryFolder folder;
  Training().fit(folder / "run", StopAfter(4));
  const auto before = files_below(folder / "run");
  CHECK_THROWS_WITH(Training([](Recipe& r, Pairs&) { r.loop.accum = 1; }).fit(folder / "run"),
                    "[train] `accum` of a resumed run must stay 2, got 1. Hint: use another folder.");
  CHECK_THROWS_WITH(
      Training([](Recipe& r, Pairs&) { r.loop.precision = DType::bfloat16; }).fit(folder / "run"),
      "[train] `precision` of a resumed run must stay float32, got bf16. Hint: use another folder.");
  CHECK_THROWS_WITH(Training([](Recipe& r, Pairs&) { r.loop.steps = 3; }).fit(folder / "run"),
                    "[train] `steps` must be at least the 4 that are done, got 3.");
  CHECK_THAT(error_of([&] { Training({}, DType::float64).fit(folder / "run"); }),
             Catch::Matchers::StartsWith("[optimizer] m.embed.weight must be float64, got float32."));
  CHECK(files_below(folder / "run") == before);

  // The model is compared before the numbers of the recipe.
  const Change other = [](Recipe& r, Pairs& model) {
    Generator g(3);
    r.loop.accum = 1;
    r.loop.steps = 3;
    model.head = nn::Linear(8, 256, g, {.bias = false});
  };
  CHECK_THROWS_WITH(
      Training(other).fit(folder / "run"),
      concat(
          "[train] ", folder / "run/last",
          " must hold the state of this model, got that of another model: names and shapes "
          "must be those of the module, got unexpected: head.bias. Hint: the values were saved from a model "
          "of another shape. Use another folder."));
  Training(other).fit(folder / "other", StopAfter(2));
  CHECK_ERROR(Training().fit(folder / "other"), "got missing: head.bias. Hint: ");

  CHECK(Training([](Recipe& r, Pairs&) { r.loop.steps = 6; }).fit(folder / "run").steps == 6);
  Training([](Recipe& r, Pairs&) {
    r.loop.precision = DType::bfloat16;
  }).fit(folder / "rounded", StopAfter(4));
  CHECK(
      Training([](Recipe& r, Pairs&) { r.loop.precision = DType::bfloat16; }).fit(folder / "rounded").steps ==
      12);
}

TEST_CASE("a run of gradus 0.3 is resumed unless its ranks made local steps or added in another order") {
  const testing::TemporaryFolder folder;
  Training().fit(folder / "run", StopAfter(4));
  const fs::path file = folder / "run/last/train.json";
  const std::string saved = files::read(file);
  fs::remove(folder / "run/last/checksums.sfv");
  const auto error_with = [&](const std::string& settings) {
    std::ofstream(file) << "{" << settings << "," << saved.substr(1);
    return error_of([&] { Training().fit(folder / "run", StopAfter(5)); });
  };
  const std::string hint = ". Hint: gradus 0.3 can resume it.";
  CHECK(error_with(R"("reduce": "fast")") ==
        concat("[train] ", file.string(), ": reduce must be 'ordered' in a run that is resumed, got 'fast'",
               hint));
  CHECK(error_with(R"("sync-every": 20)") ==
        concat("[train] ", file.string(), ": sync-every must be 1 in a run that is resumed, got 20", hint));
  CHECK(error_with(R"("reduce": "ordered", "sync-every": 1)").empty());
}

TEST_CASE("a run that ended before its first save begins anew; other files do not") {
  const testing::TemporaryFolder folder;
  Training().fit(folder / "run", StopAfter(1));
  for (const char* state : {"last", "model.safetensors"}) fs::remove_all(folder / "run" / state);
  CHECK(Training().fit(folder / "run").finished);
  fs::remove_all(folder / "run/last");
  CHECK_HAS(error_of([&] { Training().fit(folder / "run"); }), "must be new or empty");

  fs::create_directory(folder / "mine");
  std::ofstream(folder / "mine/letter") << "dear";
  CHECK_HAS(error_of([&] { Training().fit(folder / "mine"); }), "must be new or empty");
  CHECK(files::read(folder / "mine/letter") == "dear");
}

TEST_CASE("a trainer names, once, the parameters whose requires_grad_() was forgotten") {
  const auto said = [](const Change& change) {
    std::ostringstream text;
    std::streambuf* const before = std::cerr.rdbuf(text.rdbuf());
    Training training(change);
    (void)training.trainer->step();
    (void)training.trainer->step();
    std::cerr.rdbuf(before);
    return text.str();
  };
  CHECK(said({}).empty());
  CHECK(said([](Recipe&, Pairs& model) { model.embed.weight.requires_grad_(false); }).empty());
  const Change forgets = [](Recipe&, Pairs& model) {
    model.embed.weight = ones({256, 8});
    model.head.bias = zeros({256});
  };
  CHECK(said(forgets) ==
        "[train] warning: these parameters require no gradient and are not trained: embed.weight, head.bias. "
        "Hint: call requires_grad_(), or requires_grad_(false) on those that are to stay.\n");
}

TEST_CASE("a mean loss weighs batches by their targets") {
  Training training;
  const auto batch_of = [](std::vector<int64_t> targets) {
    const auto n = static_cast<int64_t>(targets.size());
    return data::Batch{.x = zeros({1, n}), .y = tensor(std::move(targets), {1, n})};
  };
  const std::vector<data::Batch> batches{batch_of({1, 2, 3}),
                                         batch_of({1, data::kNoTarget, data::kNoTarget})};
  const Loss losses = [](const data::Batch& batch) { return full({}, batch.targets() == 3 ? 1.0 : 5.0); };
  CHECK(mean_loss(training.model, losses, batches) == 2.0);  // (3 * 1 + 1 * 5) / 4
}

TEST_CASE("evaluating leaves each module its own mode") {
  Training training;
  training.model.train();
  training.model.drop.eval();  // frozen
  const auto loss = training.trainer->recipe().loss;
  (void)mean_loss(training.model, loss, training.text.validation_batches(16));
  CHECK(training.model.training());
  CHECK(training.model.head.training());
  CHECK_FALSE(training.model.drop.training());
}

TEST_CASE("a recipe that makes no sense is refused by its field") {
  const auto refusal = [](const Change& change) { return error_of([&] { Training{change}; }); };
  CHECK(refusal([](Recipe& r, Pairs&) { r.loss = {}; }) ==
        "[recipe] `loss` must be a callable from a batch to a scalar, got none.");
  CHECK(refusal([](Recipe& r, Pairs&) { r.batches = {}; }) ==
        "[recipe] `batches` must be a callable that draws a batch, got none.");
  CHECK(refusal([](Recipe& r, Pairs&) { r.loop.accum = 0; }) ==
        "[train] `accum` must be a whole number of at least 1, got 0.");
  CHECK(refusal([](Recipe& r, Pairs&) { r.loop.clip = NAN; }) ==
        "[train] `clip` must be a finite number of at least 0, got nan.");
  CHECK(
      refusal([](Recipe& r, Pairs&) { r.optimizer = std::make_unique<Lion>(Pairs().named_parameters()); }) ==
      "[train] the optimizer must hold parameters of the model, got another tensor, embed.weight. Hint: make "
      "it from model.named_parameters(), after to(); a parameter of the loss belongs in the model's "
      "visit().");
}

}  // namespace gradus::train::test_own_model
