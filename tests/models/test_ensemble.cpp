// Ensembles: the mean of the probabilities of their members.
#include <fstream>

#include "autograd/compare.hpp"
#include "gradus/files/folder.hpp"
#include "gradus/models/generate.hpp"
#include "gradus/models/stored/pretrained.hpp"
#include "models/llama.hpp"
#include "temporary_folder.hpp"
#include "with_state.hpp"

namespace gradus::models::test_ensemble {

using namespace testing;

DecoderConfig config_of(const std::string& arch) {
  DecoderConfig config{
      .arch = arch, .vocab_size = 17, .block_size = 8, .n_layer = 2, .n_head = 2, .n_embd = 16};
  if (arch == "mingru") config.n_head = 1;
  if (arch != "gpt2") config.bias = false;
  return config;
}

/// Members in folder/a, folder/b and folder/c, and the ensemble in the folder itself.
struct SavedEnsemble {
  testing::TemporaryFolder folder;
  std::vector<Decoder> members;

  explicit SavedEnsemble(const std::string& arch) {
    for (const char* name : {"a", "b", "c"}) {
      members.push_back(wide_model(config_of(arch), members.size() + 1));
      save_pretrained(members.back(), folder / name);
    }
    save({"a", "b", "c"});
  }
  void save(const std::vector<std::string>& names) const {
    files::FolderUpdate update(folder.path());
    save_ensemble(names, update);
    update.commit_without_list();
  }
};

TEST_CASE("an ensemble's probabilities are the means of its members'") {
  const std::string arch = GENERATE("gpt2", "llama", "gemma", "mingru");
  const SavedEnsemble saved(arch);
  Decoder ensemble = load_pretrained(saved.folder.path());
  CHECK(ensemble.config().n_member == 3);
  CHECK(ensemble.config() == load_config(saved.folder.path()));
  CHECK(ensemble.config() == check_pretrained(saved.folder.path()));
  CHECK(ensemble.config().num_parameters() == 3 * saved.members[0].config().num_parameters());
  const Tensor idx = tensor(std::vector<int64_t>{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3}, {2, 8});
  const NoGrad no_grad;
  Tensor mean = zeros({2, 8, 17});
  for (const Decoder& member : saved.members) mean = mean + softmax(member(idx), -1) / 3.0;
  CHECK(amax(abs(softmax(ensemble(idx), -1) - mean)).item() < 1e-6);
  CHECK(amax(abs(exp(ensemble(idx)) - mean)).item() < 1e-6);  // the logits are logarithms

  const Decoder copy(ensemble);
  CHECK(difference(copy(idx), ensemble(idx)).empty());
  CHECK(check_outputs(ensemble).failed().empty());
}

TEST_CASE("an ensemble of one is its member") {
  const SavedEnsemble saved("llama");
  saved.save({"b"});
  const Decoder one = load_pretrained(saved.folder.path());
  const Tensor idx = tensor(std::vector<int64_t>{3, 1, 4, 1}, {1, 4});
  CHECK(difference(one(idx), saved.members[1](idx)).empty());
}

TEST_CASE("an ensemble is trained by the loss of its mean") {
  DecoderConfig config = config_of("llama");
  config.n_member = 2;
  Generator g(3);
  Decoder ensemble(config, g);
  const Tensor idx = tensor(std::vector<int64_t>{3, 1, 4, 1}, {1, 4}),
               y = tensor(std::vector<int64_t>{1, 4, 1, 5}, {1, 4});
  ensemble.loss(idx, y).backward();
  for (const auto& [name, parameter] : ensemble.named_parameters()) {
    INFO(name);
    CHECK(name.starts_with("members."));
    CHECK(parameter.grad().defined());
  }
  CHECK_THROWS_WITH(save_pretrained(ensemble, std::filesystem::temp_directory_path()),
                    "[save_pretrained] needs one model, got an ensemble of 2. Hint: save its members, and "
                    "save_ensemble().");
  CHECK(error_of([&] { (void)ensemble.logit_share({}, {}, {}); }).find("are no sums") != std::string::npos);
}

TEST_CASE("members that are not models of one config inside the folder are refused") {
  const SavedEnsemble saved("llama");
  const std::string folder = saved.folder.path().string();
  const auto error = [&](const std::vector<std::string>& names) {
    saved.save(names);
    return error_of([&] { load_pretrained(saved.folder.path()); });
  };
  for (const char* outside : {"../a", "/tmp", "a/../../b", ""})
    CHECK(error({"a", outside}) == concat("[load_config] ", folder,
                                          "/config.json: members[1] must be a folder ",
                                          "inside that of config.json, got '", outside, "'."));
  std::ofstream(saved.folder / "config.json")
      << R"({"model_type": "gradus_ensemble", "members": ["a"], "weights": [1]})";
  CHECK_HAS(error_of([&] { load_config(saved.folder.path()); }), "weights is not read and may change");
  CHECK(error({}) ==
        concat("[load_config] ", folder, "/config.json: members must name at least one folder, got none."));
  CHECK(error({"a", "d"}).find(folder + "/d/config.json") != std::string::npos);
  DecoderConfig other = config_of("llama");
  other.dropout = 0.5;  // of training alone
  save_pretrained(wide_model(other, 9), saved.folder / "d");
  CHECK(error({"a", "d"}).empty());
  other.n_layer = 1;
  save_pretrained(wide_model(other, 9), saved.folder / "d");
  CHECK(error({"a", "d"}).find("the members must have one config") != std::string::npos);
  saved.save({"a", "b"});
  std::filesystem::rename(saved.folder / "b", saved.folder / "e");
  std::filesystem::create_directory(saved.folder / "b");
  std::filesystem::copy(saved.folder / "config.json", saved.folder / "b");  // an ensemble as a member
  CHECK(error_of([&] { load_pretrained(saved.folder.path()); }).find("must be 'gpt2'") != std::string::npos);
}

}  // namespace gradus::models::test_ensemble
