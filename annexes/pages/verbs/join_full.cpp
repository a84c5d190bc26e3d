// join_pages_full() lets `gradcheck --html` write its page.
#include "gradus/annexes/pages/frame.hpp"
#include "gradus/annexes/pages/graph_html.hpp"
#include "gradus/cli/program/annexes.hpp"

namespace gradus::cli {

void join_pages_full(Annexes& annexes) {
  annexes.graph_page = pages::graphs_html;
  annexes.is_page = pages::is_page_of("gradcheck");
}

}  // namespace gradus::cli
