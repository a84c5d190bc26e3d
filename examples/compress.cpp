// Compression: a trained model and an arithmetic coder write a file in as many bits as the model's loss says,
// and restore it to the byte. So the size of the result proves the loss: nothing was known of the file.
//
// A token of probability p takes -log2(p) bits. The model reads windows of its context, as `gradus eval`
// does; with --adapt it learns from each of them. Restoring takes the same flag, model, processor and build
// of gradus, which compute the same probabilities.
//
// usage: compress [--adapt] MODEL FILE OUT     writes OUT and prints the sizes
//        compress [--adapt] -d MODEL FILE OUT  restores OUT
//        compress                    checks all on a small model, within 0.1 % of what its loss says
#include <algorithm>
#include <cmath>
#include <fstream>
#include <gradus/gradus.hpp>
#include <iostream>
#include <numeric>

using namespace gradus;

/// The numbers that may still follow, low to low + range (a range coder without carries: D. Subbotin, 1999).
struct Interval {
  uint64_t low = 0, range = ~uint64_t{0};

  /// Keeps the parts from `from` to `to` of `total`, below 2^40; calls shift() before each shift by 8 bits.
  template <class Shift>
  void narrow(uint64_t from, uint64_t to, uint64_t total, Shift shift) {
    constexpr uint64_t kTop = uint64_t{1} << 56, kBottom = uint64_t{1} << 40;
    range /= total;
    low += from * range;
    range *= to - from;
    while ((low ^ (low + range)) < kTop || range < kBottom) {
      if ((low ^ (low + range)) >= kTop) range = -low & (kBottom - 1);
      shift();
      low <<= 8;
      range <<= 8;
    }
  }
};

/// Calls code(ends) once for each token; code() returns that token. Token t has the numbers from ends[t] to
/// ends[t + 1]: its probability by the model, in units of 2^-30, but at least 1.
template <class Code>
void code_tokens(const models::Decoder& model, bool adapt, size_t count, Code code) {
  train::TextReader reader(model, adapt);
  std::vector<uint64_t> ends(static_cast<size_t>(model.config().vocab_size) + 1);
  for (size_t done = 0; done < count; ++done) {
    for (size_t t = 0; t + 1 < ends.size(); ++t)
      ends[t + 1] = ends[t] + 1 + static_cast<uint64_t>(std::ldexp(reader.probabilities()[t], 30));
    reader.read(code(ends));
  }
}

std::string compress(const models::Decoder& model, bool adapt, std::span<const int32_t> tokens) {
  std::string out = std::to_string(tokens.size()) + "\n";
  Interval interval;
  const auto put = [&] { out.push_back(static_cast<char>(interval.low >> 56)); };
  auto next = tokens.begin();
  code_tokens(model, adapt, tokens.size(), [&](const std::vector<uint64_t>& ends) {
    const auto token = static_cast<size_t>(*next++);
    interval.narrow(ends[token], ends[token + 1], ends.back(), put);
    return static_cast<int64_t>(token);
  });
  for (int i = 0; i < 8; ++i, interval.low <<= 8) put();
  return out;
}

std::vector<int32_t> restore(const models::Decoder& model, bool adapt, const std::string& file) {
  size_t read = file.find('\n') + 1;
  if (read < 2 || read > 19 || file.find_first_not_of("0123456789") + 1 != read)
    fail("compress", "the file must begin with a number of tokens.");
  std::vector<int32_t> tokens;
  Interval interval;
  uint64_t value = 0;
  const auto get = [&] { value = value << 8 | (read < file.size() ? uint8_t(file[read++]) : 0); };
  for (int i = 0; i < 8; ++i) get();
  code_tokens(model, adapt, std::stoull(file), [&](const std::vector<uint64_t>& ends) {
    const uint64_t part = (value - interval.low) / (interval.range / ends.back());
    const auto end = std::upper_bound(ends.begin() + 1, ends.end() - 1, part);
    interval.narrow(*(end - 1), *end, ends.back(), get);
    tokens.push_back(static_cast<int32_t>(end - ends.begin() - 1));
    return int64_t{tokens.back()};
  });
  return tokens;
}

/// Bytes that the loss says, as `gradus eval` computes it; the first token has equal shares.
double bytes_of_loss(const models::Decoder& model, bool adapt, const std::vector<int32_t>& tokens) {
  const data::Example text{tokens, std::vector<bool>(tokens.size(), true)};
  const std::vector<double> losses = train::scores_of(model, {text}, model.config().block_size, adapt).losses;
  const double nats = std::log(static_cast<double>(model.config().vocab_size));
  return std::accumulate(losses.begin(), losses.end(), nats) / std::log(256.0);
}

bool check_coder(const models::Decoder& model, bool adapt, const std::vector<int32_t>& tokens) {
  const std::string written = compress(model, adapt, tokens);
  const bool same = restore(model, adapt, written) == tokens;
  const double expected = bytes_of_loss(model, adapt, tokens);
  std::cout << tokens.size() << " bytes take " << written.size() << (adapt ? " with --adapt" : "")
            << ", the loss says " << expected << (same ? ", restored\n" : ", NOT restored\n");
  return same && static_cast<double>(written.size()) < 1.001 * expected + 16;
}

int check_both() {
  const std::string text = data::load_corpus("stories").text;
  const auto tokenizer = data::Tokenizer::bytes();
  const data::TextDataset stories(tokenizer.encode(text.substr(0, 200'000)), /*block=*/64, 0.1);
  Generator g(1);
  models::Decoder model({.vocab_size = 256, .block_size = 64, .n_layer = 2, .n_head = 4, .n_embd = 64}, g);
  train::AdamW optimizer(model.named_parameters());
  for (int step = 0; step < 300; ++step) {
    const data::Batch batch = stories.training_batches()(16, g);
    model.loss(batch.x, batch.y).backward();
    optimizer.step(3e-3);
    optimizer.zero_grad();
  }
  const std::vector<int32_t> tokens = tokenizer.encode(text.substr(200'000, 10'000));
  return check_coder(model, false, tokens) && check_coder(model, true, tokens) ? 0 : 1;
}

int main(int argc, char** argv) try {
  if (argc == 1) return check_both();
  std::vector<std::string> paths(argv + 1, argv + argc);
  const bool adapt = std::erase(paths, "--adapt") > 0, restores = std::erase(paths, "-d") > 0;
  if (paths.size() != 3) fail("compress", "usage: compress [--adapt] [-d] MODEL FILE OUT");
  const models::Decoder model = models::load_pretrained(paths[0]);
  const data::Tokenizer tokenizer = data::load_tokenizer(paths[0]);
  std::ifstream in(paths[1], std::ios::binary);
  if (!in.is_open()) fail("compress", "cannot read ", paths[1], ".");
  const std::string file(std::istreambuf_iterator<char>(in), {});
  std::string out;
  if (restores) {
    out = tokenizer.decode(restore(model, adapt, file));
  } else {
    const std::vector<int32_t> tokens = tokenizer.encode(file);
    if (tokenizer.decode(tokens) != file) fail("compress", "the tokenizer must keep every byte.");
    out = compress(model, adapt, tokens);
    std::cout << file.size() << " bytes take " << out.size() << "\n";
  }
  if (!(std::ofstream(paths[2], std::ios::binary) << out << std::flush))
    fail("compress", "cannot write ", paths[2], ".");
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 2;
}
