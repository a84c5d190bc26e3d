// Whole vectors, for loops that compilers do not vectorise.
#pragma once

#include <cstdint>
#include <utility>

#ifdef __SSE2__
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

namespace gradus::kernels::GRADUS_ISA {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

template <class T, int kBytes>
struct Simd {
  typedef T Vector __attribute__((vector_size(kBytes)));
};

template <class T>
using Vector = typename Simd<T, kVectorBytes>::Vector;

template <class T>
constexpr int kLanes = kVectorBytes / sizeof(T);

#if defined(__AVX512F__)
inline Vector<float> fused(Vector<float> a, Vector<float> b, Vector<float> c) {
  return _mm512_fmadd_ps(a, b, c);
}
inline Vector<double> fused(Vector<double> a, Vector<double> b, Vector<double> c) {
  return _mm512_fmadd_pd(a, b, c);
}
#elif defined(__FMA__)
inline Vector<float> fused(Vector<float> a, Vector<float> b, Vector<float> c) {
  return _mm256_fmadd_ps(a, b, c);
}
inline Vector<double> fused(Vector<double> a, Vector<double> b, Vector<double> c) {
  return _mm256_fmadd_pd(a, b, c);
}
#elif defined(__ARM_FEATURE_FMA)
inline Vector<float> fused(Vector<float> a, Vector<float> b, Vector<float> c) { return vfmaq_f32(c, a, b); }
inline Vector<double> fused(Vector<double> a, Vector<double> b, Vector<double> c) {
  return vfmaq_f64(c, a, b);
}
#else
inline Vector<float> fused(Vector<float> a, Vector<float> b, Vector<float> c) { return a * b + c; }
inline Vector<double> fused(Vector<double> a, Vector<double> b, Vector<double> c) { return a * b + c; }
#endif

// A vector that is a cache line may bypass the caches; `to` must begin a line. Other threads see it after
// finish_stores().
constexpr bool kStoresPastCaches = kVectorBytes == 64;
inline void store_past_caches(void* to, Vector<uint32_t> x) {
#if defined(__AVX512F__)
  _mm512_stream_si512(static_cast<__m512i*>(to), reinterpret_cast<__m512i>(x));
#else
  __builtin_memcpy(to, &x, sizeof x);
#endif
}
inline void finish_stores() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

/// The products of the lower halves of the lanes.
inline Vector<uint64_t> multiply_low(Vector<uint64_t> a, Vector<uint64_t> b) {
#if defined(__AVX512F__)
  return reinterpret_cast<Vector<uint64_t>>(
      _mm512_maskz_mul_epu32(0xFF, reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
#elif defined(__AVX2__)
  return reinterpret_cast<Vector<uint64_t>>(
      _mm256_mul_epu32(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
#elif defined(__SSE2__)
  return reinterpret_cast<Vector<uint64_t>>(
      _mm_mul_epu32(reinterpret_cast<__m128i>(a), reinterpret_cast<__m128i>(b)));
#else
  return (a & 0xFFFFFFFF) * (b & 0xFFFFFFFF);
#endif
}

/// The same value in all lanes. Subtracting 0 changes nothing; adding it would turn -0 into 0.
template <class T>
Vector<T> broadcast(T value) {
  return value - Vector<T>{};
}

template <class T>
Vector<T> load(const T* from) {
  Vector<T> vector;
  __builtin_memcpy(&vector, from, sizeof vector);
  return vector;
}

template <class T>
void store(T* to, Vector<T> vector) {
  __builtin_memcpy(to, &vector, sizeof vector);
}

template <int kCount, class V, class F, int... i>
auto fold_halves(V lanes, F f, std::integer_sequence<int, i...> all) {
  if constexpr (kCount == 0) {
    return lanes[0];
  } else {
    return fold_halves<kCount / 2>(
        f(lanes, __builtin_shufflevector(lanes, lanes, (i < kCount ? i + kCount : i)...)), f, all);
  }
}
/// Folds all lanes: f(lower half, upper half) until one lane is left.
template <class V, class F>
auto fold_lanes(V lanes, F f) {
  constexpr int kCount = sizeof(V) / sizeof(lanes[0]);
  return fold_halves<kCount / 2>(lanes, f, std::make_integer_sequence<int, kCount>());
}

template <int first, int... i>
Vector<float> every_second(Vector<float> a, Vector<float> b, std::integer_sequence<int, i...>) {
  return __builtin_shufflevector(a, b, (first + 2 * i)...);
}
/// Every second lane of a and then of b, from lane `first` on.
template <int first>
Vector<float> every_second(Vector<float> a, Vector<float> b) {
  return every_second<first>(a, b, std::make_integer_sequence<int, kLanes<float>>());
}

/// Four numbers at every level.
template <class T>
using Four = typename Simd<T, 4 * sizeof(T)>::Vector;

template <int distance, class V, int... i>
void exchange(V& a, V& b, std::integer_sequence<int, i...>) {
  constexpr int kCount = sizeof...(i);
  const V upper = __builtin_shufflevector(a, b, (i & distance ? kCount + i - distance : i)...);
  b = __builtin_shufflevector(a, b, (i & distance ? kCount + i : i + distance)...);
  a = upper;
}
/// Rows, as many as a vector has lanes, become columns: exchanges the off-diagonal squares of half the rows,
/// of a quarter and so on.
template <class V, int kCount, int distance = kCount / 2>
void transpose(V (&rows)[kCount]) {
  for (int i = 0; i < kCount; ++i)
    if ((i & distance) == 0)
      exchange<distance>(rows[i], rows[i + distance], std::make_integer_sequence<int, kCount>());
  if constexpr (distance > 1) transpose<V, kCount, distance / 2>(rows);
}

template <class T>
Vector<T> load_part(const T* from, int64_t count) {
  Vector<T> vector = {};
  for (int64_t i = 0; i < count; ++i) vector[i] = from[i];
  return vector;
}

template <class T>
void store_part(T* to, int64_t count, Vector<T> vector) {
  for (int64_t i = 0; i < count; ++i) to[i] = vector[i];
}

}  // namespace gradus::kernels::GRADUS_ISA
