// The table of operations: one row each, with PyTorch's names and defaults. See operation.hpp.
#include <cmath>
#include <variant>

#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/autograd/tensor/raw.hpp"
#include "gradus/python/operation.hpp"
#if __has_include("gradus/annexes/layers/ops/windows.hpp")  // an annex
#include "gradus/annexes/layers/ops/windows.hpp"
#endif

namespace gradus::python {

using T = const Tensor&;

namespace {

// Functions whose values are no whole numbers take these as float32.
template <Tensor (*f)(T)>
Tensor of_floats(T x) {
  return f(is_floating(x.dtype()) ? x : x.to(DType::float32));
}

DType dtype_or_float(const std::optional<DType>& dtype) { return dtype.value_or(DType::float32); }

// max() and min() of all elements or with another tensor, and along a dimension.
using OneOrBoth = std::variant<Tensor, ValuesAndIndices>;

// A result of a function that makes tensors.
Tensor made(Tensor x, bool requires_grad) { return requires_grad ? x.requires_grad_() : x; }

Tensor as_tensor(const Operand& x, const Operand& like) {
  if (x.tensor.defined()) return x.tensor;
  const bool whole = x.number == std::floor(x.number);
  const DType other = like.tensor.defined() ? like.tensor.dtype() : DType::float32;
  return full({}, x.number, is_floating(other) || whole ? other : DType::float32);
}

Tensor converted(T x, const std::optional<DType>& dtype) { return dtype ? x.to(*dtype) : x; }
// Sums and means of bool tensors count.
Tensor countable(T x) { return x.dtype() == DType::boolean ? x.to(DType::int64) : x; }

void arithmetic(Table& t) {
  t.both("*add(input, other, alpha=1)", [](T a, const Operand& b, double alpha) {
    if (!b.tensor.defined()) return a + b.number * alpha;
    return alpha == 1 ? add(a, b.tensor) : a + b.tensor * alpha;
  });
  t.both("*sub(input, other, alpha=1)", [](T a, const Operand& b, double alpha) {
    if (!b.tensor.defined()) return a - b.number * alpha;
    return alpha == 1 ? sub(a, b.tensor) : a - b.tensor * alpha;
  });
  t.both("*mul(input, other)",
         [](T a, const Operand& b) { return b.tensor.defined() ? a * b.tensor : a * b.number; });
  t.both("*div(input, other)",
         [](T a, const Operand& b) { return b.tensor.defined() ? a / b.tensor : a / b.number; });
  t.both("*pow(input, exponent)", [](const Operand& a, const Operand& b) {
    return b.tensor.defined() ? pow(as_tensor(a, b), b.tensor) : pow(a.tensor, b.number);
  });
  t.both<static_cast<Tensor (*)(T, T)>(maximum)>("maximum(input, other)");
  t.both<static_cast<Tensor (*)(T, T)>(minimum)>("minimum(input, other)");
  t.both<neg>("*neg(input)");
  t.both<static_cast<Tensor (*)(T)>(abs)>("*abs(input)");
  t.both<of_floats<exp>>("*exp(input)");
  t.both<of_floats<log>>("*log(input)");
  t.both<of_floats<sqrt>>("*sqrt(input)");
  t.both<of_floats<rsqrt>>("*rsqrt(input)");
  t.both<of_floats<tanh>>("*tanh(input)");
  t.both<of_floats<sigmoid>>("*sigmoid(input)");
  t.both("*relu(input, inplace=False)", [](T x, bool inplace) {
    if (inplace) fail("relu", "gives a new tensor. Hint: x.relu_() writes into x.");
    return relu(x);
  });
  t.function<gelu>("gelu(input, approximate='none')");
  t.function<silu>("silu(input)");
  t.function<swiglu>("swiglu(gate, up)");
  t.function<softplus>("softplus(input, beta=1, threshold=20)");
  t.function<mish>("mish(input)");
  t.both<of_floats<sin>>("*sin(input)");
  t.both<of_floats<cos>>("*cos(input)");
  t.both<of_floats<erf>>("*erf(input)");
  t.both<sign>("sign(input)");
  t.both("*square(input)", [](T x) { return x * x; });
  t.both("*reciprocal(input)", [](T x) { return 1.0 / x; });
  t.both("*clamp(input, min=None, max=None)",
         [](T x, const std::optional<Operand>& min, const std::optional<Operand>& max) {
           if ((min && min->tensor.defined()) || (max && max->tensor.defined()))
             return clamp(x, min ? as_tensor(*min, {x}) : Tensor(), max ? as_tensor(*max, {x}) : Tensor());
           return clamp(x, min ? min->number : -INFINITY, max ? max->number : INFINITY);
         });
}

void choices(Table& t) {
  t.both("where(condition, input, other)", [](T condition, const Operand& a, const Operand& b) {
    return where(condition, as_tensor(a, b), as_tensor(b, a));
  });
  t.both("*masked_fill(input, mask, value)", [](T x, T mask, const Operand& value) {
    if (value.tensor.defined()) return masked_fill(x, mask, value.tensor);
    if (is_floating(x.dtype())) return masked_fill(x, mask, value.number);
    if (value.number != std::floor(value.number))
      fail("masked_fill", "needs a whole number for ", name(x.dtype()), " values, got ", value.number, ".");
    return where(mask, full({}, value.number, x.dtype()), x);
  });
#define GRADUS_COMPARISON(name)  \
  t.both(#name "(input, other)", \
         [](T a, const Operand& b) { return b.tensor.defined() ? name(a, b.tensor) : name(a, b.number); });
  GRADUS_COMPARISON(eq)
  GRADUS_COMPARISON(ne)
  GRADUS_COMPARISON(lt)
  GRADUS_COMPARISON(le)
  GRADUS_COMPARISON(gt)
  GRADUS_COMPARISON(ge)
#undef GRADUS_COMPARISON
  t.both("isnan(input)", [](T x) { return ne(x, x); });
  t.both("isfinite(input)", [](T x) { return lt(abs(x), INFINITY); });
}

void reductions(Table& t) {
  using Dtype = std::optional<DType>;
  t.both("sum(input, dim=None, keepdim=False, dtype=None)",
         [](T x, const Ints& dim, bool keepdim, const Dtype& dtype) {
           return sum(converted(countable(x), dtype), dim.values, keepdim);
         });
  t.both("mean(input, dim=None, keepdim=False, dtype=None)",
         [](T x, const Ints& dim, bool keepdim, const Dtype& dtype) {
           return mean(converted(x, dtype), dim.values, keepdim);
         });
  t.both("var(input, dim=None, unbiased=True, keepdim=False, correction=None)",
         [](T x, const Ints& dim, bool unbiased, bool keepdim, const std::optional<int64_t>& correction) {
           return var(x, dim.values, correction.value_or(unbiased ? 1 : 0), keepdim);
         });
  t.both("std(input, dim=None, unbiased=True, keepdim=False, correction=None)",
         [](T x, const Ints& dim, bool unbiased, bool keepdim, const std::optional<int64_t>& correction) {
           return stddev(x, dim.values, correction.value_or(unbiased ? 1 : 0), keepdim);
         });
  t.both("amax(input, dim=None, keepdim=False)",
         [](T x, const Ints& dim, bool keepdim) { return amax(x, dim.values, keepdim); });
  t.both("amin(input, dim=None, keepdim=False)",
         [](T x, const Ints& dim, bool keepdim) { return amin(x, dim.values, keepdim); });
  t.both("max(input, dim=None, keepdim=False)",
         [](T x, const std::optional<Operand>& dim, bool keepdim) -> OneOrBoth {
           if (!dim) return max(x);
           if (dim->tensor.defined()) return maximum(x, dim->tensor);
           return max(x, static_cast<int64_t>(dim->number), keepdim);
         });
  t.both("min(input, dim=None, keepdim=False)",
         [](T x, const std::optional<Operand>& dim, bool keepdim) -> OneOrBoth {
           if (!dim) return min(x);
           if (dim->tensor.defined()) return minimum(x, dim->tensor);
           return min(x, static_cast<int64_t>(dim->number), keepdim);
         });
  t.both("argmax(input, dim=None, keepdim=False)", [](T x, const std::optional<int64_t>& dim, bool keepdim) {
    return dim ? argmax(x, *dim, keepdim) : argmax(x.reshape({-1}), 0);
  });
  t.both("argmin(input, dim=None, keepdim=False)", [](T x, const std::optional<int64_t>& dim, bool keepdim) {
    return dim ? argmin(x, *dim, keepdim) : argmin(x.reshape({-1}), 0);
  });
  t.both("all(input, dim=None, keepdim=False)", [](T x, const Ints& dim, bool keepdim) {
    return eq(sum(eq(x, 0.0).to(DType::int64), dim.values, keepdim), 0.0);
  });
  t.both("any(input, dim=None, keepdim=False)", [](T x, const Ints& dim, bool keepdim) {
    return ne(sum(ne(x, 0.0).to(DType::int64), dim.values, keepdim), 0.0);
  });
  t.both("cumsum(input, dim, reverse=False)",
         [](T x, int64_t dim, bool reverse) { return cumsum(countable(x), dim, reverse); });
  t.function<linear_recurrence>("linear_recurrence(a, b, dim, reverse=False)");
  t.both("logsumexp(input, dim, keepdim=False)",
         [](T x, const Ints& dim, bool keepdim) { return logsumexp(x, dim.values, keepdim); });
  t.both("norm(input, p=2, dim=None, keepdim=False)",
         [](T x, double p, const Ints& dim, bool keepdim) { return norm(x, p, dim.values, keepdim); });
  t.both("softmax(input, dim, dtype=None)",
         [](T x, int64_t dim, const Dtype& dtype) { return softmax(converted(x, dtype), dim); });
  t.function<safe_softmax>("safe_softmax(input, dim)");
  t.both("log_softmax(input, dim, dtype=None)",
         [](T x, int64_t dim, const Dtype& dtype) { return log_softmax(converted(x, dtype), dim); });
}

void products(Table& t) {
  t.both<matmul>("matmul(input, other)");
  t.both<mm>("mm(input, mat2)");
  t.both<bmm>("bmm(input, mat2)");
  t.both("dot(input, other)", [](T a, T b) {
    if (a.dim() != 1 || b.dim() != 1)
      fail("dot", "needs two vectors, got ", a.shape(), " and ", b.shape(), ".");
    return matmul(a, b);
  });
  t.both("outer(input, vec2)", [](T a, T b) { return a.reshape({-1, 1}) * b.reshape({1, -1}); });
  t.function<linear>("linear(input, weight, bias=None)");
  t.function<gelu_linear>("gelu_linear(input, weight, bias=None, approximate='none')");
  t.function<swiglu_linear>("swiglu_linear(gate, up, weight, bias=None)");
  t.function("einsum_of(equation, operands)",
             [](const std::string& equation, const std::vector<Tensor>& operands) {
               return einsum(equation, operands);
             });
}

void joining(Table& t) {
  t.function<cat>("cat(tensors, dim=0)");
  t.function<stack>("stack(tensors, dim=0)");
  t.both<index_select>("index_select(input, dim, index)");
  t.both("*index_add(input, dim, index, source, alpha=1)",
         [](T x, int64_t dim, T index, T source, double alpha) {
           return index_add(x, dim, index, alpha == 1 ? source : source * alpha);
         });
  t.both<gather>("gather(input, dim, index)");
  t.both<scatter_add>("*scatter_add(input, dim, index, src)");
  t.both("*scatter(input, dim, index, src)", [](T x, int64_t dim, T index, const Operand& src) {
    return src.tensor.defined() ? scatter(x, dim, index, src.tensor) : scatter(x, dim, index, src.number);
  });
  t.both("sort(input, dim=-1, descending=False, stable=False)",
         [](T x, int64_t dim, bool descending, bool) { return sort(x, dim, descending); });
  t.both("argsort(input, dim=-1, descending=False)",
         [](T x, int64_t dim, bool descending) { return sort(x, dim, descending).indices; });
  t.both<topk>("topk(input, k, dim=-1, largest=True, sorted=True)");
  t.function("embedding(input, weight, padding_idx=None)",
             [](T index, T weight, const std::optional<int64_t>& padding) {
               return embedding(weight, index, padding);
             });
  t.both<tril>("*tril(input, diagonal=0)");
  t.both<triu>("*triu(input, diagonal=0)");
  t.function<pad>("pad_dim(input, dim, size, start, step=1)");
}

// Views are members of Tensor.
void views(Table& t) {
  t.both("transpose(input, dim0, dim1)", [](T x, int64_t a, int64_t b) { return x.transpose(a, b); });
  t.both("t(input)", [](T x) { return x.dim() < 2 ? x : x.transpose(0, 1); });
  t.both("permute(input, *dims)", [](T x, const Ints& dims) { return x.permute(dims.values); });
  t.both("reshape(input, *shape)", [](T x, const Shape& shape) { return x.reshape(shape); });
  t.method("view(input, *shape)", [](T x, const Shape& shape) {
    const Tensor y = x.reshape(shape);
    if (y.impl()->storage != x.impl()->storage)
      fail("view", "shape ", shape, " takes a copy of strides ", x.strides(), ". Hint: reshape() makes one.");
    return y;
  });
  t.method("expand(input, *sizes)", [](T x, const Shape& sizes) { return x.expand(sizes); });
  t.both("flatten(input, start_dim=0, end_dim=-1)",
         [](T x, int64_t start, int64_t end) { return x.flatten(start, end); });
  t.both("squeeze(input, dim=None)",
         [](T x, const std::optional<int64_t>& dim) { return dim ? x.squeeze(*dim) : x.squeeze(); });
  t.both("unsqueeze(input, dim)", [](T x, int64_t dim) { return x.unsqueeze(dim); });
  t.both("narrow(input, dim, start, length)",
         [](T x, int64_t dim, int64_t start, int64_t length) { return x.slice(dim, start, start + length); });
  t.both("select(input, dim, index)", [](T x, int64_t dim, int64_t index) { return x.select(dim, index); });
  t.both("split(tensor, split_size_or_sections, dim=0)", [](T x, const Ints& sizes, int64_t dim) {
    return sizes.values.size() == 1 ? x.split(sizes.values[0], dim) : x.split(sizes.values, dim);
  });
  t.both("chunk(input, chunks, dim=0)",
         [](T x, int64_t chunks, int64_t dim) { return x.chunk(chunks, dim); });
  t.both("unbind(input, dim=0)", [](T x, int64_t dim) {
    std::vector<Tensor> all;
    for (int64_t i = 0; i < x.size(dim); ++i) all.push_back(x.select(dim, i));
    return all;
  });
  t.method("contiguous(input)", [](T x) { return x.contiguous(); });
  t.both("clone(input)", [](T x) { return x.requires_grad() ? (x * 1.0).contiguous() : raw::clone(x); });
  t.method("detach(input)", [](T x) { return x.detach(); });
  t.method("cast(input, dtype)", [](T x, DType dtype) { return x.to(dtype); });
  t.method("is_contiguous(input)", [](T x) { return x.is_contiguous(); });
  t.both("numel(input)", [](T x) { return x.numel(); });
  t.method("dim(input)", [](T x) { return x.dim(); });
  t.method("copy(input, source)", [](T x, T source) {
    Tensor(x).copy_(source);
    return x;
  });
}

#if __has_include("gradus/annexes/layers/ops/windows.hpp")
// One size for all dimensions, or one for each; "same" or "valid" is a padding.
using Sizes = std::variant<Ints, std::string>;

autograd::PerDim per_dim(const Ints& sizes) { return autograd::PerDim(sizes.values); }
autograd::Padding padding_of(const Sizes& sizes) {
  if (const auto* name = std::get_if<std::string>(&sizes)) return *name;
  return per_dim(std::get<Ints>(sizes));
}

void windows(Table& t) {
  using I = const Ints&;
  t.function("unfold(input, kernel_size, dilation=1, padding=0, stride=1)",
             [](T x, I kernel, I dilation, I padding, I stride) {
               return unfold(x, per_dim(kernel), {per_dim(dilation), per_dim(padding), per_dim(stride)});
             });
  t.function("fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1)", [](T x, I size,
                                                                                          I kernel,
                                                                                          I dilation,
                                                                                          I padding,
                                                                                          I stride) {
    return fold(x, per_dim(size), per_dim(kernel), {per_dim(dilation), per_dim(padding), per_dim(stride)});
  });
#define GRADUS_WINDOWS(n)                                                                                    \
  t.function("conv" #n "d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1)",             \
             [](T x, T weight, T bias, I stride, const Sizes& padding, I dilation, int64_t groups) {         \
               return conv##n##d(x, weight, bias,                                                            \
                                 {per_dim(stride), padding_of(padding), per_dim(dilation), groups});         \
             });                                                                                             \
  t.function(                                                                                                \
      "max_pool" #n                                                                                          \
      "d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False)",    \
      [](T x, I kernel, I stride, I padding, I dilation, bool ceil, bool indices) -> OneOrBoth {             \
        auto both = max_pool##n##d_with_indices(                                                             \
            x, per_dim(kernel), {per_dim(stride), per_dim(padding), per_dim(dilation), ceil});               \
        if (indices) return both;                                                                            \
        return both.values;                                                                                  \
      });                                                                                                    \
  t.function(                                                                                                \
      "avg_pool" #n                                                                                          \
      "d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, "              \
      "divisor_override=None)",                                                                              \
      [](T x, I kernel, I stride, I padding, bool ceil, bool count, const std::optional<int64_t>& divisor) { \
        return avg_pool##n##d(x, per_dim(kernel),                                                            \
                              {per_dim(stride), per_dim(padding), ceil, count, divisor});                    \
      });
  GRADUS_WINDOWS(1)
  GRADUS_WINDOWS(2)
#undef GRADUS_WINDOWS
}
#endif

void layers(Table& t) {
  t.function("layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-05)",
             [](T x, const Shape& shape, T weight, T bias, double eps) {
               return layer_norm(x, shape, weight, bias, eps);
             });
  t.function("rms_norm(input, normalized_shape, weight=None, eps=None)",
             [](T x, const Shape& shape, T weight, const std::optional<double>& eps) {
               return rms_norm(x, shape, weight, eps);
             });
  t.function<static_cast<Tensor (*)(T, int64_t, double)>(rotary_embedding)>(
      "rotary_embedding(input, offset=0, base=10000.0)");
  t.function(
      "cross_entropy(input, target, weight=None, ignore_index=-100, reduction='mean', label_smoothing=0.0)",
      [](T logits, T target, T weight, int64_t ignore, Reduction reduction, double smoothing) {
        if (logits.dim() == 2 && target.dim() == 1 && !weight.defined() && smoothing == 0 && ignore == -100)
          return cross_entropy(logits, target, ignore, reduction);
        return cross_entropy(logits, target, CrossEntropyOptions{weight, ignore, reduction, smoothing});
      });
  t.function<nll_loss>("nll_loss(input, target, weight=None, ignore_index=-100, reduction='mean')");
  t.function<mse_loss>("mse_loss(input, target, reduction='mean')");
  t.function<l1_loss>("l1_loss(input, target, reduction='mean')");
  t.function<huber_loss>("huber_loss(input, target, reduction='mean', delta=1.0)");
  t.function<smooth_l1_loss>("smooth_l1_loss(input, target, reduction='mean', beta=1.0)");
  t.function<kl_div>("kl_div(input, target, reduction='mean', log_target=False)");
  t.function<binary_cross_entropy_with_logits>(
      "binary_cross_entropy_with_logits(input, target, weight=None, reduction='mean', pos_weight=None)");
  t.function("dropout(input, p=0.5, training=True, generator=None)",
             [](T x, double p, bool training, const Random& g) { return training ? dropout(x, p, g) : x; });
  t.function(
      "scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, "
      "scale=None, enable_gqa=False, window=0, generator=None)",
      [](T q, T k, T v, T mask, double dropout, bool causal, const std::optional<double>& scale, bool gqa,
         int64_t window, const Random& g) {
        return scaled_dot_product_attention(q, k, v,
                                            {.causal = causal,
                                             .scale = scale,
                                             .window = window,
                                             .mask = mask,
                                             .dropout = dropout,
                                             .generator = g.get(),
                                             .enable_gqa = gqa});
      });
#if __has_include("gradus/annexes/layers/ops/windows.hpp")
  t.function(
      "batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, "
      "eps=1e-05)",
      [](T x, T mean, T var, T weight, T bias, bool training, double momentum, double eps) {
        return batch_norm(x, mean, var, weight, bias, training, momentum, eps);
      });
  t.function("group_norm(input, num_groups, weight=None, bias=None, eps=1e-05)",
             [](T x, int64_t groups, T weight, T bias, double eps) {
               return group_norm(x, groups, weight, bias, eps);
             });
  windows(t);
#endif
  t.function<nonzero>("nonzero(input)");
  t.function<one_hot>("one_hot(tensor, num_classes=-1)");
}

void creation(Table& t) {
  using Dtype = std::optional<DType>;
  t.function("zeros(*size, dtype=None, requires_grad=False)",
             [](const Shape& size, const Dtype& dtype, bool grad) {
               return made(zeros(size, dtype_or_float(dtype)), grad);
             });
  t.function("ones(*size, dtype=None, requires_grad=False)",
             [](const Shape& size, const Dtype& dtype, bool grad) {
               return made(ones(size, dtype_or_float(dtype)), grad);
             });
  t.function("empty(*size, dtype=None, requires_grad=False)",
             [](const Shape& size, const Dtype& dtype, bool grad) {
               return made(empty(size, dtype_or_float(dtype)), grad);
             });
  t.function("full_of(size, fill_value, dtype, requires_grad=False)",
             [](const Shape& size, double value, DType dtype, bool grad) {
               return made(full(size, value, dtype), grad);
             });
  t.function("arange_of(start, end, step, dtype)", [](double start, double end, double step, DType dtype) {
    return arange(start, end, step, dtype);
  });
  t.function("eye(n, dtype=None, requires_grad=False)", [](int64_t n, const Dtype& dtype, bool grad) {
    return made(eye(n, dtype_or_float(dtype)), grad);
  });
  t.function("rand(*size, generator=None, dtype=None, requires_grad=False)",
             [](const Shape& size, const Random& g, const Dtype& dtype, bool grad) {
               return made(rand(size, g, dtype_or_float(dtype)), grad);
             });
  t.function("randn(*size, generator=None, dtype=None, requires_grad=False)",
             [](const Shape& size, const Random& g, const Dtype& dtype, bool grad) {
               return made(randn(size, g, dtype_or_float(dtype)), grad);
             });
  t.function("normal(mean, std, size, generator=None, dtype=None)",
             [](double mean, double std, const Shape& size, const Random& g, const Dtype& dtype) {
               return normal(size, mean, std, g, dtype_or_float(dtype));
             });
  t.function("uniform_of(size, low, high, generator=None, dtype=None)",
             [](const Shape& size, double low, double high, const Random& g, const Dtype& dtype) {
               return uniform(size, low, high, g, dtype_or_float(dtype));
             });
  t.function("randint_of(low, high, size, generator=None)",
             [](int64_t low, int64_t high, const Shape& size, const Random& g) {
               return randint(low, high, size, g);
             });
  t.function("randperm(n, generator=None)", [](int64_t n, const Random& g) { return randperm(n, g); });
  t.both("multinomial(input, num_samples, replacement=False, generator=None)",
         [](T p, int64_t n, bool replacement, const Random& g) { return multinomial(p, n, g, replacement); });
  t.both("bernoulli(input, generator=None)", [](T p, const Random& g) { return bernoulli(p, g); });
}

}  // namespace

std::shared_ptr<RandomStream>& default_stream() {
  static auto* const stream =
      new std::shared_ptr<RandomStream>(std::make_shared<RandomStream>(Generator::torch(0)));
  return *stream;
}

void add_operations(py::module_& m) {
  Table t(m);
  arithmetic(t);
  choices(t);
  reductions(t);
  products(t);
  joining(t);
  views(t);
  layers(t);
  creation(t);
}

}  // namespace gradus::python
