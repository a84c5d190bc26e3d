// Runs that train adapters: `train --lora`, and what opens them.
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/program.hpp"
#include "gradus/annexes/formats/gguf/gguf.hpp"
#include "gradus/data/tokenizer.hpp"
#include "gradus/files/file.hpp"
#include "gradus/models/stored/pretrained.hpp"
#include "gradus/nn/safetensors.hpp"

namespace gradus::cli::test_lora {

namespace fs = std::filesystem;

struct Base {
  Scratch scratch;
  std::string text = scratch.text(), base = scratch.path("base");

  Base() {
    must("train --preset tiny --steps 3 --block 16 --text", text, "--out", base, "--tokenizer byte --quiet");
  }
  /// `train` with adapters of a model, of this one unless another is named.
  std::vector<std::string> train(const std::vector<std::string>& more, const std::string& from = {}) const {
    return args("train --init-from", from.empty() ? base : from, "--text", text,
                "--steps 8 --eval-every 4 --quiet", more);
  }
  double loss(const std::vector<std::string>& model) const { return loss_of(model, text); }
};

TEST_CASE("a run of adapters resumes to the bit, alone and on ranks", "[needs.fast]") {
  const Base base;
  const std::vector<std::string> settings =
      GENERATE(args("--lora 2 --lora-dropout 0.2 --ema 0.9 --block 9"),
               args("--lora 3 --lora-on c_attn *.mlp.* --weights bfloat16 --precision bf16 --micro 2"),
               args("--lora 2 --weights int4 --optimizer muon"));
  check_resumes(base.scratch, base.train(settings), "5", {"last/adapter_model.safetensors"});
  CHECK_FALSE(fs::exists(fs::path(base.scratch.path("whole")) / "model.safetensors"));
  CHECK(base.loss({base.scratch.path("whole")}) < base.loss({base.base}));
}

// Qwen's models have more rows than tokens; Gemma 3 has no row for its last special token.
TEST_CASE("the base model may have more rows than its tokenizer has tokens, or none for a special token") {
  const Base base;
  const std::string from = base.scratch.path("from"), merged = base.scratch.path("merged"),
                    run = base.scratch.path("run");
  must("tokenizer train", base.text, "--vocab 260 --out", from, "--special <x>");
  const int64_t tokens = data::load_tokenizer(from).vocab_size(), rows = GENERATE_COPY(320, tokens - 1);
  models::DecoderConfig config = models::load_config(base.base);
  config.vocab_size = rows;
  Generator g(1);
  models::save_pretrained(models::Decoder(config, g), from);
  must(base.train(args("--stop-after 5 --lora 2"), from), "--out", run);
  must("train --resume --out", run, "--quiet");
  must("export", run, "--merge --out", merged);
  CHECK(models::load_config(merged).vocab_size == rows);
  CHECK(base.loss({merged}) == base.loss({run}));
  must("export", run, "--to gguf --out", base.scratch.path("run.gguf"));
}

TEST_CASE("adapters are read, merged, exported and trained further") {
  const Base base;
  const std::string run = base.scratch.path("run"), merged = base.scratch.path("merged"),
                    gguf = base.scratch.path("adapter.gguf");
  must(base.train(args("--lora 2")), "--out", run);
  const double loss = base.loss({run});
  must("export", run, "--merge --out", merged);
  CHECK(base.loss({merged}) == loss);
  CHECK(files::read(fs::path(merged) / "config.json") == files::read(fs::path(base.base) / "config.json"));
  CHECK(base.loss({base.base, "--adapter", run}) == loss);
  check_refused({"export", run, "--merge", "--out", merged},
                {"[export] --out must be a new or an empty folder, got"});
  // A merge that was killed before its last file was in place.
  fs::rename(fs::path(merged) / "config.json", fs::path(merged) / "config.json.tmp");
  CHECK(run_program({"sample", merged, "--tokens", "5"}).code == 2);
  must("export", run, "--merge --out", merged);
  CHECK(base.loss({merged}) == loss);
  check_refused({"export", base.base, "--merge", "--out", base.scratch.path("none")},
                {"--merge needs an adapter, got"});
  must("sample", run, "--tokens 5");

  must("export", run, "--to gguf-adapter --out", gguf, "--quiet");
  const gguf::Header header = gguf::read_header(gguf);
  CHECK(std::get<std::string>(*header.find("general.type")) == "adapter");
  CHECK(std::get<std::string>(*header.find("adapter.type")) == "lora");
  CHECK(std::get<float>(*header.find("adapter.lora.alpha")) == 4.0F);
  CHECK(header.tensors.size() == nn::load_safetensors(fs::path(run) / "adapter_model.safetensors").size());
  check_refused(args("export", base.base, "--to gguf-adapter --out", base.scratch.path("no.gguf")),
                {"--to gguf-adapter needs an adapter, got"});

  const Outcome further = must("train --init-from", run, "--text", base.text, "--steps 4 --out",
                               base.scratch.path("further"), "--quiet");
  CHECK(base.loss({base.scratch.path("further")}) < loss);
}

TEST_CASE("a merged model keeps the fields of its base's config, whatever the dtypes of the base") {
  const Base base;
  const fs::path folder = base.base, config = folder / "config.json";
  nn::StateDict state = nn::load_safetensors(folder / "model.safetensors");
  state.begin()->second = state.begin()->second.to(DType::bfloat16);
  nn::save_safetensors(folder / "model.safetensors", state);
  auto json = nlohmann::json::parse(files::read(config));
  json.update({{"eos_token_id", 10}, {"torch_dtype", "bfloat16"}});
  std::ofstream(config) << json;
  fs::remove(folder / "checksums.sfv");
  must(base.train(args("--lora 2")), "--out", base.scratch.path("run"));
  must("export", base.scratch.path("run"), "--merge --out", base.scratch.path("merged"));
  json["torch_dtype"] = "float32";
  CHECK(nlohmann::json::parse(files::read(base.scratch.path("merged") + "/config.json")) == json);
}

TEST_CASE("a base model that has moved is found again") {
  const Base base;
  const std::string run = base.scratch.path("run"), place = base.scratch.path("moved");
  must(base.train(args("--lora 2 --stop-after 4")), "--out", run);
  const double loss = base.loss({run});
  fs::rename(base.base, place);
  check_refused({"sample", run},
                {"base_model_name_or_path must be the folder of the base model, got", "--adapter"});
  check_refused(args("train --resume --out", run),
                {"--init-from must be the model that the run in", "give its new place"});
  CHECK(base.loss({place, "--adapter", run}) == loss);
  must("train --resume --out", run, "--init-from", place, "--quiet");
  CHECK(base.loss({run}) < loss);
}

TEST_CASE("settings of adapters without adapters are refused") {
  const Base base;
  const auto refused = [&](const std::vector<std::string>& flags, const char* words) {
    check_refused(args("train --text", base.text, "--out", base.scratch.path("refused"), flags), {words});
  };
  refused(args("--lora 4"), "--lora must come with --init-from, got it alone.");
  refused(args("--init-from", base.base, "--lora-alpha 4"),
          "--lora-alpha must come with --lora, got it alone.");
  refused(args("--init-from", base.base, "--weights int8"),
          "--weights must be float32 unless they are frozen");
  refused(args("--init-from", base.base, "--lora 4 --lora-on query"), "a pattern must match the name");
  refused(args("--init-from", base.base, "--lora -1"),
          "--lora must be a whole number of at least 0, got -1.");
}

}  // namespace gradus::cli::test_lora
