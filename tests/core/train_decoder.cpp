// What the core is for: trains a GPT-2 on a text, decodes it, and compares the gradients of its loss and of
// each operation with finite differences. Exits with 1, saying why, if one of these fails.
#include <iostream>
#include <string>
#include <vector>

#include "gradus/autograd/gradcheck/cases/gradcheck_cases.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/models/decoder.hpp"
#include "gradus/models/generate.hpp"
#include "gradus/nn/gradcheck_module.hpp"
#include "gradus/train/optimizers/adamw.hpp"

using namespace gradus;

namespace {

int failures = 0;

void expect(bool holds, const std::string& what) {
  std::cout << (holds ? "passed: " : "FAILED: ") << what << std::endl;
  if (!holds) ++failures;
}

/// The text as numbers of letters, and the next letter of each.
struct Batch {
  Tensor x, y;  // (1, T) int64
};

Batch batch_of(const std::string& text) {
  std::vector<int64_t> ids;
  for (const char c : text) ids.push_back(c == ' ' ? 26 : c - 'a');
  const Tensor all = tensor(ids, {1, static_cast<int64_t>(ids.size())});
  const int64_t T = all.size(1) - 1;
  return {all.slice(1, 0, T), all.slice(1, 1, T + 1)};
}

models::DecoderConfig small_gpt2() {
  return {.arch = "gpt2", .vocab_size = 27, .block_size = 48, .n_layer = 2, .n_head = 2, .n_embd = 32};
}

void train_and_decode() {
  const std::string text = "a small decoder reads a text and learns to go on";
  const Batch batch = batch_of(text);
  Generator init(1);
  models::Decoder model(small_gpt2(), init);
  train::AdamW optimizer(model.named_parameters());
  double loss = 0;
  for (int step = 0; step < 200; ++step) {
    const Tensor l = model.loss(batch.x, batch.y);
    optimizer.zero_grad();
    l.backward();
    optimizer.step(3e-3);
    loss = l.item();
  }
  expect(loss < 0.05, concat("the loss of GPT-2 on one sentence after 200 steps is below 0.05: ", loss));

  const NoGrad no_grad;
  std::vector<int64_t> ids = batch.x.slice(1, 0, 8).contiguous().to_vector<int64_t>();
  while (std::ssize(ids) < std::ssize(text)) {
    const Tensor logits = model(tensor(ids, {1, std::ssize(ids)})).select(1, -1);
    ids.push_back(static_cast<int64_t>(argmax(logits, -1).item()));
  }
  std::string read;
  for (const int64_t id : ids) read += id == 26 ? ' ' : static_cast<char>('a' + id);
  expect(read == text, concat("it goes on with the sentence: ", read));
}

void check_gradient_of_loss() {
  Generator init(2);
  const models::Decoder model(small_gpt2(), init);
  const Batch batch = batch_of("some words");
  const auto loss = [&](const models::Decoder& m, const auto&) { return m.loss(batch.x, batch.y); };
  const GradcheckReport report = nn::gradcheck_module<models::Decoder>(model, {}, loss, {.order = 1});
  expect(report.passed, concat("the gradient of its loss by all parameters ", report.message));
}

void check_operations() {
  size_t wrong = 0;
  const std::vector<GradcheckCase> cases = gradcheck_cases();
  for (const GradcheckCase& one : cases) {
    const GradcheckReport report = run_gradcheck(one, 2);
    if (report.passed) continue;
    ++wrong;
    std::cout << one.op << ", " << one.name << ": " << report.message << "\n";
  }
  expect(wrong == 0, concat("gradients of ", cases.size(), " cases of all operations, orders 1 and 2"));
}

}  // namespace

int main() {
  train_and_decode();
  check_gradient_of_loss();
  check_operations();
  return failures == 0 ? 0 : 1;
}
