#include "catch.hpp"
#include "gradus/files/error.hpp"
#include "gradus/train/run_folder/checkpoint.hpp"

namespace gradus::train::test_checkpoint {

using Catch::Matchers::Equals;

Checkpoint made() {
  Checkpoint checkpoint;
  checkpoint.trainer.step = 7;
  checkpoint.trainer.data_stream = "philox 1 2";
  checkpoint.trainer.dropout_stream = "philox 3 4";
  checkpoint.best_val_loss = 0.1 + 0.2;
  checkpoint.text_sha256 = "abc";
  checkpoint.evals_without_best = 3;
  return checkpoint;
}

TEST_CASE("a checkpoint comes back from JSON as it was") {
  for (const bool has_best : {true, false}) {
    Checkpoint checkpoint = made();
    if (!has_best) checkpoint.best_val_loss.reset();
    if (has_best) checkpoint.unlogged = {"{\"step\":7}", "{}"};
    const Checkpoint back = checkpoint_from_json(to_json(checkpoint), "trainer.json");
    CHECK(back.trainer.step == checkpoint.trainer.step);
    CHECK(back.trainer.data_stream == checkpoint.trainer.data_stream);
    CHECK(back.trainer.dropout_stream == checkpoint.trainer.dropout_stream);
    CHECK(back.best_val_loss == checkpoint.best_val_loss);
    CHECK(back.text_sha256 == checkpoint.text_sha256);
    CHECK(back.evals_without_best == checkpoint.evals_without_best);
    CHECK(back.unlogged == checkpoint.unlogged);
  }
}

TEST_CASE("JSON that is no checkpoint is refused") {
  const std::string json = to_json(made());
  const auto refused = [&](const std::string& from, const std::string& to, const std::string& error) {
    std::string changed = json;
    REQUIRE(changed.find(from) != std::string::npos);
    changed.replace(changed.find(from), from.size(), to);
    CHECK_THROWS_WITH(checkpoint_from_json(changed, "t.json"), Equals("[resume] t.json" + error));
  };
  refused("7", "-7", ": step must be a whole number of at least 0, got -7.");
  refused("\"philox 1 2\"", "[[[1]]]", ": streams, data must be a string, got a list of 1.");
  refused("\"abc\"", "null", ": text_sha256 must be a string, got null.");
  refused("text_sha256", "text",
          " must have no field 'text'. Hint: it may have step, best_val_loss, streams, "
          "text_sha256, evals_without_best, unlogged.");
  refused("{", "", " must be JSON, got ':' at line 2, column 9: unexpected ':'; expected end of input.");
}

}  // namespace gradus::train::test_checkpoint
