// An activation before a product in bfloat16: its values are rounded as they are made, and never stand in
// memory in float32. The bits are those of the operations one by one.
//
// Pointers belong to the caller. Thread-safe as long as no two calls write to the same memory.
#pragma once

#include <cstdint>

#include "gradus/autograd/kernels/bf16/bf16_pack.hpp"
#include "gradus/autograd/kernels/elementwise/elementwise.hpp"

namespace gradus::kernels {

/// unary(x), or with up silu(x) * up: matrices (m, n), packed.
struct Activation {
  Unary unary;  ///< of x alone
  const float* x;
  const float* up;  ///< null: of x alone
};

/// Its values (rows, columns) in the forms that are wanted.
void pack_activation(const Activation& activation, int64_t rows, int64_t columns, const PackedRows& to);

}  // namespace gradus::kernels
