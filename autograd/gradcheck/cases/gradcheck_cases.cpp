#include "gradus/autograd/gradcheck/cases/gradcheck_cases.hpp"

#include "gradus/autograd/gradcheck/cases/case_list.hpp"

namespace gradus {

std::vector<GradcheckCase> gradcheck_cases() {
  cases::CaseList list;
  cases::add_arithmetic(list);
  cases::add_unary(list);
  cases::add_choosing(list);
  cases::add_reductions(list);
  cases::add_softmax(list);
  cases::add_products(list);
  cases::add_views(list);
  cases::add_joining(list);
  cases::add_indexing(list);
  cases::add_subscripts(list);
  cases::add_layers(list);
  cases::add_losses(list);
  cases::add_attention(list);
  return list.take();
}

}  // namespace gradus
