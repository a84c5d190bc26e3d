#include "gradus/tools/cli/sample/sample_session.hpp"

#include <signal.h>

#include <atomic>

#include "gradus/files/error.hpp"
#include "gradus/tools/cli/program/field_flags.hpp"
#include "gradus/tools/cli/program/text_output.hpp"
#include "gradus/tools/cli/sample/line_editor.hpp"
#include "gradus/tools/cli/sample/prompt_input.hpp"

namespace gradus::cli {
namespace {

std::atomic<bool> enough = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may touch nothing else");

extern "C" void on_interrupt(int) { enough = true; }

/// While it lives, Ctrl-C sets `enough` and ends nothing.
class InterruptIsAWish {
 public:
  InterruptIsAWish() {
    struct sigaction action = {};
    action.sa_handler = on_interrupt;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    ::sigaction(SIGINT, &action, &before_);
  }
  ~InterruptIsAWish() { ::sigaction(SIGINT, &before_, nullptr); }
  InterruptIsAWish(const InterruptIsAWish&) = delete;
  InterruptIsAWish& operator=(const InterruptIsAWish&) = delete;

 private:
  struct sigaction before_ = {};
};

}  // namespace

void sample_session(const data::Tokenizer& tokenizer, const WriteText& write) {
  const People people(false);
  people.line(
      "Type how a text begins; an empty line leaves that to the model. Ctrl-C stops a text, Ctrl-D ends.");
  const InterruptIsAWish guard;
  LineEditor editor;
  while (const std::optional<std::string> line = editor.ask("> ")) {
    enough = false;
    try {
      write(clean_prompt("the prompt", *line, tokenizer), [] { return enough.load(); });
    } catch (const RunError&) {
      throw;
    } catch (const Error& e) {  // of the prompt: all else was checked before
      people.line(concat("gradus: ", with_flags(e.what())));
    }
  }
}

}  // namespace gradus::cli
