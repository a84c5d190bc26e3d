// Tensor: a handle on a strided view of shared storage, with its place in the graph of gradients.
//
// A copy of a Tensor shares its values and its gradient. Views (transpose, slice, expand, ...) share storage
// with their base. Only optimizers, loaders and initialisers write values, through mutable_data(); no
// differentiable operation works in place.
//
// Thread-safety: distinct tensors may be used from distinct threads; one thread at a time builds and walks a
// graph. Graphs that share only leaves count as distinct: several threads may build them and call grad() at
// once. backward() adds to the grad() of its leaves, so no other thread may use these meanwhile.
//
// The members that need a graph or operations are defined in graph/, engine/ and ops/.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gradus/autograd/tensor/dtype.hpp"
#include "gradus/autograd/tensor/shape.hpp"
#include "gradus/autograd/tensor/storage.hpp"

namespace gradus {

class GradHook;
class HookHandle;
class TensorIndex;

/// The parts of tensors and graphs, for the library and for programs that read graphs.
namespace autograd {
struct Node;
struct TensorImpl;
void destroy(Node* node);        ///< for Ref
void destroy(TensorImpl* impl);  ///< for Ref
}  // namespace autograd

class Tensor {
 public:
  /// An undefined tensor: a bias that is absent, a gradient before backward().
  Tensor() = default;
  Tensor(const Tensor&) = default;      ///< the same tensor
  Tensor(Tensor&&) noexcept = default;  ///< the same tensor; the other becomes undefined
  /// The handle becomes one of another tensor; no value is written, so a temporary view cannot be assigned
  /// to: x.select(0, 1).copy_(y) writes.
  Tensor& operator=(const Tensor&) & = default;
  Tensor& operator=(Tensor&&) & noexcept = default;  ///< the same
  ~Tensor() = default;
  /// Whether there is a tensor.
  bool defined() const { return static_cast<bool>(impl_); }

  // -- shape and dtype
  const Shape& shape() const;                 ///< outermost dimension first
  const Shape& strides() const;               ///< in elements
  int dim() const { return shape().size(); }  ///< number of dimensions
  int64_t size(int64_t dim) const;            ///< Throws Error outside [-dim(), dim()).
  int64_t numel() const;                      ///< elements
  DType dtype() const;                        ///< of its elements
  bool is_contiguous() const;                 ///< packed, row-major

  // -- its values
  /// The first element; walk with strides(). Throws Error if T is not the dtype.
  template <class T>
  const T* data() const {
    check_dtype(dtype_of<T>);
    return static_cast<const T*>(raw_data());
  }
  /// The same for writing; a later backward that needs the old values throws Error.
  template <class T>
  T* mutable_data() {
    check_dtype(dtype_of<T>);
    return static_cast<T*>(raw_mutable_data());
  }
  const void* raw_data() const;  ///< for any dtype
  void* raw_mutable_data();      ///< counts as a write

  /// The only element, of any dtype with which operations compute. Throws Error unless numel() == 1.
  double item() const;
  /// One element; negative indices count from the end. Throws Error outside the shape.
  double at(std::initializer_list<int64_t> index) const;
  /// All elements in row-major order. Throws Error if T is not the dtype.
  template <class T>
  std::vector<T> to_vector() const;

  /// Overwrites all values with those of `source`, broadcast and converted; the two may overlap. Is not
  /// recorded. Throws Error if elements of this tensor share memory, as in an expanded tensor, and `source`
  /// has more than one element; and, while operations are recorded, if `source` requires a gradient or this
  /// is a recorded result, such as a slice of a parameter: write to detach() then.
  void copy_(const Tensor& source);
  void fill_(double value);  ///< overwrites all values with `value`, as copy_() does

  // -- its gradient
  bool requires_grad() const;  ///< whether gradients flow to it, as to a leaf or through it
  /// Makes this tensor a leaf that collects gradients, or freezes it if `on` is false. A frozen tensor keeps
  /// its gradient, its hooks and its place in recorded graphs. Throws Error for a result of recorded ops, and
  /// for dtypes that are not floating.
  Tensor& requires_grad_(bool on = true);
  /// The gradient that backward() has accumulated in this leaf; undefined before.
  Tensor grad() const;
  /// Sets grad() to `grad`, or to a copy if other tensors share its memory or it is not packed. Throws Error
  /// unless this is a leaf of the shape and dtype of `grad`.
  void set_grad(const Tensor& grad);
  void zero_grad();  ///< makes grad() undefined
  /// Adds d(this)/d(leaf) to grad() of every leaf that this scalar depends on. Frees the graph unless
  /// retain_graph; with create_graph the gradients can be differentiated again. Throws Error if this is not a
  /// scalar and `gradient` is undefined, if nothing requires a gradient, or if the graph was freed.
  void backward(const Tensor& gradient = {}, bool retain_graph = false, bool create_graph = false) const;
  /// Runs `hook` on the gradient of this tensor in every backward pass that reaches it: see graph/hooks.hpp.
  /// The tensor need not be a leaf. Throws Error if it requires no gradient.
  HookHandle register_hook(const GradHook& hook) const;
  /// The same values, outside the graph.
  Tensor detach() const;

  // -- views: differentiable new tensors, even if nothing changes, that share storage with this one
  Tensor transpose(int64_t dim0, int64_t dim1) const;  ///< swaps the two
  Tensor mT() const { return transpose(-2, -1); }      ///< swaps the last two dimensions
  /// Dimension i of the result is dims[i] of this.
  Tensor permute(const std::vector<int64_t>& dims) const;
  /// One entry of `shape` may be -1. A view where strides allow it, else a packed copy.
  Tensor reshape(Shape shape) const;
  /// Dimensions start_dim to end_dim become one; a scalar becomes a vector.
  Tensor flatten(int64_t start_dim = 0, int64_t end_dim = -1) const;
  /// Repeats dimensions of size 1 without a copy; -1 keeps a size; new dimensions may be added in front.
  Tensor expand(Shape shape) const;
  Tensor squeeze(int64_t dim) const;    ///< removes the dimension if its size is 1
  Tensor squeeze() const;               ///< removes all dimensions of size 1
  Tensor unsqueeze(int64_t dim) const;  ///< inserts a dimension of size 1 before dim
  /// x[start:end:step] along dim, with Python's clamping of bounds; step > 0.
  Tensor slice(int64_t dim, int64_t start, int64_t end, int64_t step = 1) const;
  Tensor select(int64_t dim, int64_t index) const;  ///< x[index] along dim, without this dimension
  Tensor operator[](int64_t index) const { return select(0, index); }  ///< x[index]
  /// The elements that the subscripts select, as x[...] in PyTorch (see Slice). A view, unless some are
  /// tensors (int64 indices, or bool masks). Tensors are broadcast and applied together; their dimensions
  /// replace the first of them, or come first if other subscripts are between them. Throws Error for more
  /// subscripts than dimensions, for indices out of range, and for masks of another shape.
  Tensor index(const std::vector<TensorIndex>& subscripts) const;
  /// Pieces of `size` along dim, the last one shorter if need be.
  std::vector<Tensor> split(int64_t size, int64_t dim) const;
  /// Pieces of the given sizes, which must add up to that dimension.
  std::vector<Tensor> split(const std::vector<int64_t>& sizes, int64_t dim) const;
  /// At most `chunks` pieces of equal size along dim, the last one shorter if need be.
  std::vector<Tensor> chunk(int64_t chunks, int64_t dim) const;
  /// A packed copy; itself if it is packed already. Differentiable.
  Tensor contiguous() const;
  /// Converted values; itself if it has the dtype. Differentiable between floating dtypes.
  Tensor to(DType dtype) const;

  /// The engine and the operations use it.
  explicit Tensor(autograd::Ref<autograd::TensorImpl> impl) : impl_(std::move(impl)) {}
  autograd::TensorImpl* impl() const { return impl_.get(); }  ///< null if undefined

 private:
  void check_dtype(DType asked) const;
  autograd::Ref<autograd::TensorImpl> impl_;
};

namespace autograd {

/// The object that handles share. Constructed and destroyed in graph/node.cpp, where Node is complete.
struct TensorImpl : RefCounted {
  TensorImpl();
  ~TensorImpl();

  Ref<Storage> storage;          ///< shared with views
  int64_t offset = 0;            ///< elements from the start of the storage
  Shape shape;                   ///< outermost dimension first
  Shape strides;                 ///< in elements, one a dimension
  DType dtype = DType::float32;  ///< of the elements
  bool contiguous = true;        ///< packed, row-major
  bool frozen = false;           ///< requires_grad_(false) was asked for
  bool replaced = false;         ///< Module::to() has put another one in its place
  Ref<Node> node;                ///< set if gradients reach this tensor, or did before it was frozen
  Ref<TensorImpl> alias;         ///< of a leaf that requires_grad_() made: what Saved keeps in its place
};

}  // namespace autograd

/// Uninitialised, packed.
Tensor empty(const Shape& shape, DType dtype = DType::float32);
/// A tensor of memory that another object owns, such as a NumPy array; `data` is the first element. The
/// memory must stay until `release` is called, on any thread, when no tensor needs it. Throws Error for
/// dtypes that are only stored, for values that are not aligned to their size, and for negative strides.
Tensor borrowed(void* data, const Shape& shape, const Shape& strides, DType dtype,
                std::function<void()> release);
/// A second handle on the same storage with other geometry, outside the graph; `offset` counts elements from
/// the start of the storage. Throws Error for elements that are not in the storage, and for negative strides.
Tensor view_of(const Tensor& base, const Shape& shape, const Shape& strides, int64_t offset);

/// Prints the values, the dtype, the shape and the place in the graph: "[1.5 2. ]  float64 (2,), from mul". A
/// tensor of more than a thousand elements is summarized.
std::ostream& operator<<(std::ostream& os, const Tensor& tensor);

/// The text of NumPy's str() for the same array under its default options: the shortest digits that identify
/// each number, at most eight after the point, aligned at the point. Weights that are only stored print as
/// float32. Throws Error if x is undefined.
std::string numpy_string(const Tensor& x);

/// The text of Python's str() for the same torch.Tensor, with `dtype=torch.float64`, `requires_grad=True` and
/// `grad_fn=<MulBackward0>`; some operations have another name there. For comparison with notebooks.
std::string torch_string(const Tensor& x);

/// Subscripts of Tensor::index() read as Python's do in PyTorch:
///
///     x[0:2, None, ..., 3]   x.index({Slice(0, 2), None, Ellipsis, 3})
///     x[:, rows]             x.index({Slice(), rows})
///     x[x > 0]               x.index({gt(x, 0.0)})
///
/// Slice is start:stop:step with Python's clamping of bounds; an omitted bound is the end.
struct Slice {
  Slice() = default;
  /// first:last:by
  Slice(std::optional<int64_t> first, std::optional<int64_t> last, int64_t by = 1)
      : start(first), stop(last), step(by) {}
  std::optional<int64_t> start, stop;  ///< negative ones count from the end
  int64_t step = 1;                    ///< above 0
};

/// Puts a dimension of size 1 here.
struct NewDim {};
#ifndef None                     // X11 has a macro of this name: with it, write NewDim{}
inline constexpr NewDim None{};  ///< Python's None, as a subscript
#endif

/// All dimensions that the other subscripts leave.
struct RemainingDims {};
inline constexpr RemainingDims Ellipsis{};  ///< Python's ..., as a subscript

/// One subscript.
class TensorIndex {
 public:
  /// The kinds of a subscript.
  using Value = std::variant<int64_t, Slice, NewDim, RemainingDims, Tensor>;

  /// Converts any of them implicitly: lists of subscripts are written in braces.
  template <std::integral Int>
  TensorIndex(Int i) : value_(static_cast<int64_t>(i)) {}    // NOLINT
  TensorIndex(bool) = delete;                                // neither the number 0 or 1 nor a mask
  TensorIndex(Slice slice) : value_(slice) {}                // NOLINT
  TensorIndex(NewDim none) : value_(none) {}                 // NOLINT
  TensorIndex(RemainingDims dims) : value_(dims) {}          // NOLINT
  TensorIndex(Tensor tensor) : value_(std::move(tensor)) {}  // NOLINT

  const Value& value() const { return value_; }  ///< which one it is

 private:
  Value value_;
};

}  // namespace gradus
