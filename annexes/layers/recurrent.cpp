#include "gradus/annexes/layers/recurrent.hpp"

#include <cmath>

#include "gradus/autograd/ops/ops.hpp"
#include "gradus/nn/layers.hpp"

namespace gradus::nn {
namespace {

std::string_view name_of(Recurrence recurrence) {
  return recurrence == Recurrence::lstm ? "lstm" : recurrence == Recurrence::gru ? "gru" : "rnn";
}

// The state after one time step, from gx = W_ih x + b_ih (B, G) and the state before it.
LSTMState next(Recurrence recurrence, Nonlinearity nonlinearity, const Recurrent::Cell& cell,
               const Tensor& gx, const LSTMState& state) {
  const Tensor gh = linear(state.h, cell.weight_hh, cell.bias_hh);
  if (recurrence == Recurrence::rnn)
    return {nonlinearity == Nonlinearity::tanh ? tanh(gx + gh) : relu(gx + gh), {}};
  if (recurrence == Recurrence::gru) {
    const std::vector<Tensor> x = gx.chunk(3, -1), h = gh.chunk(3, -1);
    const Tensor r = sigmoid(x[0] + h[0]), z = sigmoid(x[1] + h[1]), n = tanh(x[2] + r * h[2]);
    return {n + z * (state.h - n), {}};
  }
  const std::vector<Tensor> gates = (gx + gh).chunk(4, -1);
  const Tensor c = sigmoid(gates[1]) * state.c + sigmoid(gates[0]) * tanh(gates[2]);
  return {sigmoid(gates[3]) * tanh(c), c};
}

}  // namespace

Recurrent::Recurrent(Recurrence recurrence, int64_t input_size, int64_t hidden_size, Generator& generator,
                     const RecurrentOptions& options)
    : recurrence_(recurrence), options_(options) {
  const std::string_view op = name_of(recurrence);
  if (input_size < 1 || hidden_size < 1)
    fail(op, "input_size and hidden_size must be >= 1, got ", input_size, " and ", hidden_size, ".");
  if (options.num_layers < 1) fail(op, "num_layers must be >= 1, got ", options.num_layers, ".");
  const bool is_relu = recurrence == Recurrence::rnn && options.nonlinearity == Nonlinearity::relu;
  if (options.nonlinearity != Nonlinearity::tanh && !is_relu)
    fail(op, "nonlinearity must be tanh, or relu in an RNN, got another one.");
  const Dropout checked(options.dropout);
  const double bound = 1.0 / std::sqrt(static_cast<double>(hidden_size));
  const auto draw = [&](Tensor& x) { uniform_(x, -bound, bound, generator); };
  const int64_t G = static_cast<int64_t>(recurrence) * hidden_size,
                directions = options.bidirectional ? 2 : 1;
  for (int64_t i = 0; i < options.num_layers * directions; ++i) {
    const int64_t features = i < directions ? input_size : directions * hidden_size;
    Cell& cell =
        cells.emplace_back(Cell{new_parameter({G, features}, draw), new_parameter({G, hidden_size}, draw)});
    if (options.bias) cell.bias_ih = new_parameter({G}, draw);
    if (options.bias) cell.bias_hh = new_parameter({G}, draw);
  }
}

void Recurrent::visit(Visitor& v) {
  const size_t directions = options_.bidirectional ? 2 : 1;
  const Role gates = Role::fused(static_cast<int64_t>(recurrence_));
  for (size_t i = 0; i < cells.size(); ++i) {
    const std::string suffix = concat("_l", i / directions, i % directions ? "_reverse" : "");
    v("weight_ih" + suffix, cells[i].weight_ih, gates)("weight_hh" + suffix, cells[i].weight_hh, gates);
    v("bias_ih" + suffix, cells[i].bias_ih)("bias_hh" + suffix, cells[i].bias_hh);
  }
}

LSTMOutput Recurrent::run(const Tensor& input, const LSTMState& start, Generator* dropout) const {
  const std::string_view op = name_of(recurrence_);
  const int64_t features = cells[0].weight_ih.size(1), hidden = cells[0].weight_hh.size(1);
  if (!input.defined() || input.dim() < 2 || input.dim() > 3 || input.size(-1) != features)
    fail(op, "x must be ", options_.batch_first ? "(B, T, " : "(T, B, ", features, ") or (T, ", features,
         "), got ", input.defined() ? concat(input.shape()) : "none", ".");
  const bool batched = input.dim() == 3, swapped = batched && options_.batch_first;
  Tensor x = !batched ? input.unsqueeze(1) : swapped ? input.transpose(0, 1) : input;
  if (x.size(0) < 1) fail(op, "x must have at least one time step, got ", input.shape(), ".");

  const auto states = [&](const char* name, const Tensor& given) {
    Shape shape = {static_cast<int64_t>(cells.size()), x.size(1), hidden};
    if (!batched) shape.erase(1);
    if (given.defined() && given.shape() != shape)
      fail(op, name, " must be of shape ", shape, ", got ", given.shape(), ".");
    const Tensor all = given.defined() ? given : zeros(shape, x.dtype());
    return batched ? all : all.unsqueeze(1);
  };
  const Tensor h_0 = states("h_0", start.h), c_0 = states("c_0", start.c);
  Generator* const source =
      options_.num_layers > 1 ? dropout_source(options_.dropout, training(), dropout) : nullptr;

  const size_t directions = options_.bidirectional ? 2 : 1;
  std::vector<Tensor> h_n, c_n;
  for (size_t first = 0; first < cells.size(); first += directions) {
    if (first > 0 && source) x = gradus::dropout(x, options_.dropout, *source);
    std::vector<Tensor> outputs;
    for (size_t i = first; i < first + directions; ++i) {
      const std::vector<Tensor> gx = linear(x, cells[i].weight_ih, cells[i].bias_ih).split(1, 0);
      std::vector<Tensor> h(gx.size());
      const auto row = static_cast<int64_t>(i);
      LSTMState state = {h_0.select(0, row), c_0.select(0, row)};
      for (size_t step = 0; step < gx.size(); ++step) {
        const size_t t = i == first ? step : gx.size() - 1 - step;
        state = next(recurrence_, options_.nonlinearity, cells[i], gx[t].squeeze(0), state);
        h[t] = state.h;
      }
      outputs.push_back(stack(h, 0));
      h_n.push_back(state.h);
      c_n.push_back(state.c);
    }
    x = directions == 1 ? outputs[0] : cat(outputs, -1);
  }
  const auto unbatched = [&](const Tensor& y) { return batched ? y : y.squeeze(1); };
  return {output(swapped ? x.transpose(0, 1) : unbatched(x)), unbatched(stack(h_n, 0)),
          recurrence_ == Recurrence::lstm ? unbatched(stack(c_n, 0)) : Tensor()};
}

}  // namespace gradus::nn
