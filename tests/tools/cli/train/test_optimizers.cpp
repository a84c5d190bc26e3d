// The program with optimizers and groups of parameters: --optimizer lion, --lr-of, --freeze.
#include <nlohmann/json.hpp>

#include "gradus/nn/safetensors.hpp"
#include "tools/cli/program.hpp"

namespace gradus::cli::test_optimizers {

/// Trains a tiny GPT-2 with these flags, and returns its newest weights.
nn::StateDict trained(const Scratch& scratch, const std::string& out, const std::vector<std::string>& more) {
  const Outcome outcome =
      call("train --preset tiny --text", scratch.text(), "--quiet --out", scratch.path(out), more);
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
  return nn::load_safetensors(scratch.path(out) + "/last/model.safetensors");
}

/// The largest change of each parameter from the first run to the second.
std::map<std::string, double> changes(const nn::StateDict& from, const nn::StateDict& to) {
  std::map<std::string, double> largest;
  for (const auto& [name, tensor] : from) {
    const std::vector<float> a = tensor.to_vector<float>(), b = to.at(name).to_vector<float>();
    for (size_t i = 0; i < a.size(); ++i)
      largest[name] = std::max(largest[name], std::abs(static_cast<double>(a[i]) - b[i]));
  }
  return largest;
}

TEST_CASE("--lr-of scales the updates of some parameters, and --freeze keeps others as they were") {
  const Scratch scratch;
  // With Lion each number changes by the learning rate in the first step, whatever its gradient; two runs
  // with other rates show by how much.
  const std::vector<std::string> lion =
      args("--optimizer lion --steps 1 --weight-decay 0 --warmup 0 --decay constant --lr 0.001");
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), lion.begin(), lion.end());
    return more;
  };
  const nn::StateDict initial = trained(scratch, "initial", with(args("--lr-of *=0")));
  const std::map<std::string, double> all = changes(initial, trained(scratch, "all", lion));
  const std::map<std::string, double> some =
      changes(initial, trained(scratch, "some", with(args("--lr-of *h.0.*=0.5 --freeze *wpe* *ln_f*"))));
  REQUIRE(all.size() == some.size());
  for (const auto& [name, change] : all) {
    INFO(name);
    CHECK(change == Approx(0.001).epsilon(1e-3));
    const bool frozen = name.find("wpe") != name.npos || name.find("ln_f") != name.npos;
    CHECK(some.at(name) == Approx(frozen                           ? 0
                                  : name.find("h.0.") != name.npos ? 0.0005
                                                                   : 0.001)
                               .epsilon(1e-3));
  }
}

TEST_CASE("the groups of a run are in train.json, and a resumed run keeps them") {
  const Scratch scratch;
  const std::vector<std::string> groups = args("--lr-of *wte*=0.1 --freeze *wpe* --steps 4 --save-every 2");
  const std::vector<std::string> stopped = args(groups, "--stop-after 2");
  const nn::StateDict whole = trained(scratch, "whole", groups);
  (void)trained(scratch, "run", stopped);
  const auto json = nlohmann::json::parse(read(scratch.path("run/train.json")));
  CHECK(json.at("lr-of") == std::vector<std::string>{"*wte*=0.1"});
  CHECK(json.at("freeze") == std::vector<std::string>{"*wpe*"});
  must("train --out", scratch.path("run"), "--resume --quiet");
  CHECK(read(scratch.path("run/last/model.safetensors")) ==
        read(scratch.path("whole/last/model.safetensors")));
  check_refused(args("train --out", scratch.path("run"), "--resume --freeze *wte*"),
                {"[train] --freeze of a resumed run must stay *wpe*, got *wte*."});
}

TEST_CASE("a pattern that matches no parameter is refused before anything is written") {
  const Scratch scratch;
  const std::string text = scratch.text();
  for (const auto& [flag, value] : {std::pair("--freeze", "h.9.*"), std::pair("--lr-of", "h.9.*=2")})
    check_refused(args("train --preset tiny --text", text, "--out", scratch.path("run"), flag, value),
                  {"a pattern must match the name of a parameter, got 'h.9.*'"});
  check_refused(args("train --preset tiny --text", text, "--out", scratch.path("run"), "--freeze *"),
                {"[train] --freeze must leave a parameter to train"});
  CHECK_FALSE(std::filesystem::exists(scratch.path("run")));
}

}  // namespace gradus::cli::test_optimizers
