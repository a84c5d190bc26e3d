// Models of PyTorch's checkpoints: nanoGPT's, the book's, and Hugging Face's pytorch_model.bin.
#include "autograd/compare.hpp"
#include "gradus/models/stored/pretrained.hpp"
#include "temporary_folder.hpp"
#include "test_files.hpp"

namespace gradus::models::test_checkpoint_files {

using namespace testing;

namespace fs = std::filesystem;

const fs::path kCheckpoints = testing::test_files() / "nn/golden/checkpoints";
const fs::path kModel = testing::test_files() / "models/golden/model";

void check_golden(const fs::path& path) {
  const nn::StateDict expected = load_pretrained(kModel).state_dict(),
                      got = load_pretrained(path).state_dict();
  REQUIRE(got.size() == expected.size());
  for (const auto& [name, values] : expected) {
    INFO(name);
    CHECK(difference(got.at(name), values, 0.0) == "");
  }
}

TEST_CASE("nanoGPT's checkpoint has its model's weights and shape") {
  check_golden(kCheckpoints / "nano.pt");
  DecoderConfig expected = load_config(kModel);
  expected.dropout = 0.0;
  CHECK(check_pretrained(kCheckpoints / "nano.pt") == expected);
}

TEST_CASE("a folder with a checkpoint of any name beside config.json") {
  const testing::TemporaryFolder folder;
  fs::copy_file(kModel / "config.json", folder / "config.json");
  const std::string name = GENERATE("pytorch_model.bin", "model.pth", "ckpt.pt");
  fs::copy_file(kCheckpoints / "nano.pt", folder / name);
  check_golden(folder.path());
  CHECK(load_config(folder.path()).dropout == 0.1);  // that of config.json
}

TEST_CASE("the book's checkpoint has the shape of its tensors") {
  const DecoderConfig config = check_pretrained(kCheckpoints / "book.pth");
  CHECK(config.vocab_size == 11);
  CHECK(config.block_size == 6);
  CHECK(config.n_layer == 1);
  CHECK(config.n_embd == 64);
  CHECK(config.n_head == 1);
  CHECK_FALSE(config.tie_word_embeddings);
  const nn::StateDict state = load_pretrained(kCheckpoints / "book.pth").state_dict();
  const Tensor& query = state.at("h.0.attn.c_attn.weight");
  // All matrices share one storage.
  CHECK(difference(query.slice(0, 0, 11), state.at("wte.weight"), 0.0) == "");
  CHECK(difference(query.slice(0, 64, 128), query.slice(0, 0, 64), 0.0) == "");
}

TEST_CASE("checkpoints that are not enough") {
  CHECK_THAT(error_of([] { load_config(kCheckpoints / "views.pt"); }),
             Catch::Matchers::EndsWith("views.pt must have config.json beside it, got none."));
  CHECK_ERROR(load_config(kCheckpoints / "evil.pt"), "got 'posix.system'.");
}

}  // namespace gradus::models::test_checkpoint_files
