#include "gradus/tools/replay/operations.hpp"

#include <algorithm>
#include <cmath>

#include "gradus/autograd/error.hpp"
#include "gradus/autograd/ops.hpp"
#include "gradus/nn/embedding.hpp"
#include "gradus/nn/linear.hpp"

namespace gradus::tools::detail {
namespace {

using Results = std::vector<Tensor>;

constexpr int64_t kMaxDiscard = int64_t{1} << 32;  // words: half a minute

void check_elements(double count) {
  if (count > static_cast<double>(kMaxElements))
    fail("replay", "a result must have at most ", kMaxElements, " elements, got ", count, ".");
}

void check_elements(const Shape& shape) {
  double count = 1;
  for (const int64_t size : shape) count *= static_cast<double>(size);
  check_elements(count);
}

int64_t count(const Call& call, std::string_view name, int64_t least = 0) {
  const int64_t n = call.arguments.integer(name);
  if (n < least) fail("replay", name, " must be at least ", least, ", got ", n, ".");
  check_elements(static_cast<double>(n));
  return n;
}

// -- random numbers

Results manual_seed(const Call& c) {
  c.stream = Generator::torch(c.arguments.integer("seed"));
  return {};
}

Results discard(const Call& c) {
  const int64_t n = c.arguments.integer("n");
  if (n < 0 || n > kMaxDiscard) fail("replay", "n must be from 0 to ", kMaxDiscard, ", got ", n, ".");
  c.generator().discard(n);
  return {};
}

Results raw32(const Call& c) {
  Tensor out = empty({count(c, "n")}, DType::int64);
  std::generate_n(out.mutable_data<int64_t>(), out.numel(), [&] { return c.generator().next(); });
  return {out};
}

Results rand(const Call& c) {
  return {gradus::rand(c.arguments.shape(), c.generator(), c.arguments.dtype())};
}

Results uniform(const Call& c) {
  return {gradus::uniform(c.arguments.shape(), c.arguments.number("lo"), c.arguments.number("hi"),
                          c.generator(), c.arguments.dtype())};
}

Results randn(const Call& c) {
  return {gradus::randn(c.arguments.shape(), c.generator(), c.arguments.dtype())};
}

Results normal(const Call& c) {
  return {gradus::normal(c.arguments.shape(), c.arguments.number("mean"), c.arguments.number("std"),
                         c.generator(), c.arguments.dtype())};
}

Results randint(const Call& c) {
  return {gradus::randint(c.arguments.integer("low"), c.arguments.integer("high"), c.arguments.shape(),
                          c.generator())};
}

Results randperm(const Call& c) { return {gradus::randperm(count(c, "n"), c.generator())}; }

Results multinomial(const Call& c) {
  const int64_t samples = count(c, "num_samples", 1);
  if (c.x().dim() > 0) {
    Shape drawn = c.x().shape();
    drawn[drawn.size() - 1] = samples;
    check_elements(drawn);
  }
  return {gradus::multinomial(c.x(), samples, c.generator(), c.arguments.get("replacement", false))};
}

Results bernoulli(const Call& c) { return {gradus::bernoulli(c.x(), c.generator())}; }

Results linear_init(const Call& c) {
  const int64_t in = count(c, "in_features", 1), out = count(c, "out_features", 1);
  check_elements(Shape{out, in});
  const nn::Linear layer(in, out, c.arguments.get("bias", true), c.generator());
  return layer.bias.defined() ? Results{layer.weight, layer.bias} : Results{layer.weight};
}

Results embedding_init(const Call& c) {
  const int64_t num = count(c, "num", 1), dim = count(c, "dim", 1);
  check_elements(Shape{num, dim});
  return {nn::Embedding(num, dim, c.generator()).weight};
}

Results dropout(const Call& c) {
  const double p = c.arguments.number("p");
  if (!(p >= 0 && p <= 1)) fail("replay", "p must be in [0, 1], got ", p, ".");
  if (p == 0 || !c.arguments.get("train", true)) return {c.x()};
  const bool mkl = c.arguments.get<std::string>("rng", "default") == "mkl";
  c.generator().as_torch()->set_masks(mkl ? TorchStream::Masks::mkl : TorchStream::Masks::portable);
  return {gradus::dropout(c.x(), p, c.generator())};
}

// -- products and views

Results linear(const Call& c) {
  if (c.x().dim() > 0 && c.in[1].dim() == 2 && c.in[1].size(1) > 0)
    check_elements(static_cast<double>(c.x().numel()) / static_cast<double>(c.in[1].size(1)) *
                   static_cast<double>(c.in[1].size(0)));
  return c.run("linear", {"x", "weight", "bias"});
}

Results matmul(const Call& c) {
  const Tensor &a = c.x(), &b = c.in[1];
  if (a.dim() > 1 && b.dim() > 1) {
    Shape rows = a.shape(), columns = b.shape();
    rows[rows.size() - 1] = 1;
    columns[columns.size() - 2] = 1;
    check_elements(broadcast_shapes("matmul", rows, columns));
  }
  return c.run("matmul", {"x", "other"});
}

Results transpose(const Call& c) { return c.run("transpose", {"x"}); }

Results view(const Call& c) { return c.run("reshape", {"x"}); }

Results stack(const Call& c) {
  check_elements(static_cast<double>(c.in.size()) * static_cast<double>(c.x().numel()));
  Inputs tensors;
  for (const Tensor& x : c.in) tensors.emplace_back(concat("tensors.", tensors.size()), x);
  ArgumentsByName arguments = c.arguments.by_name();
  arguments["count"] = static_cast<int64_t>(c.in.size());
  return run_operation("stack", tensors, arguments);
}

Results select(const Call& c) { return c.run("select", {"x"}); }

// -- masks

Results ones(const Call& c) { return {gradus::ones(c.arguments.shape(), c.arguments.dtype())}; }

// One so far out that no matrix has it is as good as any other.
Results triangle(std::string_view op, const Call& c) {
  ArgumentsByName arguments = c.arguments.by_name();
  arguments["diagonal"] = std::clamp(c.arguments.get<int64_t>("diagonal", 0), -kMaxElements, kMaxElements);
  return run_operation(op, {{"x", c.x()}}, arguments);
}

Results tril(const Call& c) { return triangle("tril", c); }

Results triu(const Call& c) { return triangle("triu", c); }

Results eq(const Call& c) {
  const Tensor x = is_floating(c.x().dtype()) ? c.x() : c.x().to(DType::float64);  // 1 is not 1.5
  return {gradus::eq(x, c.arguments.number("value"))};
}

Tensor non_zero(const Tensor& x) { return x.dtype() == DType::boolean ? x : ne(x, 0.0); }

Results to_bool(const Call& c) { return {non_zero(c.x())}; }

Results masked_fill(const Call& c) {
  const Tensor mask = non_zero(c.in[1]);
  const double value = c.arguments.number("value");
  if (is_floating(c.x().dtype()))
    return run_operation("masked_fill", {{"x", c.x()}, {"mask", mask}}, c.arguments.by_name());
  if (value != std::trunc(value) || std::abs(value) >= 0x1p63)
    fail("replay", "value must be a whole number for ", name(c.x().dtype()), " elements, got ", value, ".");
  return {where(mask, full({}, value, c.x().dtype()), c.x())};
}

// -- arithmetic

// PyTorch's common type of two operands: the wider float, or the float. Of two floats one with dimensions
// counts more than a scalar.
DType common(const Tensor& x, const Tensor& y) {
  const DType a = x.dtype(), b = y.dtype();
  if (is_floating(a) && is_floating(b) && (x.dim() == 0) != (y.dim() == 0)) return x.dim() == 0 ? b : a;
  if (a == DType::float64 || b == DType::float64) return DType::float64;
  if (a == DType::float32 || b == DType::float32) return DType::float32;
  return a == DType::int64 || b == DType::int64 ? DType::int64 : DType::boolean;
}

Results elementwise(std::string_view op, const Call& c, DType dtype) {
  check_elements(broadcast_shapes(op, c.x().shape(), c.in[1].shape()));
  return run_operation(op, {{"x", c.x().to(dtype)}, {"other", c.in[1].to(dtype)}}, {});
}

Results mul(const Call& c) { return elementwise("mul", c, common(c.x(), c.in[1])); }

Results div(const Call& c) {
  const DType dtype = common(c.x(), c.in[1]);
  return elementwise("div", c, is_floating(dtype) ? dtype : DType::float32);
}

Results sum(const Call& c) { return c.run("sum", {"x"}); }

Results softmax(const Call& c) { return c.run("softmax", {"x"}); }

Results div_sqrt(const Call& c) {
  const double n = c.arguments.number("n");
  if (!(n > 0 && std::isfinite(n))) fail("replay", "n must be a finite number above 0, got ", n, ".");
  return {c.x() / static_cast<double>(static_cast<float>(std::sqrt(n)))};
}

constexpr bool kDraws = true, kOptional = false;
const Parameter kShape{"shape", Kind::shape}, kDType{"dtype", Kind::dtype, kOptional};

}  // namespace

ArgumentsByName Arguments::by_name() const {
  ArgumentsByName all;
  for (const auto& [name, value] : values_) {
    const auto add = [&, &name = name]<class T>(const T& of_kind) {
      if constexpr (!std::is_same_v<T, DType>) all[name] = of_kind;  // No op takes one from here.
    };
    std::visit(add, value);
  }
  return all;
}

std::vector<Tensor> Call::run(std::string_view op, std::initializer_list<std::string_view> inputs) const {
  Inputs named;
  for (size_t i = 0; i < std::min(in.size(), inputs.size()); ++i)
    named.emplace_back(inputs.begin()[i], in[i]);
  return run_operation(op, named, arguments.by_name());
}

Generator& Call::generator() const {
  if (!stream)
    fail("replay", "draws random numbers, which needs a seed before, got none. Hint: give the case a ",
         "manual_seed.");
  return *stream;
}

const std::vector<Operation>& operations() {
  static const std::vector<Operation> all{
      {"manual_seed", 0, 0, {{"seed", Kind::seed}}, false, manual_seed},
      {"discard", 0, 0, {{"n", Kind::integer}}, false, discard},
      {"raw32", 0, 0, {{"n", Kind::integer}}, kDraws, raw32},
      {"rand", 0, 0, {kShape, kDType}, kDraws, rand},
      {"uniform", 0, 0, {kShape, {"lo", Kind::number}, {"hi", Kind::number}, kDType}, kDraws, uniform},
      {"randn", 0, 0, {kShape, kDType}, kDraws, randn},
      {"normal", 0, 0, {kShape, {"mean", Kind::number}, {"std", Kind::number}, kDType}, kDraws, normal},
      {"randint", 0, 0, {{"low", Kind::integer}, {"high", Kind::integer}, kShape}, kDraws, randint},
      {"randperm", 0, 0, {{"n", Kind::integer}}, kDraws, randperm},
      {"multinomial",
       1,
       1,
       {{"num_samples", Kind::integer}, {"replacement", Kind::flag, kOptional}},
       kDraws,
       multinomial},
      {"bernoulli", 1, 1, {}, kDraws, bernoulli},
      {"linear_init",
       0,
       0,
       {{"in_features", Kind::integer}, {"out_features", Kind::integer}, {"bias", Kind::flag, kOptional}},
       kDraws,
       linear_init},
      {"embedding_init", 0, 0, {{"num", Kind::integer}, {"dim", Kind::integer}}, kDraws, embedding_init},
      {"dropout",
       1,
       1,
       {{"p", Kind::number}, {"rng", Kind::stream, kOptional}, {"train", Kind::flag, kOptional}},
       kDraws,
       dropout},
      {"linear", 2, 3, {}, false, linear},
      {"matmul", 2, 2, {}, false, matmul},
      {"transpose", 1, 1, {{"dim0", Kind::integer}, {"dim1", Kind::integer}}, false, transpose},
      {"view", 1, 1, {{"shape", Kind::view}}, false, view},
      {"stack", 1, kAnyNumber, {{"dim", Kind::integer, kOptional}}, false, stack},
      {"select", 1, 1, {{"dim", Kind::integer}, {"index", Kind::integer}}, false, select},
      {"ones", 0, 0, {kShape, kDType}, false, ones},
      {"tril", 1, 1, {{"diagonal", Kind::integer, kOptional}}, false, tril},
      {"triu", 1, 1, {{"diagonal", Kind::integer, kOptional}}, false, triu},
      {"eq", 1, 1, {{"value", Kind::number}}, false, eq},
      {"to_bool", 1, 1, {}, false, to_bool},
      {"mul", 2, 2, {}, false, mul},
      {"div", 2, 2, {}, false, div},
      {"sum", 1, 1, {{"dim", Kind::dims, kOptional}, {"keepdim", Kind::flag, kOptional}}, false, sum},
      {"softmax", 1, 1, {{"dim", Kind::integer}}, false, softmax},
      {"div_sqrt", 1, 1, {{"n", Kind::number}}, false, div_sqrt},
      {"masked_fill", 2, 2, {{"value", Kind::number}}, false, masked_fill},
  };
  return all;
}

const Operation* find_operation(std::string_view name) {
  const auto& all = operations();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Operation& o) { return o.name == name; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace gradus::tools::detail
