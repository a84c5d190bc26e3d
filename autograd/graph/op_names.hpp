// The closed list of operations. Recording one that is not in it does not compile, and the gradient-check
// suite fails for a name that has no case: an op cannot forget its check.
#pragma once

#include <array>
#include <string_view>

namespace gradus {

/// Ops that stand in graphs: each has a gradient rule.
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
});

/// Ops composed of the ones above; they have gradient-check cases too.
inline constexpr auto kComposedOps = std::to_array<std::string_view>({
    "mean",
    "std",
    "max",
    "min",
    "mm",
    "bmm",
    "split",
    "chunk",
    "embedding",
    "safe_softmax",
    "mse_loss",
    "index",
});

/// The name of a recorded op, checked while compiling.
struct OpName {
  /// An op of the user's own; `text` must live as long as the program, as a literal does.
  static constexpr OpName custom(std::string_view text) { return OpName(text, Unchecked{}); }

  /// A name of kRecordedOps; any other does not compile.
  consteval OpName(const char* text) : name(text) {  // NOLINT: a string literal is the natural spelling
    bool known = false;
    for (const std::string_view op : kRecordedOps) known = known || op == name;
    if (!known) throw "not in kRecordedOps. Hint: an op of your own is OpName::custom(\"its name\")";
  }
  std::string_view name;  ///< as in graphs and errors

 private:
  struct Unchecked {};
  constexpr OpName(std::string_view text, Unchecked) : name(text) {}
};

}  // namespace gradus
