// Reversal: an encoder and a decoder (Vaswani et al., arXiv 1706.03762) learn to write a sequence backwards.
// The encoder reads the digits; the decoder writes one digit after another and looks at the encoder's output
// by cross-attention.
//
// The model learns from sequences of 4 to 8 digits. Exits with 1 unless it reverses 99 % of new ones without
// an error.
#include <gradus/gradus.hpp>
#include <iostream>

using namespace gradus;

constexpr int64_t kDigits = 10, kStart = 10, kEnd = 11, kTokens = 12, kLongest = 8, kWidth = 32;

struct Sequences {
  Tensor source;  // (B, kLongest): digits, then kEnd
  Tensor target;  // (B, kLongest): the same digits backwards, then kEnd
};

Sequences draw(int64_t n, Generator& g) {
  std::vector<int64_t> source(static_cast<size_t>(n * kLongest), kEnd), target = source;
  for (int64_t row = 0; row < n; ++row) {
    const int64_t length = g.between(4, kLongest + 1), at = row * kLongest;
    for (int64_t i = 0; i < length; ++i)
      target[static_cast<size_t>(at + length - 1 - i)] = source[static_cast<size_t>(at + i)] =
          g.below(kDigits);
  }
  return {tensor(source, {n, kLongest}), tensor(target, {n, kLongest})};
}

struct Reverser : nn::Module {
  nn::Embedding token, position;
  nn::TransformerEncoderLayer encoder;
  nn::TransformerDecoderLayer decoder;
  nn::Linear head;
  explicit Reverser(Generator& g)
      : token(kTokens, kWidth, g),
        position(kLongest, kWidth, g),
        encoder(kWidth, 4, g, kOptions),
        decoder(kWidth, 4, g, kOptions),
        head(kWidth, kTokens, g) {}
  void visit(nn::Visitor& v) override {
    v("token", token)("position", position)("encoder", encoder)("decoder", decoder)("head", head);
  }

  Tensor embed(const Tensor& x) const {  // (B, T) -> (B, T, C)
    return token(x) + position(arange(0, static_cast<double>(x.size(1))));
  }
  Tensor encode(const Tensor& source) const {
    return encoder(embed(source), {.src_key_padding_mask = eq(source, kEnd)});
  }
  /// The logits (B, T, V) of the T digits after the start, each from those before it.
  Tensor decode(const Tensor& written, const Tensor& memory, const Tensor& source) const {
    return head(decoder(embed(written), memory,
                        {.memory_key_padding_mask = eq(source, kEnd), .tgt_is_causal = true}));
  }

 private:
  inline static const nn::TransformerLayerOptions kOptions{
      .dim_feedforward = 64, .dropout = 0, .batch_first = true, .norm_first = true};
};

/// What the decoder writes, always taking the likeliest digit: (B, kLongest).
Tensor reverse(const Reverser& model, const Tensor& source) {
  const NoGrad evaluation;
  const Tensor memory = model.encode(source);
  Tensor written = full({source.size(0), 1}, kStart, DType::int64);
  for (int64_t i = 0; i < kLongest; ++i)
    written = cat(
        {written, argmax(model.decode(written.slice(1, 0, i + 1), memory, source).slice(1, i, i + 1), 2)}, 1);
  return written.slice(1, 1, kLongest + 1);
}

std::string text(const Tensor& digits) {
  std::string all;
  for (const int64_t digit : digits.to_vector<int64_t>())
    if (digit != kEnd) all += std::to_string(digit);
  return all;
}

int main() {
  Generator g(1);
  Reverser model(g);
  train::AdamW optimizer(model.named_parameters());
  constexpr int kSteps = 600;
  for (int step = 0; step < kSteps; ++step) {
    const auto [source, target] = draw(64, g);
    const Tensor written = cat({full({64, 1}, kStart, DType::int64), target.slice(1, 0, kLongest - 1)}, 1);
    const Tensor logits = model.decode(written, model.encode(source), source);
    const Tensor loss = cross_entropy(logits.reshape({-1, kTokens}), target.reshape({-1}));
    if (step % 200 == 0) std::cout << "step " << step << "  loss " << loss.item() << "\n";
    loss.backward();
    optimizer.step(/*lr=*/5e-3 * (1.0 - static_cast<double>(step) / kSteps));
    optimizer.zero_grad();
  }
  const auto [source, target] = draw(500, g);
  const Tensor written = reverse(model, source);
  for (int64_t row = 0; row < 3; ++row)
    std::cout << text(source.select(0, row)) << " -> " << text(written.select(0, row)) << "\n";
  const double share = mean(amin(eq(written, target).to(DType::float32), {1})).item();
  std::cout << 100 * share << " % of new sequences are right\n";
  return share >= 0.99 ? 0 : 1;
}
