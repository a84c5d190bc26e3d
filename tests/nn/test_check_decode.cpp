// The check `decode` against attention that generates rightly, and every way in which a cache goes stale.
#include "autograd/compare.hpp"
#include "gradus/nn/attention.hpp"
#include "gradus/nn/check_module.hpp"

namespace gradus::nn::test_check_decode {

using namespace testing;

enum class Fault {
  none,
  positions_restart,   // decode() numbers its own positions from 0
  positions_ahead,     // and from one too many when there is a past
  not_advanced,        // overwrites the same place
  old_value_kept,      // what is in the cache already is not overwritten after a clear
  last_left_out,       // the newest position is not attended to
  chunk_unmasked,      // several new positions see each other
  shared_storage,      // all caches are one
  clear_forgets_none,  // length stays
  refuses,             // throws when there is a past
  ignores_cache,       // sees the new positions only
};

/// y_t = the mean of x_0 + 1, x_1 + 2, ..., x_t + t + 1: positions and history are all there is.
class Means : public Module {
 public:
  explicit Means(Fault fault, bool last_only = false) : fault_(fault), last_only_(last_only) {}

  struct Cache {
    Tensor seen;  // (B, capacity, C)
    int64_t length = 0, written = 0;
    Fault fault;
    void clear() {
      if (fault != Fault::clear_forgets_none) length = 0;
    }
  };

  Tensor operator()(const Tensor& x) const { return means(numbered(x, 0), 0, x.size(1), false); }

  Cache make_cache(int64_t batch, int64_t capacity) {
    const Tensor fresh = zeros({batch, capacity, 2}, DType::float64);
    if (!shared_.defined()) shared_ = fresh;
    return {fault_ == Fault::shared_storage ? shared_ : fresh, 0, 0, fault_};
  }

  Tensor decode(const Tensor& x, Cache& cache) const {
    const int64_t start = cache.length, end = start + x.size(1);
    if (end > cache.seen.size(1)) fail("means", "full at ", end, ".");
    if (fault_ == Fault::refuses && start > 0) fail("means", "no past, please.");
    int64_t first = start;
    if (fault_ == Fault::positions_restart) first = 0;
    if (fault_ == Fault::positions_ahead && start > 0) first = start + 1;
    const bool keeps = fault_ == Fault::old_value_kept && end <= cache.written;
    if (!keeps) cache.seen.slice(1, start, end).copy_(numbered(x, first));
    cache.written = std::max(cache.written, end);
    if (fault_ != Fault::not_advanced) cache.length = end;
    const Tensor y = fault_ == Fault::ignores_cache
                         ? means(cache.seen.slice(1, start, end), 0, x.size(1), false)
                         : means(cache.seen.slice(1, 0, end), start, end, true);
    return last_only_ ? y.select(1, -1) : y;
  }

  void visit(Visitor&) override {}

 private:
  static Tensor numbered(const Tensor& x, int64_t first) {
    return x + cumsum(ones({x.size(1), 1}, x.dtype()), 0) + static_cast<double>(first);
  }
  Tensor means(const Tensor& seen, int64_t start, int64_t end, bool decoding) const {
    std::vector<Tensor> out;
    for (int64_t t = start; t < end; ++t) {
      int64_t stop = t + 1;
      if (decoding && fault_ == Fault::last_left_out && t > 0) stop = t;
      if (decoding && fault_ == Fault::chunk_unmasked && start > 0) stop = end;
      out.push_back(mean(seen.slice(1, 0, stop), {1}));
    }
    return stack(out, 1);
  }

  Fault fault_;
  bool last_only_;
  Tensor shared_;
};

Tensor sequence(int64_t T = 7) {
  Generator g(1);
  return randn({2, T, 2}, g, DType::float64);
}

/// What the check finds; "": nothing.
template <class M>
std::string found(M model, const Tensor& x) {
  const ModuleReport report =
      check_module(model, CheckBatch{x, {}}, [](const Tensor& out, const Tensor&) { return mean(out); },
                   {.only = {"decode"}, .causal = true});
  const CheckFinding& finding = report.findings.at(0);
  CHECK(finding.outcome != CheckFinding::left_out);
  return finding ? "" : finding.message;
}

TEST_CASE("decode() of attention passes, for all positions or the last") {
  Generator g(2);
  MultiHeadAttention m(8, 2, g, {.dropout = 0.5});
  CHECK(found(m, randn({3, 7, 8}, g)) == "");
  m.to(DType::float64);
  CHECK(found(m, randn({3, 2, 8}, g, DType::float64)) == "");
  for (const int64_t T : {2, 3, 4, 7})
    for (const bool last_only : {false, true}) CHECK(found(Means(Fault::none, last_only), sequence(T)) == "");
}

TEST_CASE("every stale cache is named") {
  struct Case {
    Fault fault;
    const char* seen;
  };
  const bool last_only = GENERATE(false, true);
  for (const auto& [fault, seen] : std::vector<Case>{
           {Fault::positions_restart, " at (0, 1, 0) when x was fed one by one."},
           {Fault::positions_ahead, " at (0, 1, 0) when x was fed one by one."},
           {Fault::not_advanced, " at (0, 1, 0) when x was fed one by one."},
           {Fault::ignores_cache, " at (0, 1, 0) when x was fed one by one."},
           {Fault::last_left_out, "when x was fed at once."},
           {Fault::refuses,
            "got at positions 1 to 1 the error \"[means] no past, please.\" when x was fed one by one."},
           {Fault::shared_storage, "when x was fed next to a second sequence."},
           {Fault::old_value_kept, "when x was fed into a cleared cache."},
           {Fault::clear_forgets_none,
            "got at positions 0 to 0 the error \"[means] full at 8.\" when x was fed into a cleared cache."},
       })
    CHECK_HAS(found(Means(fault, last_only), sequence()), "decode() must give what a full call gives, got ",
              seen, " Hint: look at ");
  // Only pieces of several positions show it, and only by others than the last of a piece.
  CHECK(found(Means(Fault::chunk_unmasked, true), sequence()) == "");
  CHECK_HAS(found(Means(Fault::chunk_unmasked), sequence()),
            " at (0, 1, 0) when x was fed in pieces of 1, 2 and");
}

TEST_CASE("decode() may round, and no more") {
  struct Scaled : Means {
    explicit Scaled(double by) : Means(Fault::none), factor(by) {}
    Tensor decode(const Tensor& x, Cache& cache) const { return Means::decode(x, cache) * factor; }
    double factor;
  };
  CHECK(found(Scaled(1.0 + 1e-14), sequence()) == "");
  CHECK(found(Scaled(1.0 + 1e-10), sequence()) != "");
  Generator g(3);
  CHECK_HAS(found(MultiHeadAttention(8, 2, g, {.causal = false}), randn({1, 4, 8}, g)),
            "the error \"[attention] only causal attention can be continued");
}

}  // namespace gradus::nn::test_check_decode
