// Names: the models of makemore learn to spell, each better than the one before: a bigram table, the
// perceptron of Bengio et al. (2003), which reads three letters, and a GRU (Cho et al., arXiv 1406.1078),
// which reads all.
//
// names.txt has the 2,816 proper names of the King James Bible: its words that are never written small.
//
// usage: names [FILE]. Exits with 1 unless the losses on the last tenth of the shuffled names are
// below 2.45, 2.2 and 2.1 nats.
#include <fstream>
#include <gradus/gradus.hpp>
#include <iostream>

using namespace gradus;

constexpr int64_t kTokens = 27, kEnd = 0, kLongest = 12;  // a to z are 1 to 26

struct Names {
  Tensor x;  // (N, T): the end, then the letters
  Tensor y;  // (N, T): the letters, then the end; -100 behind it
};

Names read_names(const std::string& file) {
  std::vector<int64_t> x, y;
  std::ifstream lines(file);
  for (std::string name; lines >> name;)
    for (int64_t i = 0, n = std::ssize(name); i <= kLongest; ++i) {
      const auto token = [&](int64_t at) { return at >= 0 && at < n ? int64_t{name[at] - 'a' + 1} : kEnd; };
      x.push_back(token(i - 1));
      y.push_back(i <= n ? token(i) : -100);
    }
  const auto n = std::ssize(x) / (kLongest + 1);
  if (n == 0)
    fail("names", "there must be names in ", file, ", got none. Hint: name the file as the argument.");
  return {tensor(x, {n, kLongest + 1}), tensor(y, {n, kLongest + 1})};
}

// Each model maps tokens (B, T) to the logits of the next (B, T, V).

struct Bigram : nn::Module {
  nn::Embedding table;
  explicit Bigram(Generator& g) : table(kTokens, kTokens, g) {}
  Tensor operator()(const Tensor& x) const { return table(x); }
  void visit(nn::Visitor& v) override { v("table", table); }
};

struct Perceptron : nn::Module {
  nn::Embedding embed;
  nn::Linear hidden, head;
  explicit Perceptron(Generator& g) : embed(kTokens, 16, g), hidden(3 * 16, 128, g), head(128, kTokens, g) {}
  Tensor operator()(const Tensor& x) const {
    const Tensor e = embed(x);  // (B, T, C)
    const auto before = [&](int64_t n) { return pad(e, 1, e.size(1) + n, n).slice(1, 0, e.size(1)); };
    return head(tanh(hidden(cat({before(2), before(1), e}, 2))));
  }
  void visit(nn::Visitor& v) override { v("embed", embed)("hidden", hidden)("head", head); }
};

struct Recurrent : nn::Module {
  nn::Embedding embed;
  nn::GRU gru;
  nn::Linear head;
  explicit Recurrent(Generator& g)
      : embed(kTokens, 16, g), gru(16, 64, g, {.batch_first = true}), head(64, kTokens, g) {}
  Tensor operator()(const Tensor& x) const { return head(gru(embed(x)).output); }
  void visit(nn::Visitor& v) override { v("embed", embed)("gru", gru)("head", head); }
};

Tensor loss(const Tensor& logits, const Tensor& y) {
  return cross_entropy(logits.reshape({-1, kTokens}), y.reshape({-1}));
}

template <class M>
std::string sample(const M& model, Generator& g) {
  const NoGrad sampling;
  std::vector<int64_t> tokens = {kEnd};
  std::string name;
  while (std::ssize(tokens) <= kLongest) {
    const auto length = std::ssize(tokens);
    const Tensor last = model(tensor(tokens, {1, length})).index({0, -1});
    tokens.push_back(static_cast<int64_t>(multinomial(softmax(last, 0), 1, g).item()));
    if (tokens.back() == kEnd) break;
    name += static_cast<char>('a' + tokens.back() - 1);
  }
  return name;
}

/// Trains a model, prints what it spells, and returns its loss on the names that it has not seen.
template <class M>
double run(const char* title, const Names& training, const Names& test, double lr, Generator g) {
  constexpr int64_t kSteps = 1200;
  M model(g);
  train::AdamW optimizer(model.named_parameters(), {.weight_decay = 0.1});
  for (int64_t step = 0; step < kSteps; ++step) {
    const Tensor batch = randint(0, training.x.size(0), {64}, g);
    loss(model(training.x.index({batch})), training.y.index({batch})).backward();
    optimizer.step(lr * static_cast<double>(kSteps - step) / kSteps);
    optimizer.zero_grad();
  }
  const NoGrad evaluation;
  const double result = loss(model(test.x), test.y).item();
  std::cout << title << result << " nats a letter:";
  for (int i = 0; i < 6; ++i) std::cout << " " << sample(model, g);
  std::cout << "\n";
  return result;
}

int main(int argc, char** argv) {
  const Names all = read_names(argc > 1 ? argv[1] : "examples/names.txt");
  Generator g(1);
  const std::vector<Tensor> order = randperm(all.x.size(0), g).split(all.x.size(0) * 9 / 10, 0);
  const Names training{all.x.index({order[0]}), all.y.index({order[0]})},
      test{all.x.index({order[1]}), all.y.index({order[1]})};
  const double bigram = run<Bigram>("bigram      ", training, test, 3e-2, g);
  const double perceptron = run<Perceptron>("perceptron  ", training, test, 1e-2, g);
  const double recurrent = run<Recurrent>("GRU         ", training, test, 5e-3, g);
  return bigram < 2.45 && perceptron < 2.2 && recurrent < 2.1 ? 0 : 1;
}
