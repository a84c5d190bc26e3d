#include "gradus/data/pair_trainer.hpp"

#include "gradus/data/pairs/learn.hpp"

namespace gradus::data {

PairTrainer::PairTrainer() : words_(std::make_unique<pairs::WordCounts>()) {}
PairTrainer::~PairTrainer() = default;

void PairTrainer::add(std::string_view text) { words_->add(text); }

Tokenizer PairTrainer::train(int64_t vocab_size) const { return Tokenizer::learn(*words_, vocab_size); }

}  // namespace gradus::data
