// gradus chat: talks with a model in the chat format that it was trained with.
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "gradus/cli/program/flags.hpp"
#include "gradus/cli/program/terminal.hpp"
#include "gradus/cli/program/text_output.hpp"
#include "gradus/cli/program/verbs.hpp"
#include "gradus/cli/sample/model_flags.hpp"
#include "gradus/cli/sample/prompt_input.hpp"
#include "gradus/data/chat.hpp"
#include "gradus/files/error.hpp"
#include "gradus/models/stored/pretrained.hpp"

namespace gradus::cli {
namespace {

struct ChatFlags {
  ModelFlags model;
  SamplingFlags sampling;
  std::string system, chat_format;
  std::vector<data::Message> systems;  // one, which may be empty, or none
  bool json = false;
};

/// A conversation with a model, which is borrowed.
class Conversation {
 public:
  Conversation(const train::TrainedModel& trained, const data::ChatFormat& format, const ChatFlags& flags)
      : trained_(trained),
        format_(format),
        options_(flags.sampling.options),
        random_(Generator(static_cast<uint64_t>(flags.sampling.seed)).stream("chat")),
        first_(flags.systems) {
    reset();
  }

  void reset() { messages_ = first_; }

  /// Writes the answer as it is drawn, and adds both to the conversation.
  std::string answer(const std::string& question, std::ostream& out,
                     const std::function<bool()>& interrupted) {
    messages_.push_back({"user", question});
    const std::vector<int32_t> prompt = fitting_prompt();
    const std::string text =
        write_continuation(trained_.model, trained_.tokenizer, {prompt.begin(), prompt.end()}, options_,
                           random_, out, {.interrupted = interrupted, .token = format_.end()});
    messages_.push_back({"assistant", text});
    return text;
  }

 private:
  /// The tokens of the conversation. The oldest turns are left out if they do not fit into the context.
  std::vector<int32_t> fitting_prompt() {
    const int64_t most = trained_.model.config().context_limit();
    std::vector<data::Message> kept = messages_;
    for (int64_t forgotten = 0;; ++forgotten) {
      std::vector<int32_t> prompt = format_.prompt(kept);
      if (std::ssize(prompt) < most) {
        messages_ = std::move(kept);
        for (; forgotten > 0; --forgotten)
          Messages(false).line("note: the oldest question and its answer are forgotten, the context is full");
        return prompt;
      }
      const auto first = kept.begin() + std::ssize(first_);
      if (kept.end() - first < 3) {
        messages_.pop_back();
        fail("chat", first_.empty() ? "a question" : "--system and a question", " must have fewer than the ",
             most, " tokens of the context, got ", prompt.size(), ".");
      }
      kept.erase(first, first + 2);
    }
  }

  const train::TrainedModel& trained_;
  const data::ChatFormat& format_;
  models::SampleOptions options_;
  Generator random_;
  std::vector<data::Message> first_, messages_;
};

int chat(ChatFlags flags) {
  flags.sampling.settle();
  const models::DecoderConfig config = models::check_pretrained(flags.model.folder);
  const std::optional<data::ChatFormat> format =
      data::ChatFormat::of(train::load_tokenizer(flags.model.folder, flags.model.tokenizer),
                           chat_format_of(flags.chat_format, flags.model.folder));
  if (!format)
    fail("chat", flags.model.folder,
         " must have a tokenizer with a chat template, got none. Hint: `train` adds "
         "one for examples in JSONL; --chat-format chooses a format.");
  const train::TrainedModel trained = load_model(flags.model, config, flags.sampling.options.max_new_tokens);
  Conversation conversation(trained, *format, flags);
  const auto take = [&](const std::string& line, const std::function<bool()>& interrupted) {
    if (line == "/reset") return conversation.reset();
    if (line.empty()) return;
    std::ostringstream unused;
    std::ostream& out = flags.json ? static_cast<std::ostream&>(unused) : std::cout;
    const std::string answer = conversation.answer(line, out, interrupted);
    if (flags.json) std::cout << json_line(nlohmann::ordered_json{{"question", line}, {"answer", answer}});
    std::cout << std::endl;
  };
  if (is_interactive() && !flags.json)
    sample_session(trained.tokenizer,
                   "Ask something. /reset starts again, Ctrl-C stops an answer, Ctrl-D ends.", take);
  else
    while (const std::optional<std::string> line = read_prompt_line(trained.tokenizer)) take(*line, {});
  return kDone;
}

}  // namespace

Action add_chat(CLI::App& verb, const std::string& program) {
  auto flags = std::make_shared<ChatFlags>();
  add_model_flags(verb, flags->model);
  add_value(verb, "--system", flags->system, "TEXT", "The system message, which a conversation begins with");
  add_chat_format(verb, flags->chat_format);
  add_sampling_flags(verb, flags->sampling);
  verb.add_flag("--json", flags->json, "Print one JSON object for each question");
  set_usual_flags(verb, {"--adapter", "--weights", "--system", "--tokens", "--temperature", "--top-k",
                         "--top-p", "--greedy", "--seed", "--json"});
  verb.footer(with_program(
      R"(The format of the conversation is that of the model's chat template, if it is known, or that of
--chat-format. A line is a question; /reset begins a new conversation. An answer ends with the token
that the format has for it, or after --tokens. If a conversation does not fit into the context,
its oldest questions and answers are left out.

Examples:
  $ chat out/questions-from-smollm
  echo 'Who is Anna?' | $ chat out/questions-from-smollm --greedy --json)",
      program));
  return {[flags, &verb] {
    if (verb.count("--system") > 0) flags->systems = {{"system", flags->system}};
    return chat(*flags);
  }};
}

}  // namespace gradus::cli
