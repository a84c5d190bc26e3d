#include "gradus/annexes/fast/ops/fast_ops.hpp"

#include <memory>
#include <mutex>

#include "gradus/annexes/fast/bf16/bf16_product.hpp"
#include "gradus/autograd/graph/node.hpp"

namespace gradus {
namespace {

using kernels::PackedBf16;
using kernels::Side;

using SharedPacked = std::shared_ptr<PackedBf16>;

/// The operands that this thread packed last, for consecutive layers that share an input.
thread_local SharedPacked last_packed[2];

/// The packed forms of a matrix, with its storage. A parameter's stay; others live while a product uses them.
class KeptForms : public autograd::PackedCache {
 public:
  ~KeptForms() override {
    for (auto& of_side : forms_)
      for (const Form& form : of_side)
        for (SharedPacked& last : last_packed)
          if (last && last == form.shared.lock()) last = nullptr;
  }

  Packed take(Side side, const Matrices& x, bool is_parameter) {
    const std::lock_guard lock(mutex_);
    Form& form = forms_[static_cast<size_t>(side)][static_cast<size_t>(x.trans)];
    const Source wanted{.data = x.tensor.data<float>(),
                        .rows = x.rows,
                        .columns = x.columns,
                        .ld = x.ld,
                        .version = x.tensor.impl()->storage->version()};
    SharedPacked packed = form.shared.lock();
    if (!packed || form.source != wanted) {
      packed = nullptr;
      packed =
          is_parameter ? form.memory_of(side, wanted) : memory_to_pack(side, wanted.rows, wanted.columns);
      kernels::pack(x.trans, wanted.data, x.ld, *packed);
      form.source = wanted;
      form.shared = packed;
    }
    if (is_parameter)
      form.kept = packed;
    else
      last_packed[static_cast<size_t>(side)] = packed;
    return packed;
  }

 private:
  struct Source {
    const float* data = nullptr;
    int64_t rows = 0, columns = 0, ld = 0;
    uint64_t version = 0;

    bool operator==(const Source&) const = default;
  };
  struct Form {
    Source source;
    std::weak_ptr<PackedBf16> shared;
    SharedPacked kept;

    /// The memory in use, unless another thread may still multiply by the old numbers.
    SharedPacked memory_of(Side side, const Source& wanted) {
      if (kept.use_count() == 1 && kept->rows == wanted.rows && kept->columns == wanted.columns) return kept;
      return std::make_shared<PackedBf16>(kernels::packed_matrix(side, wanted.rows, wanted.columns));
    }
  };

  std::mutex mutex_;
  Form forms_[2][2];  // [side][trans]
};

}  // namespace

std::shared_ptr<PackedBf16> memory_to_pack(Side side, int64_t rows, int64_t columns) {
  struct Lent {
    explicit Lent(Side side, int64_t rows, int64_t columns)
        : memory(new autograd::Storage(kernels::packed_bytes(side, rows, columns))),
          packed(kernels::packed_matrix(side, rows, columns, memory->data())) {}
    autograd::Ref<autograd::Storage> memory;
    PackedBf16 packed;
  };
  const auto shared = std::make_shared<Lent>(side, rows, columns);
  return {shared, &shared->packed};
}

Packed packed(Side side, const Matrices& x) {
  const autograd::TensorImpl& impl = *x.tensor.impl();
  if (impl.frozen || (impl.node && impl.node->is_leaf()))
    return impl.storage->packed_cache<KeptForms>().take(side, x, true);
  auto once = memory_to_pack(side, x.rows, x.columns);
  kernels::pack(x.trans, x.tensor.data<float>(), x.ld, *once);
  return once;
}

Packed packed_for_all(Side side, const Matrices& x) {
  return x.tensor.impl()->storage->packed_cache<KeptForms>().take(side, x, false);
}

void multiply_rounded(Tensor& out, const Matrices& a, const Matrices& b) {
  const Packed left = packed(Side::left, a), right = packed(Side::right, b);
  kernels::multiply_bf16(*left, *right, out.mutable_data<float>(), b.columns);
}

void multiply_rounded_batch(Tensor& out, const Matrices& a, const std::vector<int64_t>& a_offsets,
                            const Matrices& b, const std::vector<int64_t>& b_offsets) {
  const int64_t m = a.rows, n = b.columns;
  const float *const from_a = a.tensor.data<float>(), *const from_b = b.tensor.data<float>();
  float* const to = out.mutable_data<float>();
  kernels::gemm_batch_bf16(static_cast<int64_t>(a_offsets.size()), a_offsets.data(), b_offsets.data(),
                           a.trans, b.trans, m, n, a.columns, from_a, a.ld, from_b, b.ld, to);
}

}  // namespace gradus
