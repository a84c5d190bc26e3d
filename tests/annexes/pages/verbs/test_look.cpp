// gradus look: its numbers against a forward pass of the library and against models edited by hand.
#include <nlohmann/json.hpp>

#include "cli/program.hpp"
#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/models/architecture.hpp"
#include "gradus/models/stored/pretrained.hpp"
#include "gradus/nn/safetensors.hpp"
#include "gradus/train/decoder.hpp"

namespace gradus::cli::test_look {

using Json = nlohmann::json;

constexpr const char* kPrompt = "The quick fox";
constexpr const char* kOther = "the slow dogs";

/// A run of each architecture, whose weights are large enough that all parts matter.
struct Trained {
  Scratch scratch;
  std::string folder = scratch.path("run");

  explicit Trained(const std::string& arch) {
    std::string text;
    for (int i = 0; i < 300; ++i)
      text += "The quick fox and the slow dogs number " + std::to_string(i) + ".\n";
    must("train --text", scratch.file("text.txt", text), "--steps 30 --arch", arch,
         "--block 32 --layers 2 --embd 32 --out", folder, "--quiet --heads", arch == "mingru" ? "1" : "2");
  }
  Json look(const std::vector<std::string>& flags) const {
    return Json::parse(must("look", folder, "--prompt", kPrompt, "--json", flags).out);
  }
};

std::vector<double> losses_of(models::Decoder& model, const data::Tokenizer& tokenizer) {
  const NoGrad no_grad;
  model.eval();
  const std::vector<int32_t> tokens = tokenizer.encode(kPrompt);
  const std::vector<int64_t> idx(tokens.begin(), tokens.end());
  const auto T = static_cast<int64_t>(idx.size());
  const Tensor log_p = log_softmax(model(tensor(idx, {1, T})).select(0, 0).to(DType::float64), 1);
  std::vector<double> losses;
  for (int64_t t = 1; t < T; ++t) losses.push_back(-log_p.at({t - 1, idx[static_cast<size_t>(t)]}));
  return losses;
}

void check_near(const std::vector<double>& found, const std::vector<double>& expected, double tolerance) {
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i) CHECK(std::abs(found[i] - expected[i]) <= tolerance);
}

TEST_CASE("look gives the losses of the model, and shares that add up to the logits") {
  for (const std::string& arch : models::arch_names()) {
    INFO(arch);
    const Trained run(arch);
    const Json json = run.look({});
    auto [model, tokenizer] = train::load_trained(run.folder);
    check_near(json["losses"], losses_of(model, tokenizer), 1e-6);
    CHECK(json["logit_lens"].size() == 3);
    check_near(json["logit_lens"].back()["losses"], losses_of(model, tokenizer), 1e-6);
    for (const Json& one : {json, run.look(args("--ablate h.0.attn"))}) {
      const std::vector<double> logits = one["attribution"]["logits"];
      std::vector<double> sums(logits.size(), 0.0);
      for (const Json& share : one["attribution"]["shares"])
        for (size_t t = 0; t < sums.size(); ++t) sums[t] += share["logits"][t].get<double>();
      check_near(sums, logits, 1e-4);
    }
    CHECK(json["attribution"]["targets"][0]["text"] == "h");
  }
}

TEST_CASE("look's losses after an ablation are those of a model that was edited by hand") {
  const Trained run("llama");
  const Json json = run.look(args("--ablate h.1.attn.head.1 --scale h.0.mlp=0.5"));
  auto [model, tokenizer] = train::load_trained(run.folder);
  check_near(json["unchanged"]["losses"], losses_of(model, tokenizer), 1e-6);
  for (auto& [name, parameter] : model.named_parameters()) {
    const NoGrad no_grad;
    Tensor values = parameter.detach();
    if (name == "model.layers.1.self_attn.o_proj.weight") values.slice(1, 16, 32).fill_(0.0);
    if (name == "model.layers.0.mlp.down_proj.weight") values.copy_(values * 0.5);
  }
  check_near(json["losses"], losses_of(model, tokenizer), 1e-6);
}

TEST_CASE(
    "look --heads gives the attention of the points and the losses of an ablation; --html needs no heads") {
  const Trained run("llama");
  const Json json = run.look(args("--heads --points h.*.attn.pattern"));
  REQUIRE(json["heads"].size() == 4);
  for (const Json& head : json["heads"]) {
    const int layer = head["layer"], number = head["head"];
    const std::string module = concat("model.layers.", layer, ".self_attn.");
    CHECK(head["name"] == concat(module, "head.", number));
    const Json& pattern = json["activations"][module + "pattern"][0][number];
    for (size_t t = 0; t < pattern.size(); ++t) {
      REQUIRE(head["attention"][t].size() == t + 1);
      for (size_t s = 0; s <= t; ++s) CHECK(head["attention"][t][s] == pattern[t][s]);
    }
    const Json ablated = run.look({"--ablate", head["name"]});
    check_near(head["losses"], ablated["losses"], 1e-6);
    CHECK(std::abs(head["loss"].get<double>() - ablated["loss"].get<double>()) < 1e-6);
    CHECK(head["losses"] != json["losses"]);
  }

  const std::string file = run.scratch.path("look.safetensors");
  for (int i = 0; i < 2; ++i) {  // The second one replaces the first.
    run.look(args("--heads --points h.*.attn.pattern --tensors", file));
    const nn::StateDict tensors = nn::load_safetensors(file, /*keep_float64=*/true);
    check_near(tensors.at("losses").to_vector<double>(), json["losses"], 1e-6);
    CHECK(tensors.at("top/tokens").shape() == Shape{13, 10});
    const Json& head = json["heads"][0];
    const Tensor attention = tensors.at(concat("heads/", head["name"].get<std::string>(), "/attention"));
    CHECK(std::abs(attention.at({5, 2}) - head["attention"][5][2].get<double>()) < 1e-6);
    CHECK(tensors.at("model.layers.0.self_attn.pattern").shape() == Shape{1, 2, 13, 13});
  }

  const Trained recurrent("mingru");
  const std::string page = recurrent.scratch.path("page.html");
  const Json without = recurrent.look({"--html", page});
  CHECK(!without.contains("heads"));
  for (size_t t = 0; t < without["next"].size(); ++t) {
    const Json &best = without["top"][t][0], &next = without["next"][t];
    CHECK(best["text"] == next["text"]);
    CHECK(std::abs(best["probability"].get<double>() - next["probability"].get<double>()) < 1e-12);
  }
  CHECK_HAS(read(page), "\"heads\":[]");
}

TEST_CASE("look --text reads as many tokens of a file as the context has, and its loss is eval's") {
  const Trained run("gpt2");
  const std::string fits = run.scratch.file("fits.txt", "The slow dogs.");
  const Json look = Json::parse(call("look", run.folder, "--text", fits, "--json").out);
  const Json eval = Json::parse(call("eval", run.folder, "--text", fits, "--json").out);
  CHECK(std::abs(look["loss"].get<double>() - eval["loss"].get<double>()) < 1e-5);
  CHECK(look["token_count"] == 14);

  const std::string longer = run.scratch.file("longer.txt", std::string(1500, 'o'));
  const Outcome cut = call("look", run.folder, "--text", longer, "--json");
  CHECK_HAS(cut.err, "the first 32 of 1,500 tokens of");
  CHECK(Json::parse(cut.out)["tokens"].size() == 32);
  CHECK(Json::parse(cut.out)["token_count"] == 1500);
}

TEST_CASE(
    "patching the whole stream gives the other prompt's predictions, one position only that position's") {
  const Trained run("llama");
  const Json patched = run.look(args("--patch h.1 --from", kOther));
  const Outcome outcome = call("look", run.folder, "--prompt", kOther, "--json");
  const Json other = Json::parse(outcome.out);
  CHECK(patched["next"] == other["next"]);

  const Json one = run.look(args("--patch h.1 --from", kOther, "--position 5")), plain = run.look({});
  for (size_t t = 0; t < plain["next"].size(); ++t)
    CHECK(one["next"][t]["probability"] == (t == 5 ? other : plain)["next"][t]["probability"]);
}

TEST_CASE("look lists its points, and prints those that are asked for") {
  const Trained run("llama");
  const Outcome list = must("look", run.folder, "--list");
  CHECK_HAS(list.out, "\nmodel.layers.1.self_attn.pattern\n");
  const Outcome text = call("look", run.folder, "--prompt The --points h.1.mlp.out");
  CHECK_HAS(text.out, "\nmodel.layers.1.mlp.out (1, 3, 32)\n[[[");

  const std::vector<std::string> look = args("look", run.folder, "--prompt The");
  const auto refused = [&](const std::vector<std::string>& flags, const std::string& message) {
    check_refused(args(look, flags), {message});
  };
  refused(args("--points h.9.*"), "--points must match a point of the model, got 'h.9.*'");
  refused(args("--ablate nothing"), "--ablate must match a point of the model, got 'nothing'");
  refused(args("--patch nothing --from the"), "match a point of the model, got 'nothing'");
  refused(args("--scale h.1.mlp"), "--scale must be POINT=FACTOR");
  refused(args("--scale h.1.mlp=x"), "--scale must be POINT=FACTOR");
  refused(args("--patch h.1"), "--patch needs a prompt in --from");
  refused(args("--patch h.1 --from then"), "--from must have as many tokens as --prompt, 3, got 4");
  refused(args("--position 1"), "--position needs --ablate, --scale or --patch");
  refused(args("--ablate h.1 --position 3"), "--position must be from 0 to 2, got 3");
  refused(args("--text file.txt"), "the text must come from --prompt or from --text, got both");
  refused(args("--heads --ablate h.1"), "--heads and --html must be without --ablate");
  refused(args("--html page.html --scale h.1=2"), "--heads and --html must be without --ablate");
  check_refused({"look", run.folder}, {"--prompt must have at least one token, got none"});
  check_refused({"look", run.folder, "--prompt", std::string(33, 'T')},
                {"--prompt must have 1 to 32 tokens, the context length, got 33"});
}

}  // namespace gradus::cli::test_look
