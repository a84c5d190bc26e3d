// What gradus info says of a run folder whose model is not the decoder.
#include "cli/program.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/nn/layers.hpp"
#include "gradus/train/run.hpp"

namespace gradus::cli::test_info_own {

using Catch::Matchers::StartsWith;

/// Trains a line through points, in that folder.
void fit_line(const std::filesystem::path& folder, int64_t stop_after) {
  Generator g(1);
  nn::Linear line(3, 1, g);
  const auto points = [](int64_t n, Generator& stream) {
    const Tensor x = rand({n, 3}, stream);
    return data::Batch{x, sum(x, {1}, /*keepdim=*/true)};
  };
  const auto error = [&](const data::Batch& batch) { return mse_loss(line(batch.x), batch.y); };
  train::Trainer trainer(line,
                         {.loss = error, .batches = points, .loop = {.steps = 10, .batch = 6, .seed = 7}});
  Generator unseen(2);
  (void)train::fit(trainer, folder, {points(8, unseen)}, train::StopAfter(stop_after));
}

TEST_CASE("info reads the folder of a model of one's own") {
  const Scratch scratch;
  const std::string out = scratch.path("line");
  fit_line(out, 4);
  const Outcome stopped = must("info", out);
  CHECK_THAT(stopped.out, StartsWith("model.safetensors  shape   numbers\n"
                                     "bias               (1,)          1\n"
                                     "weight             (1, 3)        3\n"));
  CHECK_HAS(stopped.out,
            "model       not a decoder of gradus; 4 parameters\n"
            "trained     in steps of 6 examples, seed 7\n"
            "state       step 4 of 10; train::fit() continues it\n");
  fit_line(out, 10);
  const Outcome done = call("info", out);
  CHECK_HAS(done.out, "state       step 10 of 10; finished\nbest        0.");
  CHECK_HAS(done.out, ", the lowest validation loss\n");
  CHECK_HAS(call("info", out + "/last").out, "4 parameters\n");
}

TEST_CASE("names in the files of a model of one's own obey nobody, and a changed byte is refused") {
  const Scratch scratch;
  const std::string out = scratch.path("line"), file = out + "/model.safetensors";
  fit_line(out, 4);
  std::string model = read(file);
  model.replace(model.find("weight"), 6, "\\u001b");  // as long as before
  std::ofstream(file, std::ios::binary) << model;
  check_refused({"info", out}, {"model.safetensors"});
  std::filesystem::remove(out + "/checksums.sfv");
  const Outcome shown = must("info", out);
  CHECK(shown.out.find('\x1b') == std::string::npos);
  CHECK_HAS(shown.out, "\\x1b");
}

TEST_CASE("what info cannot know of a model of one's own it refuses") {
  const Scratch scratch;
  const std::string out = scratch.path("line");
  fit_line(out, 4);
  check_refused(args("info", out, "--batch 3"),
                {"[info] --batch must be left out for a model that is not a decoder of gradus"});
  std::filesystem::remove(out + "/model.safetensors");
  check_refused({"info", out}, {"model.safetensors"});
  check_refused({"sample", out}, {"config.json"});
}

}  // namespace gradus::cli::test_info_own
