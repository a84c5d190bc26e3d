#include "gradus/train/trainer/loop_options.hpp"

#include <cmath>

#include "gradus/autograd/kernels/fast/fast_kernels.hpp"
#include "gradus/files/error.hpp"
#include "gradus/train/trainer/precision.hpp"

namespace gradus::train {
namespace {

void check_count(std::string_view field, int64_t value, int64_t least) {
  if (value < least)
    fail("train", Option{field}, " must be a whole number of at least ", least, ", got ", value, ".");
}

}  // namespace

void LoopOptions::validate() const {
  check_count("steps", steps, 1);
  check_count("batch", batch, 1);
  check_count("accum", accum, 1);
  check_count("micro", micro, 1);
  if (micro > 1 && (batch * accum) % micro != 0)
    fail("train", Option{"micro"}, " must divide the ", batch * accum, " examples of a step, got ", micro,
         ".");
  if (!(clip >= 0 && std::isfinite(clip)))
    fail("train", Option{"clip"}, " must be a finite number of at least 0, got ", clip, ".");
  check_count("seed", seed, 0);
  if (!(ema >= 0 && ema < 1)) fail("train", Option{"ema"}, " must be in [0, 1), got ", ema, ".");
  (void)word(precision);  // throws for other dtypes
  (void)word(wire);
  if (precision == DType::bfloat16)
    kernels::needed(kernels::fast_kernels().multiply_rounded, "train", Option{"precision"}, " ",
                    word(precision));
  check_count("eval_every", eval_every, 1);
  check_count("patience", patience, 0);
  check_count("save_every", save_every, 1);
  check_count("keep", keep, 0);
}

}  // namespace gradus::train
