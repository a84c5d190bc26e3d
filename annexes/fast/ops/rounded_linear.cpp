// Linear layers of x, or of an activation of x, rounded to bfloat16. Each tensor is read once for all its
// uses: the activation for the product and the weight's gradient, gy for both products and the bias's sums.
#include "gradus/annexes/fast/ops/fast_ops.hpp"

#include <utility>

#include "gradus/annexes/fast/bf16/bf16_product.hpp"
#include "gradus/autograd/graph/node.hpp"
#include "gradus/autograd/kernels/elementwise/elementwise.hpp"

namespace gradus {
namespace {

using kernels::Binary;
using kernels::multiply_bf16;
using kernels::PackedBf16;
using kernels::PackedRows;
using kernels::ProductStart;
using kernels::RowSource;
using kernels::Side;
using kernels::Unary;

using Gradients = std::vector<Tensor>;
using In = const Tensor&;

/// The operand that the weight multiplies, as loops and in public ops: x, or an activation of x (and up).
struct RoundedForm {
  OpName op;
  Unary value;
  Binary slope;
  Tensor (*values)(In x, In up);
  Gradients (*rule)(In g, In x, In up);
  bool is_activation = true;
};

constexpr RoundedForm kPlain{"linear",
                             Unary::count,
                             Binary::count,
                             [](In x, In) { return x; },
                             [](In g, In, In) { return Gradients{g}; },
                             false};
constexpr RoundedForm kGelu{"gelu_linear", Unary::gelu, Binary::gelu_grad, [](In x, In) { return gelu(x); },
                            [](In g, In x, In) { return Gradients{gelu_rule(g, x)}; }};
constexpr RoundedForm kGeluTanh{"gelu_linear", Unary::gelu_tanh, Binary::gelu_tanh_grad,
                                [](In x, In) { return gelu(x, Gelu::tanh); },
                                [](In g, In x, In) { return Gradients{gelu_tanh_rule(g, x)}; }};
constexpr RoundedForm kSwiglu{"swiglu_linear", Unary::count, Binary::count, swiglu, swiglu_rule};

/// c = start + rows @ right, contiguous; and the other forms of the rows.
void pack_and_multiply(const RowSource& rows, PackedRows to, const PackedBf16& right, float* c,
                       const ProductStart& start) {
  std::shared_ptr<PackedBf16> left;
  if (!kernels::multiplies_as_it_packs(rows.rows, right.columns, rows.columns))
    left = memory_to_pack(Side::left, rows.rows, rows.columns);
  to.left = left.get();
  kernels::pack_and_multiply_bf16(rows, to, right, c, right.columns, start);
}

/// x and up, contiguous.
class RoundedOperands {
 public:
  RoundedOperands(const RoundedForm& form, const Tensor& x, const Tensor& up)
      : form_(form),
        is_result_(x.impl()->node && !x.impl()->node->is_leaf()),
        x_(raw::contiguous(x)),
        up_(raw::contiguous(up)) {}

  /// out = start + values @ right. Returns the values as a right operand if an activation's weight learns.
  Packed multiply(bool learns, const PackedBf16& right, Tensor& out, const ProductStart& start) const {
    float* const y = out.mutable_data<float>();
    if (!form_.is_activation) {
      multiply_bf16(*pack_plain(Side::left), right, y, right.columns, start);
      return nullptr;
    }
    const int64_t columns = x_.size(-1), rows = x_.numel() / columns;
    const auto values = learns ? memory_to_pack(Side::right, rows, columns) : nullptr;
    pack_and_multiply(
        kernels::values_of({form_.value, x_.data<float>(), raw::data_or_null<float>(up_)}, rows, columns),
        {.right = values.get()}, right, y, start);
    return values;
  }

  Packed pack_plain(Side side) const {
    const Matrices x(fold(x_.detach()));
    return is_result_ ? packed_for_all(side, x) : packed(side, x);
  }

  /// Replaces all[0], the gradient of the values, by those of x and up.
  void gradients(std::vector<Tensor>& all) const {
    float* const g = all[0].mutable_data<float>();
    if (up_.defined())
      kernels::swiglu_grad(x_.numel(), g, all[1].mutable_data<float>(), g, x_.data<float>(),
                           up_.data<float>());
    else
      kernels::binary(form_.slope, raw::loop_over<3>(x_.shape(), {&all[0], &all[0], &x_}), g, g,
                      x_.data<float>());
  }

 private:
  const RoundedForm& form_;
  bool is_result_;
  Tensor x_, up_;
};

/// All gradients, in the order of the inputs: x, up if there is one, weight, bias.
class RoundedRule {
 public:
  RoundedRule(const RoundedForm& form, const Tensor& x, const Tensor& up, const Tensor& weight, Packed values)
      : form_(form),
        before_(up.defined() ? 2 : 1),
        x_(x),
        up_(up),
        weight_(weight),
        values_(std::move(values)) {}

  Gradients operator()(const Tensor& gy, Needs needs, const Sums& sums) const {
    const Autocast autocast(DType::bfloat16);
    if (grad_enabled()) return by_public_ops(gy);
    const Tensor rows = fold(raw::contiguous(gy));
    const int64_t m = rows.size(0), n = rows.size(1);
    const auto transposed = needs[before_] ? memory_to_pack(Side::left, n, m) : nullptr;
    Tensor gbias = needs[before_ + 1] ? empty({n}, DType::float32) : Tensor();
    const RowSource from{.rows = m, .columns = n, .x = rows.data<float>(), .ldx = n};
    const PackedRows to{.transposed = transposed.get(), .sums = raw::data_or_null<float>(gbias)};
    Gradients all(before_);
    if (needs[0] || needs[before_ - 1])
      all = of_inputs(from, to, gy.shape(), sums);
    else
      kernels::pack_rows(from, to);
    all.push_back(transposed ? of_weight(*transposed) : Tensor());
    all.push_back(gbias);
    return all;
  }

 private:
  Gradients by_public_ops(const Tensor& gy) const {
    Gradients all = form_.rule(matmul(gy, weight_), x_, up_);
    all.push_back(matmul(fold(gy).mT(), fold(form_.values(x_, up_))));
    all.push_back(gy);
    return all;
  }

  /// Packs the rows of gy too.
  Gradients of_inputs(const RowSource& gy, const PackedRows& to, Shape shape, const Sums& sums) const {
    const Tensor w = raw::contiguous(weight_);
    shape[shape.size() - 1] = w.size(1);
    const Tensor sum = form_.is_activation ? Tensor() : sums.take(0);
    Gradients all{raw::memory_for_sum(sum, shape, DType::float32)};
    while (all.size() < before_) all.push_back(empty(shape, DType::float32));
    pack_and_multiply(gy, to, *packed(Side::right, Matrices(w)), all[0].mutable_data<float>(),
                      {.from = raw::data_or_null<float>(sum)});
    if (form_.is_activation) RoundedOperands(form_, x_, up_).gradients(all);
    return all;
  }

  Tensor of_weight(const PackedBf16& transposed) const {
    const Packed right = values_ ? values_ : RoundedOperands(form_, x_, up_).pack_plain(Side::right);
    Tensor gweight = empty({transposed.rows, right->columns}, DType::float32);
    multiply_bf16(transposed, *right, gweight.mutable_data<float>(), right->columns);
    return gweight;
  }

  const RoundedForm& form_;
  size_t before_;  // inputs before the weight
  Saved x_, up_, weight_;
  Packed values_;  // of an activation, as a right operand
};

Tensor rounded(const RoundedForm& form, const Tensor& x, const Tensor& up, const Tensor& weight,
               const Tensor& bias) {
  const Tensor w = raw::contiguous(weight), b = raw::contiguous(bias);
  Tensor out = empty(resized(x.shape(), x.dim() - 1, weight.size(0)), DType::float32);
  const Packed values =
      RoundedOperands(form, x, up)
          .multiply(grad_enabled() && weight.requires_grad(), *packed(Side::right, Matrices(w).transposed()),
                    out, {.bias = raw::data_or_null<float>(b)});
  std::vector<Tensor> inputs{x};
  if (up.defined()) inputs.push_back(up);
  inputs.insert(inputs.end(), {weight, bias});
  autograd::trace_attributes(form.value == Unary::gelu_tanh, up.defined());
  return mark_rounded(record(form.op, std::move(out), inputs, RoundedRule(form, x, up, weight, values)));
}

}  // namespace

Tensor rounded_linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  return rounded(kPlain, x, {}, weight, bias);
}

Tensor rounded_gelu_linear(const Tensor& x, const Tensor& weight, const Tensor& bias, Gelu approximate) {
  return rounded(approximate == Gelu::tanh ? kGeluTanh : kGelu, x, {}, weight, bias);
}

Tensor rounded_swiglu_linear(const Tensor& gate, const Tensor& up, const Tensor& weight, const Tensor& bias) {
  return rounded(kSwiglu, gate, up, weight, bias);
}

}  // namespace gradus
