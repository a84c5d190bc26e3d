// LoRA (Hu et al., arXiv 2106.09685): a trained decoder learns another text while its weights stay frozen.
// Each projection W of attention gets an update of low rank, W + (alpha / r) B A, whose two narrow matrices
// are all that is trained. At the end the updates are added to the weights (merged), and the decoder is an
// ordinary one again.
//
// The base learns gradus's stories, the adapters the proper names of the King James Bible (names.txt).
//
// usage: lora [FILE]. Exits with 1 unless the loss on the names falls from about 5.7 to below 2.75 nats, and
// merged and adapted logits agree to 1e-4.
#include <fstream>
#include <gradus/gradus.hpp>
#include <iostream>
#include <iterator>

using namespace gradus;

struct Adapter : nn::Module {
  Tensor frozen;  // (out, in), not trained
  Tensor A, B;    // (r, in) and (out, r); B starts at 0, so that the update does too
  double scale;
  Adapter(const Tensor& weight, int64_t r, double alpha, Generator& g)
      : frozen(weight.detach()),
        A(randn({r, weight.size(1)}, g) * 0.02),
        B(zeros({weight.size(0), r})),
        scale(alpha / static_cast<double>(r)) {
    A.requires_grad_();
    B.requires_grad_();
  }
  Tensor weight() const { return frozen + scale * matmul(B, A); }
  void visit(nn::Visitor& v) override { v("A", A)("B", B); }
};

/// The adapters of all projections of attention of a model, which it borrows.
struct Lora : nn::Module {
  nn::Module& model;
  std::map<std::string, Adapter> adapters;  // by the names of the weights

  Lora(nn::Module& adapted, int64_t r, double alpha, Generator& g) : model(adapted) {
    for (auto& [name, parameter] : model.named_parameters()) {
      parameter.requires_grad_(false);
      if (name.find("self_attn.") != name.npos) adapters.emplace(name, Adapter(parameter, r, alpha, g));
    }
  }
  void visit(nn::Visitor& v) override { v("adapters", adapters); }

  /// Puts the updated weights into the model, as results of operations through which gradients reach A and B.
  void apply() {
    struct Replace : nn::Visitor {
      const std::map<std::string, Adapter>& adapters;
      explicit Replace(const std::map<std::string, Adapter>& all) : adapters(all) {}
      void on_parameter(const std::string& name, Tensor& parameter, nn::Role) override {
        if (const auto found = adapters.find(name); found != adapters.end())
          parameter = found->second.weight();
      }
    };
    Replace(adapters).start(model);
  }
};

data::TextDataset bytes_of(std::string_view text) {
  return data::TextDataset(data::Tokenizer::bytes().encode(text), /*block=*/32, /*val_fraction=*/0.1);
}

double validation_loss(models::Decoder& model, const data::TextDataset& text) {
  return train::mean_loss(model, text.validation_batches(64));
}

/// Trains `parameters` on the text; `prepare` comes before each step.
template <class F>
void train_on(const data::TextDataset& text, models::Decoder& model, nn::NamedParameters parameters,
              int steps, double lr, Generator& g, F prepare) {
  train::AdamW optimizer(std::move(parameters));
  const train::BatchSource batches = text.training_batches();
  for (int step = 0; step < steps; ++step) {
    prepare();
    const data::Batch batch = batches(16, g);
    model.loss(batch.x, batch.y).backward();
    optimizer.step(lr * (1.0 - static_cast<double>(step) / steps));
    optimizer.zero_grad();
  }
}

int main(int argc, char** argv) {
  const data::TextDataset stories = bytes_of(data::load_corpus("stories").text.substr(0, 200'000));
  std::ifstream file(argc > 1 ? argv[1] : "examples/names.txt", std::ios::binary);
  const data::TextDataset names = bytes_of(std::string(std::istreambuf_iterator<char>(file), {}));
  Generator g(1);
  const models::DecoderConfig config{.arch = "llama",
                                     .vocab_size = 256,
                                     .block_size = 32,
                                     .n_layer = 2,
                                     .n_head = 4,
                                     .n_embd = 64,
                                     .bias = false};
  models::Decoder model(config, g);
  train_on(stories, model, model.named_parameters(), 600, 3e-3, g, [] {});
  std::cout << "base      " << model.num_parameters() << " parameters, loss on stories "
            << validation_loss(model, stories) << ", on names " << validation_loss(model, names) << "\n";

  Lora lora(model, /*r=*/8, /*alpha=*/16, g);
  train_on(names, model, lora.named_parameters(), 800, 5e-3, g, [&] { lora.apply(); });
  lora.apply();
  const double adapted = validation_loss(model, names);
  std::cout << "adapters  " << lora.num_parameters() << " parameters, loss on names " << adapted << "\n";

  const NoGrad evaluation;
  models::Decoder merged(config, g);
  merged.load_state_dict(model.state_dict());
  const Tensor tokens = randint(0, 256, {4, 32}, g);
  const double difference = amax(abs(merged(tokens) - model(tokens))).item();
  std::cout << "merged    " << merged.num_parameters() << " parameters, logits differ by " << difference
            << "\n";
  return adapted < 2.75 && difference < 1e-4 ? 0 : 1;
}
