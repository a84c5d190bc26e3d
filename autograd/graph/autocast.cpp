#include "gradus/autograd/graph/autocast.hpp"

namespace gradus {
namespace {

thread_local DType of_products = DType::float32;

}  // namespace

DType autocast_dtype() { return of_products; }

Autocast::Autocast(DType dtype) : before_(of_products) {
  if (dtype != DType::bfloat16 && dtype != DType::float32)
    fail("autocast", "needs bfloat16 or float32, got ", name(dtype), ".");
  of_products = dtype;
}

Autocast::~Autocast() { of_products = before_; }

}  // namespace gradus
