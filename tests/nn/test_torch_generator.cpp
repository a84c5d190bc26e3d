// Layers drawn from a torch generator start with PyTorch 1.13's weights, to the bit, and drop as it does.
#include "autograd/compare.hpp"
#include "gradus/nn/attention.hpp"
#include "gradus/nn/init.hpp"
#include "gradus/nn/layers.hpp"

namespace gradus::nn::test_torch_generator {

using namespace testing;

constexpr int64_t kSeed = 2024;

TEST_CASE("Linear: weight first, then bias") {
  for (Generator g : {Generator::torch(kSeed), Generator::torch_mkl(kSeed)}) {
    const Linear five(5, 4, g), three(3, 7, g);
    CHECK(difference(
              five.weight,
              f32({0.028367536, 0.29629505,   0.42202473,  -0.3405077,  -0.2979317,  -0.13464803, -0.25491855,
                   0.107445836, -0.013550155, 0.22290388,  -0.31117493, 0.055918545, -0.29205245, 0.18299466,
                   0.3815026,   -0.08399073,  -0.17486143, 0.36431617,  0.23588908,  0.0984915},
                  {4, 5}),
              0) == "");
    CHECK(difference(five.bias, f32({0.35006028, 0.36577624, 0.14773537, 0.1597679}, {4}), 0) == "");
    CHECK(difference(three.weight,
                     f32({-0.31543237,  0.0035491253, -0.32902265, 0.3450413,   -0.4868511, -0.49587578,
                          -0.23419245,  -0.4974916,   0.55741775,  0.22741774,  0.22016057, -0.06859467,
                          0.07461704,   -0.3563657,   -0.1659896,  0.072316416, -0.5232133, -0.055481415,
                          -0.047583897, 0.29717582,   0.5691444},
                         {7, 3}),
                     0) == "");
    CHECK(difference(
              three.bias,
              f32({0.016819648, -0.054932877, 0.54281545, -0.30683693, 0.18365538, 0.19977191, -0.34656632},
                  {7}),
              0) == "");
  }
}

TEST_CASE("Linear without bias draws in * out words; LayerNorm none") {
  Generator g = Generator::torch(kSeed), words = g;
  const Linear layer(3, 4, g, {.bias = false});
  const LayerNorm norm(8);
  words.discard(12);
  CHECK(g == words);
}

TEST_CASE("Embedding, below and above 16 values") {
  Generator g = Generator::torch(kSeed);
  const Embedding small(3, 2, g), large(7, 5, g);
  CHECK(difference(small.weight,
                   f32({-0.040429167, 1.7259921, -0.81403875, 1.3721666, 0.5059648, -0.4823374}, {3, 2}),
                   0) == "");
  CHECK(difference(
            large.weight,
            f32({0.47902498,  1.3130132,   -1.161086,   -0.442602,   0.123639666, -2.1806846, 0.36995515,
                 0.41439798,  -0.38934097, -0.8454627,  -1.9681753,  -0.9198788,  0.84318376, -0.042119123,
                 1.6579235,   -1.3084688,  -0.37117368, 0.13774034,  -0.5199303,  -2.649181,  0.7202829,
                 -1.4107652,  -0.43837062, 0.3550669,   0.37295792,  -1.3050066,  -0.7982551, 0.033148598,
                 -0.12266787, 0.4022214,   -1.429499,   -0.56557626, 0.69707817,  0.12581275, -0.043412462},
                {7, 5}),
            0) == "");
}

TEST_CASE("initialisers overwrite a tensor of either dtype, also one that is a view") {
  const Generator start = Generator::torch(kSeed);
  for (const DType dtype : {DType::float32, DType::float64}) {
    Generator a = start, b = start;
    Tensor base = zeros({5, 8}, dtype), view = base.mT();
    uniform_(view, -0.37, 0.9, a);
    CHECK(difference(view, uniform({8, 5}, -0.37, 0.9, b, dtype), 0) == "");
    normal_(view, 1.0, 0.02, a);
    CHECK(difference(view, normal({8, 5}, 1.0, 0.02, b, dtype), 0) == "");
    CHECK(a == b);
  }
}

TEST_CASE("MultiHeadAttention drops weights, then outputs; with p = 1 all of them, drawing nothing") {
  const int64_t B = 2, T = 5, C = 6, nh = 3;
  const Generator start = Generator::torch(kSeed), mkl = Generator::torch_mkl(kSeed);
  Generator init = start;
  MultiHeadAttention attention(C, nh, init, {.dropout = 0.5});
  const Tensor x = randn({B, T, C}, init);
  Generator a = start, b = start, c = mkl, d = mkl;
  attention(x, &a);
  b.discard(2 * (B * nh * T * T + B * T * C));
  CHECK(a == b);
  attention(x, &c);
  d.discard(2);
  CHECK(c == d);

  const MultiHeadAttention nothing(C, nh, init, {.dropout = 1.0});
  CHECK(difference(nothing(x, &a), zeros({B, T, C}), 0) == "");
  CHECK(a == b);
}

}  // namespace gradus::nn::test_torch_generator
