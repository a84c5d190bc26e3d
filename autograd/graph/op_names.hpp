// The names of the library's ops.
#pragma once

#include <array>
#include <string_view>

namespace gradus {

/// The closed list of ops in graphs: each has a gradient rule. Recording another name does not compile, and
/// the gradient-check suite fails for a name that has no case.
inline constexpr auto kRecordedOps = std::to_array<std::string_view>({
    "add",          "sub",           "mul",
    "div",          "pow",           "maximum",
    "minimum",      "neg",           "abs",
    "exp",          "log",           "sqrt",
    "rsqrt",        "tanh",          "sigmoid",
    "relu",         "gelu",          "silu",
    "sin",          "cos",           "erf",
    "clamp",        "where",         "masked_fill",
    "softmax",      "log_softmax",   "logsumexp",
    "sum",          "amax",          "amin",
    "cumsum",       "matmul",        "linear",
    "transpose",    "permute",       "reshape",
    "expand",       "squeeze",       "unsqueeze",
    "slice",        "pad",           "contiguous",
    "to",           "cat",           "index_add",
    "index_select", "gather",        "scatter_add",
    "tril",         "triu",          "layer_norm",
    "dropout",      "cross_entropy", "scaled_dot_product_attention",
    "softplus",     "mish",          "rms_norm",
    "select",       "stack",         "var",
    "alias",        "swiglu",        "rotary_embedding",
    "gelu_linear",  "swiglu_linear", "linear_recurrence",
    "norm",
});

/// Ops composed of recorded ops; they have gradient-check cases too.
inline constexpr auto kComposedOps = std::to_array<std::string_view>(
    {"mean", "std", "max", "min", "mm", "bmm", "einsum", "split", "chunk", "flatten", "embedding", "index",
     "scatter", "sort", "topk", "safe_softmax",
     // losses
     "mse_loss", "l1_loss", "huber_loss", "smooth_l1_loss", "nll_loss", "kl_div",
     "binary_cross_entropy_with_logits"});

}  // namespace gradus
