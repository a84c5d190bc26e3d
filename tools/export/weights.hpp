// A model's weights as other programs are given them. Thread-safe: no state.
#pragma once

#include <span>
#include <string>

#include "gradus/models/gpt.hpp"

namespace gradus::exports {

/// All of them, float32 and contiguous, by Hugging Face's names; matrices as (out, in), also where Hugging
/// Face's files have them transposed; a GPT-2 without biases has zeros for them.
nn::StateDict linear_weights(const models::GPT& model);

/// The numbers of such a tensor. They live as long as it does.
std::span<const float> numbers_of(const Tensor& tensor);

/// One line on a model: GPT-2's shape, 4 layers, 4 heads, 128 wide, block 64.
std::string described(const models::GPTConfig& config);

}  // namespace gradus::exports
