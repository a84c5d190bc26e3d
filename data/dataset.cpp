#include "gradus/data/dataset.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <string>
#include <string_view>

#include "gradus/autograd/ops/ops.hpp"
#include "gradus/files/error.hpp"

namespace gradus::data {
namespace {

void check_positive(std::string_view op, std::string_view what, int64_t value) {
  if (value < 1) fail(op, Option{what}, " must be at least 1, got ", value, ".");
}

Batch gather_windows(const Tokens& tokens, const std::vector<int64_t>& starts, int64_t block) {
  const Shape shape = {static_cast<int64_t>(starts.size()), block};
  Batch batch{empty(shape, DType::int64), empty(shape, DType::int64)};
  int64_t* x = batch.x.mutable_data<int64_t>();
  int64_t* y = batch.y.mutable_data<int64_t>();
  std::vector<int64_t> window(static_cast<size_t>(block) + 1);
  for (const int64_t start : starts) {
    tokens.copy(start, block + 1, window.data());
    x = std::copy_n(window.begin(), block, x);
    y = std::copy_n(window.begin() + 1, block, y);
  }
  return batch;
}

std::vector<Batch> consecutive_windows(const Tokens& tokens, int64_t batch, int64_t block) {
  constexpr std::string_view op = "consecutive_batches";
  check_positive(op, "batch", batch);
  check_positive(op, "block", block);
  const int64_t predictions = tokens.size() - 1;
  if (predictions < 1)
    fail(op, "the text must have at least 2 tokens to predict one from another, got ", tokens.size(), ".");
  std::vector<Batch> batches;
  std::vector<int64_t> starts;
  const int64_t rest = predictions % block;
  for (int64_t start = 0; start < predictions - rest; start += block) {
    starts.push_back(start);
    if (static_cast<int64_t>(starts.size()) < batch) continue;
    batches.push_back(gather_windows(tokens, starts, block));
    starts.clear();
  }
  if (!starts.empty()) batches.push_back(gather_windows(tokens, starts, block));
  if (rest > 0) batches.push_back(gather_windows(tokens, {predictions - rest}, rest));
  return batches;
}

}  // namespace

std::vector<Batch> consecutive_batches(std::span<const int32_t> tokens, int64_t batch, int64_t block) {
  return consecutive_windows(std::vector<int32_t>(tokens.begin(), tokens.end()), batch, block);
}

int64_t Batch::targets() const {
  if (y.dtype() != DType::int64) return y.numel();
  const Tensor packed = y.contiguous();
  const auto* const values = packed.data<int64_t>();
  return y.numel() - std::count(values, values + y.numel(), kNoTarget);
}

int64_t count_targets(const std::vector<Batch>& batches) {
  int64_t count = 0;
  for (const Batch& batch : batches) count += batch.targets();
  return count;
}

TextDataset::TextDataset(Tokens tokens, int64_t block, double val_fraction) : block_(block) {
  constexpr std::string_view op = "dataset";
  check_positive(op, "block", block);
  if (!(val_fraction >= 0 && val_fraction < 1))
    fail(op, Option{"val_fraction"}, " must be at least 0 and below 1, got ", val_fraction, ".");
  const int64_t size = tokens.size();
  const auto train_size = static_cast<int64_t>(static_cast<double>(size) * (1.0 - val_fraction));

  const auto check_size = [&](std::string_view part, int64_t got, std::string_view hint) {
    if (got > block) return;
    const Option block_option{"block"}, fraction{"val_fraction"};
    fail(op, "the ", part, " split must have at least ", block_option, " + 1 = ", block + 1, " tokens, got ",
         got, " of ", size, " (", fraction, " ", val_fraction, "). Hint: use a longer text, a smaller ",
         block_option, " or a ", hint, " ", fraction, ".");
  };
  check_size("training", train_size, "smaller");
  if (val_fraction > 0) check_size("validation", size - train_size, "larger");
  train_ = tokens.part(0, train_size);
  validation_ = tokens.part(train_size, size);
}

TextDataset::TextDataset(Tokens train, Tokens validation, int64_t block)
    : train_(std::move(train)), validation_(std::move(validation)), block_(block) {
  check_positive("dataset", "block", block);
  for (const auto& [name, tokens] : {std::pair("train on", &train_), std::pair("validate on", &validation_)})
    if (tokens->size() <= block)
      fail("dataset", "the tokens to ", name, " must be at least ", Option{"block"}, " + 1 = ", block + 1,
           ", got ", tokens->size(), ".");
}

void ExampleList::add(const Example& example) {
  Store& store = *store_;
  const std::vector<int32_t>& tokens = example.tokens;
  const auto high = [](int32_t token) { return static_cast<uint16_t>(static_cast<uint32_t>(token) >> 16); };
  if (!store.high.empty() || std::ranges::any_of(tokens, high)) {
    store.high.resize(store.low.size());
    std::ranges::transform(tokens, std::back_inserter(store.high), high);
  }
  store.low.insert(store.low.end(), tokens.begin(), tokens.end());  // the low 16 bits
  store.counts.insert(store.counts.end(), example.counts.begin(), example.counts.end());
  store.begins.push_back(std::ssize(store.low));
  ++last_;
}

int64_t ExampleList::targets_of(size_t i) const {
  const auto counts = store_->counts.begin();
  const int64_t begin = store_->begins[first_ + i], end = store_->begins[first_ + i + 1];
  return std::count(counts + std::min(begin + 1, end), counts + end, true);
}

Example ExampleList::operator[](size_t i) const {
  const int64_t begin = begin_of(i), end = begin_of(i + 1);
  Example example{.tokens = tokens().part(begin, end).values(), .counts = {}};
  for (int64_t token = begin; token < end; ++token) example.counts.push_back(counts(token));
  return example;
}

ExampleList ExampleList::part(size_t first, size_t last) const {
  ExampleList part = *this;
  part.first_ = first_ + first;
  part.last_ = first_ + last;
  return part;
}

Tokens ExampleList::tokens() const {
  const auto copy = [store = store_, begin = store_->begins[first_]](int64_t first, int64_t count,
                                                                     int64_t* to) {
    first += begin;
    std::copy_n(store->low.begin() + first, count, to);
    for (int64_t i = 0; i < count && !store->high.empty(); ++i)
      to[i] = static_cast<int32_t>(static_cast<uint32_t>(to[i]) | uint32_t{store->high[first + i]} << 16);
  };
  return {begin_of(size()), copy};
}

TextDataset::TextDataset(ExampleList train, ExampleList validation, int64_t block, uint64_t seed, bool alone)
    : train_(train.tokens()), validation_(validation.tokens()), block_(block) {
  check_positive("dataset", "block", block);
  if (train.empty()) fail("dataset", "must have an example to train on, got none.");
  packed_[0] = pack(std::move(train), block, Generator(seed).stream("examples"), alone);
  packed_[1] = pack(std::move(validation), block, Generator(seed).stream("examples"), alone, &targets_);
}

TextDataset::Packed TextDataset::pack(ExampleList examples, int64_t block, Generator order, bool alone,
                                      std::vector<int64_t>* targets) {
  Packed packed;
  packed.order = randperm(std::ssize(examples), order).to_vector<int64_t>();
  int64_t positions = block;
  for (size_t i = 0; i < packed.order.size(); ++i) {
    const auto example = static_cast<size_t>(packed.order[i]);
    const int64_t tokens = examples.begin_of(example + 1) - examples.begin_of(example);
    if (tokens < 2 || tokens - 1 > block)
      fail("dataset", "an example must have 2 to ", block + 1, " tokens, got ", tokens, ".");
    positions += tokens - 1;
    if (alone || positions > block) {
      packed.windows.push_back(static_cast<int64_t>(i));
      if (targets) targets->push_back(0);
      positions = tokens - 1;
    }
    if (targets) targets->back() += examples.targets_of(example);
  }
  packed.examples = std::move(examples);
  return packed;
}

Batch TextDataset::packed_batch(Split split, std::span<const int64_t> windows) const {
  const Shape shape = {std::ssize(windows), block_};
  // The padding of a window is a sequence by itself.
  Batch batch{zeros(shape, DType::int64), full(shape, kNoTarget, DType::int64), {empty(shape, DType::int64)}};
  int64_t *x = batch.x.mutable_data<int64_t>(), *y = batch.y.mutable_data<int64_t>(),
          *starts = batch.more[0].mutable_data<int64_t>();
  const Packed& packed = packed_[split == Split::train ? 0 : 1];
  std::vector<int64_t> example(static_cast<size_t>(block_) + 1);
  for (const int64_t window : windows) {
    const auto next = static_cast<size_t>(window) + 1;
    const int64_t end = next < packed.windows.size() ? packed.windows[next] : std::ssize(packed.order);
    int64_t at = 0;
    for (int64_t i = packed.windows[next - 1]; i < end; ++i) {
      const auto number = static_cast<size_t>(packed.order[static_cast<size_t>(i)]);
      const int64_t first = packed.examples.begin_of(number),
                    count = packed.examples.begin_of(number + 1) - first;
      tokens(split).copy(first, count, example.data());
      std::copy_n(example.begin(), count - 1, x + at);
      std::fill_n(starts + at, count - 1, at);
      for (int64_t t = 1; t < count; ++t)
        if (packed.examples.counts(first + t)) y[at + t - 1] = example[static_cast<size_t>(t)];
      at += count - 1;
    }
    std::fill(starts + at, starts + block_, std::min(at, block_ - 1));
    x += block_, y += block_, starts += block_;
  }
  return batch;
}

void TextDataset::weigh(const std::vector<WeightedPart>& parts) {
  std::vector<Stretch> stretches;
  int64_t begin = 0;
  double sum = 0;
  for (const WeightedPart& part : parts) {
    if (!(part.weight >= 0) || !std::isfinite(part.weight))
      fail("dataset", "weights must be finite and at least 0, got ", part.weight, ".");
    const int64_t end = std::min(begin + part.tokens, train_.size() - block_);
    const int64_t starts = std::max<int64_t>(0, end - begin);
    if (starts > 0 && part.weight > 0) {
      sum += part.weight * static_cast<double>(starts);
      stretches.push_back({begin, starts, sum});
    }
    begin += part.tokens;
  }
  if (!std::isfinite(sum)) fail("dataset", "weights must have a finite sum over all windows, got ", sum, ".");
  if (stretches.empty())
    fail("dataset", "weights must leave a part to train on, got none above 0 for one that has windows.");
  stretches_ = std::move(stretches);
}

int64_t TextDataset::weighted_start(Generator& generator) const {
  const double drawn = generator.uniform() * stretches_.back().up_to;
  auto stretch = std::find_if(stretches_.begin(), stretches_.end() - 1,
                              [&](const Stretch& one) { return drawn < one.up_to; });
  return stretch->begin + generator.below(stretch->starts);
}

Batch TextDataset::random_batch(Split split, int64_t batch, Generator& generator) const {
  check_positive("random_batch", "batch", batch);
  const Tokens& part = tokens(split);
  if (part.empty())
    fail("random_batch", "the split must have tokens, got a dataset without validation part.");
  const bool is_weighted = split == Split::train && !stretches_.empty();
  const int64_t windows =
      has_examples() ? std::ssize(packed_[split == Split::train ? 0 : 1].windows) : part.size() - block_;
  std::vector<int64_t> starts(batch);
  for (int64_t& start : starts) start = is_weighted ? weighted_start(generator) : generator.below(windows);
  return has_examples() ? packed_batch(split, starts) : gather_windows(part, starts, block_);
}

std::function<Batch(int64_t, Generator&)> TextDataset::training_batches() const {
  return [this](int64_t batch, Generator& generator) { return random_batch(Split::train, batch, generator); };
}

std::function<Batch(int64_t, Generator&, int64_t)> TextDataset::shuffled_batches(uint64_t seed) const {
  struct Epoch {
    int64_t number = -1, first = 0;
    std::vector<int64_t> order;
  };
  // A text has one window fewer than fit: the first one starts at a random token of a window.
  const int64_t windows = has_examples() ? std::ssize(packed_[0].windows)
                                         : std::max<int64_t>(1, (train_.size() - 1) / block_ - 1);
  return [this, windows, orders = Generator(seed).stream("windows"), epoch = std::make_shared<Epoch>()](
             int64_t batch, Generator& generator, int64_t drawn) {
    if (!stretches_.empty()) return random_batch(Split::train, batch, generator);
    check_positive("shuffled_batches", "batch", batch);
    std::vector<int64_t> chosen;
    for (int64_t i = drawn; i < drawn + batch; ++i) {
      if (epoch->number != i / windows) {
        epoch->number = i / windows;
        Generator own = orders.stream(std::to_string(epoch->number));
        epoch->first = has_examples() ? 0 : own.below(train_.size() - windows * block_);
        epoch->order = randperm(windows, own).to_vector<int64_t>();
      }
      const int64_t window = epoch->order[static_cast<size_t>(i % windows)];
      chosen.push_back(has_examples() ? window : epoch->first + window * block_);
    }
    return has_examples() ? packed_batch(Split::train, chosen) : gather_windows(train_, chosen, block_);
  };
}

int64_t TextDataset::validation_targets() const {
  if (!has_examples()) return std::max<int64_t>(0, validation_.size() - 1);
  return std::accumulate(targets_.begin(), targets_.end(), int64_t{0});
}

std::vector<Batch> TextDataset::packed_batches(const std::vector<int64_t>& windows, int64_t batch) const {
  std::vector<Batch> batches;
  for (std::span<const int64_t> rest = windows; !rest.empty();) {
    const auto count = std::min(static_cast<size_t>(batch), rest.size());
    batches.push_back(packed_batch(Split::validation, rest.first(count)));
    rest = rest.subspan(count);
  }
  return batches;
}

std::vector<Batch> TextDataset::validation_batches(int64_t batch) const {
  check_positive("validation_batches", "batch", batch);
  if (!has_validation()) return {};
  if (!has_examples()) return consecutive_windows(validation_, batch, block_);
  std::vector<int64_t> windows(packed_[1].windows.size());
  std::iota(windows.begin(), windows.end(), 0);
  return packed_batches(windows, batch);
}

std::vector<Batch> TextDataset::validation_sample(int64_t batch, int64_t tokens_wanted) const {
  check_positive("validation_sample", "batch", batch);
  check_positive("validation_sample", "tokens", tokens_wanted);
  if (has_examples()) {
    // Takes a window whenever the share of targets taken so far is below the share wanted of all targets.
    const auto part = static_cast<double>(tokens_wanted) / static_cast<double>(validation_targets());
    int64_t seen = 0, taken = 0;
    std::vector<int64_t> windows;
    for (int64_t window = 0; window < std::ssize(targets_); ++window) {
      const int64_t targets = targets_[static_cast<size_t>(window)];
      seen += targets;
      if (static_cast<double>(taken) >= part * static_cast<double>(seen)) continue;
      windows.push_back(window);
      taken += targets;
    }
    return packed_batches(windows, batch);
  }
  const int64_t windows = std::max<int64_t>(0, (validation_.size() - 1) / block_);
  const int64_t count = (tokens_wanted + block_ - 1) / block_;
  if (count >= windows) return validation_batches(batch);
  std::vector<Batch> batches;
  for (int64_t first = 0; first < count; first += batch) {
    std::vector<int64_t> starts;
    for (int64_t i = first; i < std::min(count, first + batch); ++i)
      starts.push_back((2 * i + 1) * windows / (2 * count) * block_);
    batches.push_back(gather_windows(validation_, starts, block_));
  }
  return batches;
}

}  // namespace gradus::data
