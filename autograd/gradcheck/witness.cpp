#include "gradus/autograd/gradcheck/witness.hpp"

#include <algorithm>
#include <cmath>

#include "gradus/autograd/ops/ops.hpp"
#include "gradus/autograd/reference/replay.hpp"

namespace gradus::gradchecking {
namespace {

using reference::Array;
using reference::Dual;
using Second = Dual<Dual<double>>;

constexpr double kNear = 1e-4;     // how far away values are compared, in units of scale()
constexpr double kEqual = 1e-11;   // how closely
constexpr int64_t kMost = 500000;  // elements of all results; larger functions take too long in plain loops

bool has_numbers(const Tensor& x) { return x.dtype() == DType::float64; }

// Returns copies of the inputs, each moved by t in a fixed direction.
std::vector<Tensor> moved(const std::vector<Tensor>& inputs, double t) {
  std::vector<Tensor> all;
  uint64_t bits = 0x9e3779b97f4a7c15;
  for (const Tensor& x : inputs) {
    if (!has_numbers(x)) {
      all.push_back(x);
      continue;
    }
    Numbers values = flatten({x});
    for (double& v : values) {
      bits = bits * 6364136223846793005 + 1442695040888963407;
      v += t * scale(v) * (static_cast<double>(bits >> 11) * 0x1p-52 - 1);
    }
    all.push_back(unflatten(values, {x})[0].requires_grad_());
  }
  return all;
}

std::vector<Numbers> numbers_of(const std::vector<Tensor>& inputs) {
  std::vector<Numbers> all;
  for (const Tensor& x : inputs) all.push_back(has_numbers(x) ? flatten({x}) : Numbers());
  return all;
}

}  // namespace

Witness::Witness(const Function& f, const std::vector<Tensor>& inputs) : inputs_(moved(inputs, 0)) {
  {
    const autograd::Tracing on(&trace_);
    outputs_ = f(inputs_);
  }
  const auto grow = [&](const Tensor& x) {
    if (!has_numbers(x)) return;
    for (const double v : x.to_vector<double>())
      if (std::isfinite(v)) largest_ = std::max(largest_, std::abs(v));
  };
  std::for_each(inputs_.begin(), inputs_.end(), grow);
  for (const autograd::TracedCall& call : trace_.calls)
    std::for_each(call.outputs.begin(), call.outputs.end(), grow);
  try {
    gap_ = followed(f);
  } catch (const Error& e) {
    gap_ = concat("it fails near its inputs: ", e.what());
  }
}

std::string Witness::followed(const Function& f) const {
  int64_t elements = 0;
  bool rounds = false;
  for (const autograd::TracedCall& call : trace_.calls) {
    elements += call.outputs[0].numel();
    rounds = rounds || call.outputs[0].dtype() == DType::float32;
  }
  if (elements > kMost) return "it is too large for plain loops";
  for (const double t : {0.0, kNear}) {
    const std::vector<Tensor> near = moved(inputs_, t);
    std::string unknown;
    const Numbers again =
        replayed<double>([&](size_t i, int64_t j) { return near[i].data<double>()[j]; }, &unknown);
    if (!unknown.empty())
      return concat("the forward pass of ", unknown, " is not made of the library's operations");
    if (!agree(flatten(t == 0 ? outputs_ : f(near)), again, 0, kEqual))
      return rounds ? "it computes in float32"
                    : "its values do not come from the library's operations alone, or it chooses by them";
  }
  return "";
}

// The results for inputs whose element j of input i is seed(i, j).
template <class T, class Seed>
std::vector<T> Witness::replayed(const Seed& seed, std::string* unknown) const {
  reference::Replay<T> replay;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (!has_numbers(inputs_[i])) continue;
    Array<T> x(reference::sizes_of(inputs_[i].shape()));
    for (int64_t j = 0; j < x.size(); ++j) x[j] = seed(i, j);
    replay.set(inputs_[i], std::move(x));
  }
  for (const autograd::TracedCall& call : trace_.calls)
    if (!replay.run(call) && unknown && unknown->empty()) *unknown = call.op;
  std::vector<T> all;
  for (const Tensor& y : outputs_)
    for (const T& v : replay.get(y).data) all.push_back(v);
  return all;
}

Numbers Witness::along(const std::vector<Tensor>& x, const std::vector<Numbers>& u) const {
  const std::vector<Numbers> at = numbers_of(x);
  Numbers result;
  for (const Dual<double>&y : replayed<Dual<double>>([&](size_t i, int64_t j) {
         return Dual<double>(at[i][static_cast<size_t>(j)], u[i][static_cast<size_t>(j)]);
       }))
    result.push_back(y.tangent);
  return result;
}

Numbers Witness::along(const std::vector<Tensor>& x, const std::vector<Numbers>& u,
                       const std::vector<Numbers>& w) const {
  const std::vector<Numbers> at = numbers_of(x);
  Numbers result;
  for (const Second& y : replayed<Second>([&](size_t i, int64_t j) {
         const size_t e = static_cast<size_t>(j);
         return Second({at[i][e], u[i][e]}, {w[i][e], 0.0});
       }))
    result.push_back(y.tangent.tangent);
  return result;
}

}  // namespace gradus::gradchecking
