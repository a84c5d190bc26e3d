#include "gradus/autograd/gradcheck/cause.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

namespace gradus::gradchecking {
namespace {

// Far above the error of differences, far below the effect of a usual mistake.
constexpr double kClose = 1e-5;

double norm(const Numbers& a) { return std::sqrt(dot(a, a)); }

Numbers scaled(Numbers a, double factor) {
  for (double& e : a) e *= factor;
  return a;
}

bool close(const Numbers& a, const Numbers& b) {
  if (a.size() != b.size()) return false;
  Numbers apart = a;
  for (size_t j = 0; j < a.size(); ++j) apart[j] -= b[j];
  return norm(apart) <= kClose * std::max(norm(a), norm(b));
}

// c if a is c times b.
std::optional<double> factor(const Numbers& a, const Numbers& b) {
  const double square = dot(b, b);
  if (square == 0) return std::nullopt;
  const double c = dot(a, b) / square;
  return close(a, scaled(b, c)) ? std::optional(c) : std::nullopt;
}

// 0.333333 as "1/3", 2.0 as "2", else six digits.
std::string ratio(double c) {
  const auto whole = [](double x) {
    return std::abs(x) < 1e6 && std::abs(x - std::round(x)) < kClose * std::abs(x);
  };
  if (whole(c)) return concat(std::round(c));
  if (whole(1 / c)) return concat("1/", std::round(1 / c));
  return concat(c);
}

// The elements of b in the order of its transposed last two dimensions.
Numbers transposed(const Numbers& b, const Shape& shape) {
  const int64_t rows = shape[shape.size() - 2], cols = shape.back(), plane = rows * cols;
  Numbers result(b.size());
  for (int64_t at = 0; at < static_cast<int64_t>(b.size()); at += plane)
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < cols; ++j)
        result[static_cast<size_t>(at + j * rows + i)] = b[static_cast<size_t>(at + i * cols + j)];
  return result;
}

// The cotangent, cleared except for slice `index` along `dim` of the first result.
Numbers only_slice(Numbers cotangent, const Shape& shape, int dim, int64_t index) {
  for (int64_t flat = 0; flat < static_cast<int64_t>(cotangent.size()); ++flat)
    if (flat >= shape.numel() || shape.index_of(flat)[dim] != index) cotangent[static_cast<size_t>(flat)] = 0;
  return cotangent;
}

std::string missing_sum(const Evidence& e, const Numbers& wrong) {
  if (e.outputs.size() != 1) return "";
  const Shape& shape = e.outputs[0];
  for (int dim = 0; dim < shape.size(); ++dim) {
    if (shape[dim] < 2) continue;
    for (const int64_t index : {int64_t{0}, shape[dim] - 1})
      if (close(wrong, e.numeric(only_slice(e.cotangent, shape, dim, index))))
        return concat("only index ", index, " along dim ", dim,
                      " of the result counts: a sum over that dim is missing, or values are assigned where "
                      "they should add up");
  }
  return "";
}

std::string elsewhere_right(const Numbers& wrong, const Numbers& right) {
  size_t good = 0;
  const double size = norm(right) / std::sqrt(static_cast<double>(right.size()));
  for (size_t j = 0; j < right.size(); ++j)
    good += std::abs(wrong[j] - right[j]) <= kClose * std::max(std::abs(right[j]), size) ? 1 : 0;
  if (2 * good < right.size()) return "";
  return concat("right at ", good, " of ", right.size(),
                " elements: a bound, a mask, a repeated index or a boundary is treated wrongly");
}

}  // namespace

std::string likely_cause(const Evidence& e) {
  const Numbers wrong = e.analytic(e.cotangent), right = e.numeric(e.cotangent);
  if (wrong.size() != right.size() || right.empty()) return "";
  const auto finite = [](double x) { return std::isfinite(x); };
  if (!std::all_of(right.begin(), right.end(), finite))
    return "the function itself is not finite or not smooth here";
  if (!std::all_of(wrong.begin(), wrong.end(), finite))
    return "the gradient has NaN or infinities: 0 / 0, 0 * inf, or a root or logarithm of 0";
  if (norm(wrong) == 0) return "the gradient is 0: an input was detached, or the rule gives zeros";

  const Numbers doubled = e.analytic(scaled(e.cotangent, 2));
  if (close(doubled, wrong))
    return "the gradient does not depend on the upstream gradient: the rule ignores gy";
  if (close(doubled, scaled(wrong, 4)))
    return "twice the upstream gradient gives four times as much: the rule uses gy twice";

  if (close(wrong, right)) return "";
  if (const auto c = factor(wrong, right)) {
    if (std::abs(*c + 1) < kClose) return "the gradient is -1 times the right one: a wrong sign";
    return concat("the gradient is ", ratio(*c), " times the right one: a wrong factor or divisor");
  }
  if (e.input.size() >= 2 && close(wrong, transposed(right, e.input)))
    return "the gradient is transposed: the order of a product or of two dims is wrong";
  Numbers a = wrong, b = right;
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  if (close(a, b)) return "the right numbers in a wrong order: an axis, a reshape or an index is wrong";
  if (std::string sum = missing_sum(e, wrong); !sum.empty()) return sum;
  Numbers apart = wrong;
  for (size_t j = 0; j < apart.size(); ++j) apart[j] -= right[j];
  const Numbers constant(
      apart.size(), std::accumulate(apart.begin(), apart.end(), 0.0) / static_cast<double>(apart.size()));
  if (apart.size() > 1 && close(apart, constant))
    return "off by the same number everywhere: a term that sums over elements is missing";
  if (std::string most = elsewhere_right(wrong, right); !most.empty()) return most;
  return "a term is missing or wrong";
}

}  // namespace gradus::gradchecking
