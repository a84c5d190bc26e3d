#include "gradus/autograd/ops/rounded_products.hpp"

#include <memory>
#include <mutex>

#include "gradus/autograd/graph/node.hpp"
#include "gradus/autograd/kernels/bf16_batch.hpp"
#include "gradus/autograd/kernels/bf16_product.hpp"

namespace gradus {
namespace {

using kernels::PackedBf16;
using kernels::Side;

/// The packed forms of a matrix, beside its storage.
class KeptForms : public Companion {
 public:
  Packed take(Side side, const Matrices& x) {
    const std::lock_guard lock(mutex_);
    Form& form = forms_[static_cast<size_t>(side)][static_cast<size_t>(x.trans)];
    const Form wanted{.data = x.tensor.data<float>(),
                      .rows = x.rows,
                      .columns = x.columns,
                      .ld = x.ld,
                      .version = x.tensor.impl()->storage->version()};
    if (!form.is(wanted)) {
      // Another thread may still be multiplying by the old one.
      std::shared_ptr<PackedBf16> memory = form.packed.use_count() == 1 ? std::move(form.packed) : nullptr;
      if (!memory || memory->rows != wanted.rows || memory->columns != wanted.columns)
        memory = std::make_shared<PackedBf16>(kernels::packed_matrix(side, wanted.rows, wanted.columns));
      kernels::pack(x.trans, wanted.data, x.ld, *memory);
      form = wanted;
      form.packed = std::move(memory);
    }
    return form.packed;
  }

 private:
  struct Form {
    const float* data = nullptr;
    int64_t rows = 0, columns = 0, ld = 0;
    uint64_t version = 0;
    std::shared_ptr<PackedBf16> packed = nullptr;

    bool is(const Form& other) const {
      return packed && data == other.data && rows == other.rows && columns == other.columns &&
             ld == other.ld && version == other.version;
    }
  };

  std::mutex mutex_;
  Form forms_[2][2];  // [side][trans]
};

}  // namespace

std::shared_ptr<PackedBf16> room_to_pack(Side side, int64_t rows, int64_t columns) {
  struct Room {
    explicit Room(Side side, int64_t rows, int64_t columns)
        : memory(new Storage(kernels::packed_bytes(side, rows, columns))),
          packed(kernels::packed_matrix(side, rows, columns, memory->data())) {}
    Ref<Storage> memory;
    PackedBf16 packed;
  };
  const auto room = std::make_shared<Room>(side, rows, columns);
  return {room, &room->packed};
}

Packed packed(Side side, const Matrices& x) {
  const TensorImpl& impl = *x.tensor.impl();
  if (impl.node && impl.node->is_leaf()) return impl.storage->companion<KeptForms>().take(side, x);
  auto once = room_to_pack(side, x.rows, x.columns);
  kernels::pack(x.trans, x.tensor.data<float>(), x.ld, *once);
  return once;
}

void multiply_rounded(Tensor& out, const Matrices& a, const Matrices& b) {
  const Packed left = packed(Side::left, a), right = packed(Side::right, b);
  kernels::multiply_bf16(*left, *right, out.mutable_data<float>(), b.columns);
}

void multiply_rounded(Tensor& out, const Matrices& a, const std::vector<int64_t>& a_offsets,
                      const Matrices& b, const std::vector<int64_t>& b_offsets) {
  const int64_t m = a.rows, n = b.columns;
  const float *const from_a = a.tensor.data<float>(), *const from_b = b.tensor.data<float>();
  float* const to = out.mutable_data<float>();
  kernels::gemm_batch_bf16(static_cast<int64_t>(a_offsets.size()), a_offsets.data(), b_offsets.data(),
                           a.trans, b.trans, m, n, a.columns, from_a, a.ld, from_b, b.ld, to);
}

Tensor marked(Tensor y) {
  if (is_rounded(y.dtype()) && y.impl()->node) y.impl()->node->rounded = true;
  return y;
}

}  // namespace gradus
