#include "gradus/models/rotary_decoder.hpp"

#include <cmath>

#include "gradus/files/error.hpp"

namespace gradus::models {

void check_rotary(const DecoderConfig& c) {
  if (c.attention.head_dim < 0 || c.head_size() % 2 != 0)
    fail("decoder", Option{"n_head"}, " must divide ", Option{"n_embd"}, " into heads of an even size with ",
         Option{"arch"}, " ", c.arch, ", got ", c.n_head, " and ", c.n_embd, ".");
  if (c.n_kv_head < 0 || c.n_head % c.kv_heads() != 0)
    fail("decoder", Option{"n_kv_head"}, " must divide ", Option{"n_head"}, ", got ", c.n_kv_head, " and ",
         c.n_head, ".");
  if (!(c.rope_theta > 0.0 && std::isfinite(c.rope_theta)))
    fail("decoder", Option{"rope_theta"}, " must be a finite number above 0, got ", c.rope_theta, ".");
  check_rope(c);
  if (c.attention.window < 0 || c.attention.window_from < 0)
    fail("decoder", "window and window_from must be at least 0, got ", c.attention.window, " and ",
         c.attention.window_from, ".");
  if (c.bias)
    fail("decoder", Option{"bias"}, " must be false with ", Option{"arch"}, " ", c.arch,
         ", whose layers have none, got true.");
}

}  // namespace gradus::models
