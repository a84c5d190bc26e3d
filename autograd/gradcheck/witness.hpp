// The other witness of gradcheck(): derivatives in forward mode by the definitions of the library's
// operations in plain loops (reference/), without any gradient rule. Internal.
#pragma once

#include <string>
#include <vector>

#include "gradus/autograd/gradcheck/differences.hpp"
#include "gradus/autograd/graph/trace.hpp"
#include "gradus/autograd/reference/array.hpp"

namespace gradus::gradchecking {

/// The calls that a function makes at its inputs. A user's operation is followed through its forward pass.
class Witness {
 public:
  /// Calls f twice: at the inputs, and near them to see that all its values come from these calls. Else gap()
  /// says why the witness cannot judge.
  Witness(const Function& f, const std::vector<Tensor>& inputs);
  /// Empty if the witness can judge.
  const std::string& gap() const { return gap_; }

  /// J u at the inputs x, with u for all inputs; those of other dtypes than float64 have none.
  Numbers along(const std::vector<Tensor>& x, const std::vector<Numbers>& u) const;
  /// The second derivative at x in the directions u and w.
  Numbers along(const std::vector<Tensor>& x, const std::vector<Numbers>& u,
                const std::vector<Numbers>& w) const;
  /// The largest magnitude of the inputs and of all intermediate results.
  double largest() const { return largest_; }

 private:
  std::string followed(const Function& f) const;
  template <class T, class Seed>
  std::vector<T> replayed(const Seed& seed, std::string* unknown = nullptr) const;

  std::vector<Tensor> inputs_, outputs_;
  autograd::Trace trace_;
  std::string gap_;
  double largest_ = 0;
};

}  // namespace gradus::gradchecking
