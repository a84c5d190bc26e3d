#include "gradus/autograd/reference/replay.hpp"

#include <algorithm>
#include <exception>

#include "gradus/autograd/tensor/raw.hpp"

namespace gradus::reference {

template <class T>
typename Replay<T>::Key Replay<T>::key_of(const Tensor& x) {
  return {x.impl()->storage.get(), x.impl()->offset, sizes_of(x.shape()), sizes_of(x.strides())};
}

template <class T>
void Replay<T>::set(const Tensor& x, Array<T> numbers) {
  numbers_[key_of(x)] = std::move(numbers);
}

template <class T>
bool Replay<T>::has(const Tensor& x) const {
  return numbers_.contains(key_of(x));
}

template <class T>
Array<T> Replay<T>::get(const Tensor& x) const {
  const auto found = numbers_.find(key_of(x));
  return found == numbers_.end() ? array_of<T>(x) : found->second;
}

template <class T>
bool Replay<T>::run(const autograd::TracedCall& call) {
  bool is_known = true;
  for (const Tensor& y : call.outputs) is_known = is_known && (!is_floating(y.dtype()) || has(y));
  const Definition<T> definition = find<T>(call.op);
  if (!definition || !is_floating(call.outputs[0].dtype())) return is_known;
  Call<T> c{{}, &call.attributes, sizes_of(call.outputs[0].shape())};
  for (const Tensor& x : call.inputs) c.inputs.push_back(x.defined() ? get(x) : Array<T>());
  try {
    Array<T> y = definition(c);
    if (count(y.shape) != count(c.shape)) return is_known;
    y.shape = c.shape;
    set(call.outputs[0], std::move(y));
    return true;
  } catch (const std::exception&) {  // a user's operation with the name of one of the library
    return is_known;
  }
}

template class Replay<double>;
template class Replay<Dual<double>>;
template class Replay<Dual<Dual<double>>>;

}  // namespace gradus::reference

namespace gradus {

void autograd::compute_by_definition(const TracedCall& call) {
  if (call.outputs.empty() || !call.outputs[0].defined()) return;
  Tensor y = call.outputs[0];
  for (const Tensor& x : call.inputs)
    if (x.defined() && x.impl()->storage == y.impl()->storage) return;
  reference::Replay<double> replay;
  if (!replay.run(call) || !replay.has(y)) return;
  Tensor values = empty(y.shape(), DType::float64);
  std::ranges::copy(replay.get(y).data, values.mutable_data<double>());
  raw::copy_into(y, values);
}

}  // namespace gradus
