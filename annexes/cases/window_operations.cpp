#include <algorithm>

#include "gradus/annexes/cases/binding.hpp"
#include "gradus/annexes/cases/signature.hpp"
#include "gradus/annexes/layers/ops/windows.hpp"

namespace gradus::cases {
namespace {

using autograd::Padding;
using autograd::PerDim;

/// The largest number of an option that is a size, else 0.
template <class T>
double largest(const T& option) {
  if constexpr (std::is_base_of_v<PerDim, T>)
    if (const Shape& v = option.values; !v.empty())
      return static_cast<double>(*std::max_element(v.begin(), v.end()));
  return 0;
}

/// Throws Error if x has too many windows, each of `results` numbers of that kernel; the largest of the
/// options counts as padding.
template <class... Option>
void check_windows(const Tensor& x, double results, const PerDim& kernel, const Option&... options) {
  double elements = results * std::max(1.0, largest(kernel) * largest(kernel));
  for (int d = 0; d < x.dim(); ++d)
    elements *=
        static_cast<double>(x.size(d)) + (d > x.dim() - 3 ? 2 * std::max({0.0, largest(options)...}) : 0);
  check_elements(elements);
}

template <class Options, Tensor (*f)(const Tensor&, const PerDim&, const Options&), class... Option>
Tensor windowed(const Tensor& x, const PerDim& kernel, const Option&... options) {
  check_windows(x, 1, kernel, options...);
  return f(x, kernel, {options...});
}

Tensor fold(const Tensor& x, const PerDim& size, const PerDim& kernel, const PerDim& dilation,
            const PerDim& padding, const PerDim& stride) {
  check_windows(x, 1, size);
  return gradus::fold(x, size, kernel, {dilation, padding, stride});
}

template <Tensor (*f)(const Tensor&, const Tensor&, const Tensor&, const ConvOptions&)>
Tensor convolution(const Tensor& x, const Tensor& weight, const Tensor& bias, const PerDim& stride,
                   const Padding& padding, const PerDim& dilation, int64_t groups) {
  const int64_t channels = weight.dim() > 1 ? std::max<int64_t>(weight.size(1), 1) : 1;
  check_windows(x, static_cast<double>(weight.numel() / channels), 1, padding);
  return f(x, weight, bias, {stride, padding, dilation, groups});
}

template <ValuesAndIndices (*f)(const Tensor&, const PerDim&, const MaxPoolOptions&)>
Tensors max_pool(const Tensor& x, const PerDim& kernel, const PerDim& stride, const PerDim& padding,
                 const PerDim& dilation, bool ceil_mode, bool return_indices) {
  check_windows(x, 1, kernel, padding);
  const auto [values, indices] = f(x, kernel, {stride, padding, dilation, ceil_mode});
  return return_indices ? Tensors{values, indices} : Tensors{values};
}

Tensor batch_norm(const Tensor& x, const Tensor& mean, const Tensor& var, const Tensor& weight,
                  const Tensor& bias, bool training, double momentum, double eps) {
  const auto scratch = [training](const Tensor& running) {
    return training && running.defined() ? running.detach() + 0.0 : running;
  };
  return gradus::batch_norm(x, scratch(mean), scratch(var), weight, bias, training, momentum, eps);
}

}  // namespace

std::vector<Operation> window_operations() {
  const std::string blocks = "size kernel_size, size dilation=1, size padding=0, size stride=1)";
  const std::string conv =
      "(Tensor x, Tensor weight, Tensor? bias, size stride=1, padding padding=0, size dilation=1, int "
      "groups=1)";
  const std::string pool = "(Tensor x, size kernel_size, size? stride, size padding=0, ";
  const std::string max = pool + "size dilation=1, bool ceil_mode=False, bool return_indices=False)";
  const std::string avg = pool + "bool ceil_mode=False, bool count_include_pad=True";
  return {
      operation("unfold(Tensor x, " + blocks,
                windowed<UnfoldOptions, gradus::unfold, PerDim, PerDim, PerDim>),
      operation("fold(Tensor x, size output_size, " + blocks, fold),
      operation("conv1d" + conv, convolution<conv1d>),
      operation("conv2d" + conv, convolution<conv2d>),
      operation("max_pool1d" + max, max_pool<max_pool1d_with_indices>),
      operation("max_pool2d" + max, max_pool<max_pool2d_with_indices>),
      operation("avg_pool1d" + avg + ")", windowed<AvgPoolOptions, avg_pool1d, PerDim, PerDim, bool, bool>),
      operation("avg_pool2d" + avg + ", int? divisor_override)",
                windowed<AvgPoolOptions, avg_pool2d, PerDim, PerDim, bool, bool, std::optional<int64_t>>),
      operation(
          "batch_norm(Tensor x, Tensor? running_mean, Tensor? running_var, Tensor? weight, Tensor? bias, "
          "bool training=False, float momentum=0.1, float eps=1e-5)",
          batch_norm),
      operation("group_norm(Tensor x, int num_groups, Tensor? weight, Tensor? bias, float eps=1e-5)",
                group_norm),
  };
}

}  // namespace gradus::cases
