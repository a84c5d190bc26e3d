// residual_block(): what the blocks of all decoders have in common. Private to models.
#pragma once

#include "gradus/nn/module.hpp"

namespace gradus::models {

/// r = x + mix(x), then r + transform(r), with the block's points: resid_pre, resid_mid, and its output.
template <class Mix, class Transform>
Tensor residual_block(const nn::Module& block, const Tensor& x, const Mix& mix, const Transform& transform) {
  const Tensor pre = block.point("resid_pre", x);
  const Tensor mid = block.point("resid_mid", pre + mix(pre));
  return block.output(mid + transform(mid));
}

}  // namespace gradus::models
