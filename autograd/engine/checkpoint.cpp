#include "gradus/autograd/engine/checkpoint.hpp"

#include <cstring>
#include <unordered_set>

#include "gradus/autograd/graph/node.hpp"
#include "gradus/autograd/tensor/raw.hpp"

namespace gradus {

using autograd::Edge;
using autograd::MultiOutput;
using autograd::Node;
using autograd::Ref;

namespace {

using Function = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

// A hash of the values, at the speed of memory: four lanes of multiply and rotate.
uint64_t fingerprint(const Tensor& t) {
  const Tensor packed = raw::contiguous(t.detach());
  const auto* bytes = static_cast<const std::byte*>(packed.raw_data());
  const auto n = static_cast<size_t>(packed.numel() * element_size(packed.dtype()));
  uint64_t lanes[4] = {1, 2, 3, 4};
  const auto mix = [&](size_t lane, uint64_t word) {
    lanes[lane] = std::rotl((lanes[lane] ^ word) * 0x9E3779B97F4A7C15U, 29);
  };
  size_t at = 0;
  for (; at + 32 <= n; at += 32) {
    uint64_t words[4];
    std::memcpy(words, bytes + at, 32);
    for (size_t lane = 0; lane < 4; ++lane) mix(lane, words[lane]);
  }
  for (; at < n; ++at) mix(at % 4, static_cast<uint64_t>(bytes[at]));
  uint64_t all = n;
  for (const uint64_t lane : lanes) all = std::rotl((all ^ lane) * 0x9E3779B97F4A7C15U, 31);
  return all;
}

std::vector<Generator> states_of(const Generators& generators) {
  std::vector<Generator> states;
  for (const Generator* g : generators) states.push_back(*g);
  return states;
}

// Sets generators to earlier states for its lifetime.
struct Replay {
  Replay(const Generators& all, const std::vector<Generator>& earlier)
      : generators(all), now(states_of(all)) {
    set(earlier);
  }
  ~Replay() { set(now); }
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;
  void set(const std::vector<Generator>& states) const {
    for (size_t i = 0; i < states.size(); ++i) *generators[i] = states[i];
  }

  const Generators& generators;
  std::vector<Generator> now;
};

// The data of a call, with which it runs again.
struct Call {
  Function fn;
  std::vector<Saved> inputs;
  Generators generators;
  std::vector<Generator> states;               // of the generators, before the first run
  DType precision;                             // of products in the first run
  std::vector<size_t> kept{};                  // the indices of the results that the vertex has
  std::vector<MultiOutput::Result> results{};  // of these
  std::vector<uint64_t> fingerprints{};        // of these

  std::vector<Tensor> again() const {
    std::vector<Tensor> arguments(inputs.begin(), inputs.end());
    std::vector<Tensor> all;
    {
      const Replay replay(generators, states);
      const Autocast autocast(precision);
      all = fn(arguments);
    }
    std::vector<Tensor> ys;
    for (size_t i = 0; i < kept.size(); ++i) {
      if (kept[i] >= all.size()) refuse(i, "nothing");
      const Tensor& y = all[kept[i]];
      if (!y.defined() || !y.requires_grad()) refuse(i, "one that requires no gradient");
      if (y.shape() != results[i].shape || y.dtype() != results[i].dtype)
        refuse(i, concat(name(y.dtype()), " ", y.shape()));
      if (fingerprint(y) != fingerprints[i]) refuse(i, "other values");
      ys.push_back(y);
    }
    return ys;
  }

  [[noreturn]] void refuse(size_t i, const std::string& got) const {
    fail("checkpoint", "the function must give the same result ", kept[i], ", ", name(results[i].dtype), " ",
         results[i].shape, ", when it runs again, got ", got,
         ". Hint: name every generator that it draws from, and call backward() before changing parameters or "
         "anything else that it uses.");
  }
};

// The vertices that the function used from outside: those just below the ones that it made, which are newer
// than `before`. A leaf has no sequence, but also no inputs.
std::vector<Ref<Node>> boundary(const std::vector<Tensor>& ys, uint64_t before) {
  std::vector<Ref<Node>> stack, found;
  std::unordered_set<const Node*> seen;
  for (const Tensor& y : ys) stack.push_back(y.impl()->node);
  while (!stack.empty()) {
    const Ref<Node> node = std::move(stack.back());
    stack.pop_back();
    if (!seen.insert(node.get()).second) continue;
    if (node->is_leaf() || node->sequence < before) {
      found.push_back(node);
      continue;
    }
    for (const Edge& e : node->edges)
      if (e.to) stack.push_back(e.to);
  }
  return found;
}

}  // namespace

std::vector<Tensor> checkpoint(Function fn, const std::vector<Tensor>& inputs, Generators generators) {
  for (const Generator* g : generators)
    if (!g) fail("checkpoint", "needs generators, got a null pointer.");
  if (!grad_enabled()) return fn(inputs);

  Call call{std::move(fn), {}, generators, states_of(generators), autocast_dtype()};
  std::vector<Tensor> arguments;
  for (const Tensor& x : inputs) {  // aliases, which later changes of the caller's handles do not affect
    arguments.push_back(x.defined() ? x.detach() : x);
    if (x.defined() && x.requires_grad()) arguments.back().impl()->node = x.impl()->node;
    call.inputs.emplace_back(arguments.back());
  }

  const uint64_t before = Node::take_sequence();
  std::vector<Tensor> outs = call.fn(arguments);

  // Results that need no gradient, or that the function did not compute, are returned as they are.
  std::vector<Tensor> made;
  for (size_t i = 0; i < outs.size(); ++i) {
    const Tensor& y = outs[i];
    if (!y.defined() || !y.requires_grad()) continue;
    if (y.impl()->node->is_leaf() || y.impl()->node->sequence < before) continue;
    call.kept.push_back(i);
    call.results.push_back({y.shape(), y.dtype(), true});
    call.fingerprints.push_back(fingerprint(y));
    made.push_back(y);
  }
  if (made.empty()) return outs;

  const Ref<Node> node = Node::make(Node::Kind::multi_output, "checkpoint", {}, DType::float32);
  for (Ref<Node>& below : boundary(made, before)) {
    node->edges.emplace_back(Tensor());
    node->edges.back().to = std::move(below);
  }
  node->multi = std::make_unique<MultiOutput>();
  node->multi->results = call.results;
  for (size_t i = 0; i < made.size(); ++i) {
    // A tensor that is returned twice stays one, so that its gradients add up in the same order.
    size_t first = 0;
    while (made[first].impl()->node != made[i].impl()->node) ++first;
    if (first < i && made[first].impl() == made[i].impl()) {
      outs[call.kept[i]] = outs[call.kept[first]];
      continue;
    }
    outs[call.kept[i]] = made[i].detach();
    outs[call.kept[i]].impl()->node = Node::result_of(node, i);
    if (autograd::keep_values) outs[call.kept[i]].impl()->node->output = Saved(made[i].detach());
  }
  node->multi->recompute = [call = std::move(call)] { return call.again(); };
  return outs;
}

Tensor checkpoint(std::function<Tensor(const std::vector<Tensor>&)> fn, const std::vector<Tensor>& inputs,
                  Generators generators) {
  const auto many = [fn = std::move(fn)](const std::vector<Tensor>& xs) { return std::vector{fn(xs)}; };
  return checkpoint(Function(many), inputs, std::move(generators))[0];
}

Tensor checkpoint(std::function<Tensor(const Tensor&)> fn, const Tensor& input, Generators generators) {
  const auto many = [fn = std::move(fn)](const std::vector<Tensor>& xs) { return std::vector{fn(xs[0])}; };
  return checkpoint(Function(many), std::vector{input}, std::move(generators))[0];
}

bool recomputing() { return autograd::running_op == "checkpoint"; }

}  // namespace gradus
