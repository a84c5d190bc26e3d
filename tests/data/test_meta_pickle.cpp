// nanoGPT's meta.pkl, the vocabulary of its character models (tests/nn/make_checkpoints.py wrote it).
#include "catch.hpp"
#include "gradus/data/tokenizer.hpp"
#include "support.hpp"
#include "test_files.hpp"

namespace test_meta_pickle {

using namespace gradus::data;

const std::filesystem::path kCheckpoints = gradus::testing::test_files() / "nn/golden/checkpoints";

TEST_CASE("meta.pkl gives nanoGPT's characters, as a file and in a folder") {
  const Tokenizer expected = Tokenizer::characters("\n !abcdefgh");
  CHECK(load_tokenizer(kCheckpoints / "meta.pkl") == expected);
  CHECK(load_tokenizer(kCheckpoints) == expected);
  const std::string said = error_of([] { load_tokenizer(kCheckpoints / "evil.pkl"); });
  CHECK_HAS(said, "got 'posix.system'.");
}

}  // namespace test_meta_pickle
