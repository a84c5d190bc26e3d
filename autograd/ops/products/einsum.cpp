// Einstein's notation. Operands are multiplied from left to right, in batched matrix products.
#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>
#include <string>

#include "gradus/autograd/ops/arguments.hpp"

namespace gradus {
namespace {

// A tensor with a name for each dimension: a letter, or a digit for a dimension of "...".
struct Named {
  Tensor x;
  std::string names;

  int64_t size(size_t d) const { return x.shape()[static_cast<int>(d)]; }
};

using Sizes = std::map<char, int64_t>;  // by name

bool has(std::string_view names, char c) { return names.find(c) != std::string_view::npos; }
bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

// The names of a term whose "..." stands for that many dimensions, which are aligned at the last.
std::string parse(std::string_view term, int64_t dots) {
  std::string names(term);
  std::erase(names, ' ');
  const size_t at = names.find("...");
  if (at != std::string::npos) names.erase(at, 3);
  if (!std::all_of(names.begin(), names.end(), is_letter))
    fail("einsum", "a term must be of letters and at most one '...', got '", term, "'.");
  if (at == std::string::npos) return names;
  return names.insert(at, std::string_view("01234567").substr(static_cast<size_t>(kMaxDims - dots)));
}

// x, where dimensions of one name are one, the diagonal.
Named named(std::string_view term, Tensor x) {
  const int64_t letters = std::count_if(term.begin(), term.end(), is_letter);
  std::string names = parse(term, std::max<int64_t>(x.dim() - letters, 0));
  if (std::ssize(names) != x.dim())
    fail("einsum", "the term '", term, "' must name each dimension, got shape ", x.shape(), ".");
  for (int i = 0; i < x.dim(); ++i) {
    const size_t place = static_cast<size_t>(i);
    for (size_t j = 0; (j = names.find(names[place], place + 1)) != std::string::npos; names.erase(j, 1)) {
      const int64_t n = x.size(i);
      if (x.size(static_cast<int64_t>(j)) != n)
        fail("einsum", "dimensions '", names[place], "' of an operand must be equal, got shape ", x.shape(),
             ".");
      Shape square(std::vector<int64_t>(names.size(), 1));
      square[i] = square[static_cast<int>(j)] = n;
      const Tensor diagonal = eye(n).to(DType::boolean).reshape(square);
      x = sum(where(diagonal, x, number(x, 0.0)), {static_cast<int64_t>(j)});
    }
  }
  return {x, names};
}

Named summed_to(const std::string& kept, const Named& of) {
  Dims dims;
  std::string names;
  for (size_t d = 0; d < of.names.size(); ++d)
    has(kept, of.names[d]) ? void(names += of.names[d]) : dims.push_back(static_cast<int64_t>(d));
  return {dims.empty() ? of.x : sum(of.x, dims), names};
}

Tensor ordered(const Named& of, std::string_view names) {
  Dims order;
  for (const char c : names) order.push_back(static_cast<int64_t>(of.names.find(c)));
  return of.x.permute(order);
}

// a * b, summed over the names that are not in `kept`.
Named product(const Named& left, const Named& right, const std::string& kept, const Sizes& sizes) {
  const Named a = summed_to(kept + right.names, left), b = summed_to(kept + left.names, right);
  std::string batch, rows, inner, columns;
  for (const char c : a.names) (!has(b.names, c) ? rows : has(kept, c) ? batch : inner) += c;
  std::copy_if(b.names.begin(), b.names.end(), std::back_inserter(columns),
               [&](char c) { return !has(a.names, c); });
  const auto size_of = [&](const std::string& names) {
    int64_t n = 1;
    for (const char c : names) n *= sizes.at(c);
    return n;
  };
  const Tensor x = ordered(a, batch + rows + inner).reshape({size_of(batch), size_of(rows), size_of(inner)});
  const Tensor y =
      ordered(b, batch + inner + columns).reshape({size_of(batch), size_of(inner), size_of(columns)});
  Shape shape;
  for (const char c : batch + rows + columns) shape.push_back(sizes.at(c));
  return {(inner.empty() ? x * y : matmul(x, y)).reshape(shape), batch + rows + columns};
}

// The names of the result: those given, or those of "..." and the letters that occur once.
std::string result_names(std::string_view equation, const Sizes& sizes) {
  std::string names;
  const size_t arrow = equation.find("->");
  if (arrow == std::string_view::npos) {
    for (const auto& [c, n] : sizes)
      if (!is_letter(c) || std::count(equation.begin(), equation.end(), c) == 1) names += c;
    return names;
  }
  const auto is_dot = [](const auto& entry) { return !is_letter(entry.first); };
  names = parse(equation.substr(arrow + 2), std::count_if(sizes.begin(), sizes.end(), is_dot));
  for (const char c : names)
    if (!sizes.contains(c) || std::count(names.begin(), names.end(), c) > 1)
      fail("einsum", "the result must have letters of the operands, each once, got '", c, "' in '", equation,
           "'.");
  return names;
}

}  // namespace

Tensor einsum(std::string_view equation, const std::vector<Tensor>& operands) {
  if (operands.empty()) fail("einsum", "needs at least one operand.");
  std::string_view terms = equation.substr(0, equation.find("->"));
  if (std::count(terms.begin(), terms.end(), ',') + 1 != std::ssize(operands))
    fail("einsum", "needs a term for each operand, got '", terms, "' and ", operands.size(), " operands.");
  std::vector<Named> factors;
  Sizes sizes;
  for (const Tensor& x : operands) {
    check_same_dtype("einsum", operands.front(), x);
    const size_t end = std::min(terms.find(','), terms.size());
    const Named& factor = factors.emplace_back(named(terms.substr(0, end), x));
    terms.remove_prefix(std::min(end + 1, terms.size()));
    for (size_t d = 0; d < factor.names.size(); ++d) {
      int64_t& size = sizes.try_emplace(factor.names[d], 1).first->second;
      if (size != 1 && factor.size(d) != 1 && size != factor.size(d))
        fail("einsum", "dimensions '", factor.names[d], "' must be equal or 1, got ", size, " and ",
             factor.size(d), ".");
      if (size == 1) size = factor.size(d);
    }
  }
  const std::string wanted = result_names(equation, sizes);
  for (Named& factor : factors)  // A size of 1 that another operand has in full says nothing.
    for (size_t d = factor.names.size(); d-- > 0;)
      if (factor.size(d) != sizes.at(factor.names[d])) {
        factor.x = factor.x.select(static_cast<int64_t>(d), 0);
        factor.names.erase(d, 1);
      }
  Named out = factors.front();
  for (size_t i = 1; i < factors.size(); ++i) {
    std::string kept = wanted;
    for (size_t later = i + 1; later < factors.size(); ++later) kept += factors[later].names;
    out = product(out, factors[i], kept, sizes);
  }
  return ordered(summed_to(wanted, out), wanted);
}

}  // namespace gradus
