// RNN, GRU and LSTM over sequences.
//
// B, T, C, H: batch, time steps, input_size, hidden_size. Parameters are PyTorch's; else as in module.hpp.
#pragma once

#include <vector>

#include "gradus/autograd/random/random.hpp"
#include "gradus/nn/init.hpp"
#include "gradus/nn/module.hpp"

namespace gradus::nn {

/// Options of RNN, GRU and LSTM, with PyTorch's defaults.
struct RecurrentOptions {
  int64_t num_layers = 1;                          ///< each reads the output of the one before
  Nonlinearity nonlinearity = Nonlinearity::tanh;  ///< or relu, for an RNN only
  bool bias = true;                                ///< whether there are bias_ih and bias_hh
  bool batch_first = false;    ///< whether x and output are (B, T, ...) instead of (T, B, ...)
  double dropout = 0.0;        ///< probability, of the outputs of all layers but the last
  bool bidirectional = false;  ///< whether each layer also reads from the end, and both outputs are joined
};

/// The state of an LSTM.
struct LSTMState {
  Tensor h{};  ///< undefined: zeros
  Tensor c{};  ///< the same
};
/// The results of RNN and GRU. D is 2 if bidirectional, else 1.
struct RecurrentOutput {
  Tensor output;  ///< the last layer's h of all time steps: (T, B, D H), (B, T, D H) or (T, D H)
  Tensor h_n;     ///< each layer's last h, forward then reverse: (D num_layers, B, H) or (D num_layers, H)
};
/// The results of LSTM.
struct LSTMOutput {
  Tensor output, h_n;  ///< as in RecurrentOutput
  Tensor c_n;          ///< each layer's last c, like h_n
};

/// The formula of a time step, by the number of H rows of weights in G.
enum class Recurrence { rnn = 1, gru = 3, lstm = 4 };

/// The layers and directions of RNN, GRU and LSTM. Parameters are named weight_ih_l0, weight_hh_l0,
/// bias_ih_l0, bias_hh_l0, weight_ih_l0_reverse, ..., weight_ih_l1, ...
class Recurrent : public Module {
 public:
  void visit(Visitor& v) override;

  /// The weights of one layer and direction; the rows are those of r, z, n (GRU) or i, f, g, o (LSTM).
  struct Cell {
    Tensor weight_ih;  ///< (G, C)
    Tensor weight_hh;  ///< (G, H)
    Tensor bias_ih{};  ///< (G) or undefined
    Tensor bias_hh{};  ///< the same
  };
  std::vector<Cell> cells;  ///< in the order of their parameters

 protected:
  /// See RecurrentLayer.
  Recurrent(Recurrence recurrence, int64_t input_size, int64_t hidden_size, Generator& generator,
            const RecurrentOptions& options);
  /// The states at the start are those of all cells.
  LSTMOutput run(const Tensor& x, const LSTMState& start, Generator* dropout) const;

 private:
  Recurrence recurrence_;
  RecurrentOptions options_;
};

/// RNN, GRU or LSTM.
template <Recurrence recurrence, class State, class Output>
class RecurrentLayer : public Recurrent {
 public:
  /// Values start uniform on +-1 / sqrt(H). Throws Error for sizes below 1, another dropout, a GRU with relu.
  RecurrentLayer(int64_t input_size, int64_t hidden_size, Generator& generator,
                 const RecurrentOptions& options = {})
      : Recurrent(recurrence, input_size, hidden_size, generator, options) {}
  /// x: (T, B, C), (B, T, C) if batch_first, or (T, C); the start h_0 or {h_0, c_0} like h_n and c_n,
  /// undefined: zeros. With dropout > 0 in training mode a generator is needed. Throws for other shapes.
  Output operator()(const Tensor& x, const State& start = {}, Generator* dropout = nullptr) const {
    const LSTMOutput all = run(x, LSTMState{start}, dropout);
    if constexpr (recurrence == Recurrence::lstm)
      return all;
    else
      return {all.output, all.h_n};
  }
};

/// h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu instead of tanh.
using RNN = RecurrentLayer<Recurrence::rnn, Tensor, RecurrentOutput>;
/// h' = (1 - z) n + z h with the gates r and z and n = tanh(x_n + r h_n), each from its part of W_ih x + b_ih
/// and W_hh h + b_hh (Cho et al., arXiv 1406.1078).
using GRU = RecurrentLayer<Recurrence::gru, Tensor, RecurrentOutput>;
/// c' = f c + i g, h' = o tanh(c') with i, f, o by sigmoid and g by tanh, each from its part of W_ih x + b_ih
/// + W_hh h + b_hh (Hochreiter and Schmidhuber, 1997).
using LSTM = RecurrentLayer<Recurrence::lstm, LSTMState, LSTMOutput>;

}  // namespace gradus::nn
