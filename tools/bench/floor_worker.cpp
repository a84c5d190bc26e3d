// run_floor: the machine alone.
#include <algorithm>
#include <chrono>
#include <istream>
#include <nlohmann/json.hpp>
#include <ostream>

#include "gradus/autograd/kernels/machine_peak.hpp"
#include "gradus/autograd/kernels/quantized/quantized.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/autograd/random/random.hpp"
#include "gradus/autograd/tensor/threads.hpp"
#include "gradus/tools/bench/worker.hpp"

namespace gradus::bench {
namespace {

using kernels::BlasThreads;

kernels::Trans trans(bool transposed) { return transposed ? kernels::Trans::yes : kernels::Trans::no; }

constexpr double kReachable = 0.9;  // of the machine's peak: good products reach this part

/// The products of a workload, on memory that all of them share.
class Products {
 public:
  explicit Products(const Workload& w) : workload_(w), products_(products(w)) {
    int64_t a = 0, b = 0, c = 0;
    for (const Product& p : products_) {
      a = std::max(a, p.batch * p.m * p.k);
      b = std::max(b, p.batch * p.k * p.n);
      c = std::max(c, p.batch * p.m * p.n);
    }
    Generator values(1);
    a_ = rand({a}, values);
    b_ = rand({b}, values);
    c_ = zeros({c});
  }

  /// The floor of a step: the sum of the times of its products, each measured in a turn.
  Turn turn(double seconds, int64_t steps) {
    const double operations = bench::operations(workload_);
    if (workload_.dtype == DType::bfloat16) {
      const double ms = 1e3 * operations / (kReachable * kernels::bf16_rate());
      return {ms, ms, steps};
    }
    Turn sum{0, 0, steps};
    for (const Product& p : products_) {
      const double share = seconds * p.operations() / operations;
      Turn best = turn_of(p, BlasThreads::inside_product, share, steps);
      if (p.batch > 1 && num_threads() > 1)
        if (const Turn other = turn_of(p, BlasThreads::over_batch, share, steps);
            other.ms_median < best.ms_median)
          best = other;
      sum.ms_median += best.ms_median * static_cast<double>(p.times);
      sum.ms_min += best.ms_min * static_cast<double>(p.times);
      sum.steps = std::min(sum.steps, best.steps);
    }
    const double reachable_ms = 1e3 * operations / (kReachable * kernels::multiply_add_rate());
    sum.ms_median = std::min(sum.ms_median, reachable_ms);
    sum.ms_min = std::min(sum.ms_min, reachable_ms);
    return sum;
  }

 private:
  Turn turn_of(const Product& p, BlasThreads threads, double seconds, int64_t steps) {
    const kernels::BlasProduct product{trans(p.transpose_a), trans(p.transpose_b), p.m, p.n, p.k, p.batch};
    float* c = c_.mutable_data<float>();
    return take_turn(seconds, std::max<int64_t>(steps, 2),
                     [&] { kernels::blas_product(product, threads, a_.data<float>(), b_.data<float>(), c); });
  }

  Workload workload_;
  std::vector<Product> products_;
  Tensor a_, b_, c_;
};

}  // namespace

void run_floor(const Workload& workload, std::istream& in, std::ostream& out) {
  if (workload.task == Task::generate) {
    const int64_t bytes = element_size(workload.dtype) * workload.config.num_parameters() /
                          (is_in_tiles(workload.dtype) ? kWeightRows * kWeightColumns : 1);
    const Tensor values = ones({bytes / element_size(DType::float32)});
    out << "{}" << std::endl;
    const auto read = [&] { kernels::read_all(values.numel(), values.data<float>()); };
    return answer_commands(in, out,
                           [&](double seconds, int64_t steps) { return take_turn(seconds, steps, read); });
  }
  Products all(workload);
  out << "{}" << std::endl;
  answer_commands(in, out, [&](double seconds, int64_t steps) { return all.turn(seconds, steps); });
}

}  // namespace gradus::bench
