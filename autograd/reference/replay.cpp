#include "gradus/autograd/reference/replay.hpp"

#include <exception>

namespace gradus::reference {
namespace {

template <class T, class F>
Array<T> computed(const autograd::TracedCall& call, Definition<T> definition, const F& numbers_of) {
  Call<T> c;
  for (const Tensor& x : call.inputs) c.inputs.push_back(x.defined() ? numbers_of(x) : Array<T>());
  c.attributes = &call.attributes;
  c.shape = sizes_of(call.outputs[0].shape());
  Array<T> y = definition(c);
  if (count(y.shape) == count(c.shape)) y.shape = c.shape;
  return y;
}

}  // namespace

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
  if (const Definition<T> definition = find<T>(call.op)) try {
      if (is_floating(call.outputs[0].dtype()))
        set(call.outputs[0], computed<T>(call, definition, [&](const Tensor& x) { return get(x); }));
      return true;
    } catch (const std::exception&) {
      // A user's operation with the name of a library's one.
    }
  for (const Tensor& y : call.outputs)
    if (is_floating(y.dtype()) && !has(y)) return false;
  return true;
}

template class Replay<double>;
template class Replay<Dual<double>>;
template class Replay<Dual<Dual<double>>>;

Array<double> value_again(const autograd::TracedCall& call) {
  const Definition<double> definition = find<double>(call.op);  // a call of the library
  if (!definition) return {};
  return computed<double>(call, definition, [](const Tensor& x) { return array_of<double>(x); });
}

}  // namespace gradus::reference
