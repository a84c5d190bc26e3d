// join_layers_full() lets `gradus gradcheck` check the operations of this annex.
#include "gradus/annexes/layers/cases/window_cases.hpp"
#include "gradus/cli/program/annexes.hpp"

namespace gradus::cli {

void join_layers_full(Annexes& annexes) { annexes.gradcheck_cases = cases::window_cases; }

}  // namespace gradus::cli
