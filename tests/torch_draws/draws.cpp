// What compare.py sets beside PyTorch: reads draws from the standard input, one a line, and prints each one's
// values as bits in hexadecimal on a line. Each draw goes on where the one before stopped.
//
//   seed S                        starts anew; prints an empty line
//   rand|exponential T N          T: f32, f64
//   uniform|normal T N A B        low and high, mean and standard deviation
//   randint LOW HIGH N
//   randperm N
//   bernoulli T N                 the probabilities are drawn by rand before; so are all weights and inputs
//   below multinomial T ROWS N K REPLACE dropout T N P linear IN OUT                 weight, then bias
//   embedding N DIM
//   kaiming|xavier T OUT IN
#include <bit>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <string>

#include "gradus/autograd/ops/ops.hpp"
#include "gradus/autograd/random/random.hpp"
#include "gradus/nn/init.hpp"
#include "gradus/nn/layers.hpp"

using namespace gradus;

namespace {

void print(const Tensor& t) {
  std::cout << std::hex;
  if (t.dtype() == DType::float32)
    for (const float x : t.detach().to_vector<float>()) std::cout << std::bit_cast<uint32_t>(x) << ' ';
  else if (t.dtype() == DType::float64)
    for (const double x : t.to_vector<double>()) std::cout << std::bit_cast<uint64_t>(x) << ' ';
  else
    for (const int64_t x : t.to_vector<int64_t>()) std::cout << static_cast<uint64_t>(x) << ' ';
}

class Arguments {
 public:
  explicit Arguments(const std::string& line) : text_(line) {}

  template <class T>
  T next() {
    T value{};
    if (!(text_ >> value)) fail("torch_draws", "cannot read '", text_.str(), "'.");
    return value;
  }
  int64_t size() { return next<int64_t>(); }
  double real() { return next<double>(); }
  DType dtype() { return next<std::string>() == "f64" ? DType::float64 : DType::float32; }

 private:
  std::istringstream text_;
};

using Draw = std::function<void(Arguments& a, Generator& g)>;

Draw initialise(void (*init)(Tensor&, Generator&)) {
  return [init](Arguments& a, Generator& g) {
    const DType dtype = a.dtype();
    const int64_t out = a.size(), in = a.size();
    Tensor x = empty({out, in}, dtype);
    init(x, g);
    print(x);
  };
}

const std::map<std::string, Draw> kDraws = {
    {"seed", [](Arguments& a, Generator& g) { g = Generator::torch(a.size()); }},
    {"rand",
     [](Arguments& a, Generator& g) {
       const DType dtype = a.dtype();
       print(rand({a.size()}, g, dtype));
     }},
    {"exponential",
     [](Arguments& a, Generator& g) {
       const DType dtype = a.dtype();
       print(exponential({a.size()}, g, dtype));
     }},
    {"uniform",
     [](Arguments& a, Generator& g) {
       const DType dtype = a.dtype();
       const int64_t n = a.size();
       const double low = a.real(), high = a.real();
       print(uniform({n}, low, high, g, dtype));
     }},
    {"normal",
     [](Arguments& a, Generator& g) {
       const DType dtype = a.dtype();
       const int64_t n = a.size();
       const double mean = a.real(), std = a.real();
       print(normal({n}, mean, std, g, dtype));
     }},
    {"randint",
     [](Arguments& a, Generator& g) {
       const int64_t low = a.size(), high = a.size();
       print(randint(low, high, {a.size()}, g));
     }},
    {"randperm", [](Arguments& a, Generator& g) { print(randperm(a.size(), g)); }},
    {"bernoulli",
     [](Arguments& a, Generator& g) {
       const DType dtype = a.dtype();
       print(bernoulli(rand({a.size()}, g, dtype), g));
     }},
    {"multinomial",
     [](Arguments& a, Generator& g) {
       const DType dtype = a.dtype();
       const int64_t rows = a.size(), n = a.size(), k = a.size();
       const Tensor weights = rand({rows, n}, g, dtype);
       print(multinomial(weights, k, g, a.size() != 0));
     }},
    {"dropout",
     [](Arguments& a, Generator& g) {
       const DType dtype = a.dtype();
       const Tensor x = rand({a.size()}, g, dtype) - 0.5;
       print(dropout(x, a.real(), g));
     }},
    {"linear",
     [](Arguments& a, Generator& g) {
       const int64_t in = a.size(), out = a.size();
       const nn::Linear layer(in, out, g);
       print(layer.weight);
       print(layer.bias);
     }},
    {"embedding",
     [](Arguments& a, Generator& g) {
       const int64_t n = a.size(), dim = a.size();
       print(nn::Embedding(n, dim, g).weight);
     }},
    {"kaiming", initialise([](Tensor& x, Generator& g) { nn::kaiming_uniform_(x, g); })},
    {"xavier", initialise([](Tensor& x, Generator& g) { nn::xavier_uniform_(x, g); })},
};

}  // namespace

int main() {
  Generator generator = Generator::torch(0);
  for (std::string line; std::getline(std::cin, line); std::cout << '\n') {
    Arguments arguments(line);
    kDraws.at(arguments.next<std::string>())(arguments, generator);
  }
}
