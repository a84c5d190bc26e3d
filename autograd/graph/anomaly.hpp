// AnomalyMode: finds the op in which the first number that is not finite arose.
//
//   const AnomalyMode on;
//   model.loss(x, y).backward();  // throws where the first NaN comes into being
//
// While it is on, each op's values are looked at as they are computed, and each gradient as its rule gives
// it. NaN is always an error. An infinity is one where it arises out of finite numbers: log(0), an exp() that
// overflows, the gradient of sqrt at 0. It is none where it was asked for (masked_fill with an infinite
// value) or came in: scores + a mask of -inf, exp(-inf), and all that follows. The Error names the op, its
// number as graph_text() (graph_text.hpp) counts, the first such element, and what the op was given.
//
// It costs a pass over every value; off, one branch an op. Of this thread, as GradMode is.
#pragma once

namespace gradus {

namespace autograd {
/// Whether it is on. AnomalyMode writes it.
extern constinit thread_local bool anomaly_mode;
}  // namespace autograd

/// While it lives, ops and gradients of this thread are looked at (true) or not (false: around an op of one's
/// own that makes infinities on purpose).
class AnomalyMode {
 public:
  /// On, or off again within one that is on.
  explicit AnomalyMode(bool enabled = true);
  ~AnomalyMode();
  AnomalyMode(const AnomalyMode&) = delete;
  AnomalyMode& operator=(const AnomalyMode&) = delete;

 private:
  bool before_;
};

}  // namespace gradus
