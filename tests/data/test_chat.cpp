// Conversations as tokens, and examples from JSONL.
#include "gradus/data/chat.hpp"
#include "gradus/files/folder.hpp"

#include <nlohmann/json.hpp>

#include "autograd/compare.hpp"
#include "gradus/files/file.hpp"
#include "gradus/files/json.hpp"
#include "temporary_folder.hpp"
#include "test_files.hpp"

namespace gradus::test_chat {

using namespace gradus::data;

/// The examples of the text of a file.
Examples read_examples(const std::string& jsonl, const std::string& file, const Tokenizer& tokenizer,
                       const ExampleRules& rules) {
  return read_examples(read_records({{file, jsonl, file}}, TextRules::of(tokenizer), rules.skips_bad),
                       tokenizer, rules);
}

Tokenizer chat_bytes() { return with_chat(Tokenizer::bytes()); }

/// The text of the tokens, in which those that count are in brackets.
std::string shown(const Tokenizer& tokenizer, const Example& example) {
  std::string text;
  for (size_t i = 0; i < example.tokens.size(); ++i) {
    const bool counts = example.counts[i], counted = i > 0 && example.counts[i - 1];
    if (counts && !counted) text += "[";
    if (!counts && counted) text += "]";
    text += tokenizer.decode(std::vector<int32_t>{example.tokens[i]});
  }
  return text + (example.counts.back() ? "]" : "");
}

std::string error_of_line(const std::string& line, const Tokenizer& tokenizer) {
  return testing::error_of(
      [&] { (void)read_examples("{\"text\":\"ab\"}\n" + line, "a.jsonl", tokenizer, {}); });
}

TEST_CASE("a tokenizer with further special tokens keeps its template and its end") {
  for (const char* kind : {"byte", "bpe"}) {
    const Tokenizer chat = with_chat(Tokenizer::make(kind, "ab ab ab", 257)),
                    more = chat.with_special({"<x>"});
    CHECK(more.vocab_size() == chat.vocab_size() + 1);
    CHECK(!more.chat_template().empty());
    CHECK(more.chat_template() == chat.chat_template());
    CHECK(more.eos() == chat.eos());
  }
}

TEST_CASE("a conversation in ChatML has the tokens of its template, and its answers count") {
  const Tokenizer tokenizer = chat_bytes();
  const ChatFormat format = ChatFormat::of(tokenizer).value();
  const Example example = format.example({{"system", "Be brief."}, {"user", "Who?"}, {"assistant", "Anna."}});
  CHECK(shown(tokenizer, example) ==
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nWho?<|im_end|>\n"
        "<|im_start|>assistant\n[Anna.<|im_end|>]\n");
  CHECK(tokenizer.decode(format.prompt({{"user", "Who?"}})) ==
        "<|im_start|>user\nWho?<|im_end|>\n<|im_start|>assistant\n");
  // The text of a special token in a message is text.
  const Example odd = format.example({{"user", "<|im_end|>"}, {"assistant", "x"}});
  CHECK(std::count(odd.tokens.begin(), odd.tokens.end(), *tokenizer.token_of("<|im_end|>")) == 2);
  CHECK(!ChatFormat::of(Tokenizer::bytes()));
  CHECK_HAS(testing::error_of([&] { (void)format.example({{"robot", "x"}}); }), "got 'robot'");
  CHECK_HAS(testing::error_of([&] { (void)format.example({}); }), "got none");
}

TEST_CASE("JSONL has conversations, questions and texts") {
  const Tokenizer chat = chat_bytes(), plain = Tokenizer::bytes();
  const std::string lines =
      "{\"prompt\":\"1+1=\",\"completion\":\"2\",\"source\":7}\n\n{\"text\":\"abc\"}\r\n"
      "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"assistant\",\"content\":\"b\"}]}";
  const Examples read = read_examples(lines, "a.jsonl", chat, {});
  REQUIRE(read.examples.size() == 3);
  CHECK(shown(chat, read.examples[0]) ==
        "<|im_start|>user\n1+1=<|im_end|>\n<|im_start|>assistant\n[2<|im_end|>]\n");
  CHECK(shown(chat, read.examples[1]).starts_with("[abc"));
  CHECK(read.note().empty());
  const Examples all = read_examples(lines, "a.jsonl", chat, {.all_count = true});
  CHECK(shown(chat, all.examples[0]).starts_with("[<|im_start|>user"));
  const Examples raw = read_examples("{\"prompt\":\"1+1=\",\"completion\":\"2\"}", "a.jsonl", plain, {});
  CHECK(shown(plain, raw.examples[0]).starts_with("1+1=[2"));
}

TEST_CASE("bad lines of JSONL are named or counted, and long examples are cut") {
  const Tokenizer tokenizer = Tokenizer::characters("ab");
  CHECK_HAS(error_of_line("{\"text\":", tokenizer), "a.jsonl:2 must be JSON");
  CHECK_HAS(error_of_line("[]", tokenizer), "a.jsonl:2");
  CHECK_HAS(error_of_line("{\"txt\":\"a\"}", tokenizer),
            "[examples] a.jsonl:2 must have messages, prompt and completion, or text.");
  CHECK_HAS(error_of_line("{\"text\":3}", tokenizer), "text must be a string, got 3");
  CHECK_HAS(error_of_line("{\"text\":\"xyz\"}", tokenizer), "a.jsonl:2");
  CHECK_HAS(error_of_line("{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}", tokenizer),
            "needs a tokenizer with a chat template");
  const std::string lines = "{\"text\":\"ab\"}\nx\n{\"text\":\"ababab\"}\ny\n{\"text\":\"a\"}\n";
  const Examples read = read_examples(lines, "a.jsonl", tokenizer, {.skips_bad = true, .most_tokens = 4});
  CHECK(read.examples.size() == 2);
  CHECK(read.examples[1].tokens.size() == 4);
  CHECK(read.bad_lines == 2);
  CHECK(read.cut_tokens == 2);
  CHECK(read.without_answer == 1);
  CHECK_HAS(read.note(), "2 bad lines were skipped; 1 examples were longer");
  CHECK_HAS(testing::error_of([&] { (void)read_examples("\n", "a.jsonl", tokenizer, {}); }),
            "must have an example");
  // Lines are those of the file, in an object of several lines as well.
  CHECK_HAS(testing::error_of([&] {
              (void)read_examples("[\n{\"text\": \"a\"},\n{\n  \"text\": b\n}]", "a.json", tokenizer, {});
            }),
            "[examples] a.json:3 must be JSON, got 'b' at line 4, column 11");
  CHECK(error_of_line("{\"text\":\"xyz\"}", tokenizer).rfind('[') == 0);  // one prefix

  // Strings have the line ends of a text of characters.
  const std::string cr = R"({"prompt":"a\r\nb","completion":"b\ra"})"
                         "\n"
                         R"({"text":"a\nb"})";
  const Records one = read_records({{"a.jsonl", cr}}, TextRules::of_kind("char")),
                other = read_records({{"a.jsonl", cr}}, {});
  CHECK(texts_of(one) == "system\nuser\nassistant\na\nb\nb\na\na\nb\n");
  CHECK(texts_of(other) == "system\nuser\nassistant\na\r\nb\nb\ra\na\nb\n");
  const Examples ends = read_examples(cr, "a.jsonl", Tokenizer::characters("ab\n"), {});
  CHECK(ends.note() == "2 line ends with CR were read as LF");
  CHECK(ends.examples[0].tokens == std::vector<int32_t>{1, 0, 2, 2, 0, 1});
  CHECK(read_examples(cr, "a.jsonl", Tokenizer::characters("ab\r\n"), {}).note().empty());
}

TEST_CASE("examples are packed whole, each epoch in another order of the same windows") {
  std::vector<Example> examples;
  for (int32_t i = 1; i <= 20; ++i) {
    Example one;
    for (int32_t t = 0; t <= i % 5 + 1; ++t) one.tokens.push_back(100 * i + t);
    one.counts.assign(one.tokens.size(), true);
    one.counts[1] = false;  // the first token counts, but is no target
    one.counts.back() = true;
    examples.push_back(one);
  }
  const TextDataset dataset(examples, {examples[0]}, 8, 3);
  const auto draw = dataset.shuffled_batches(5);
  Generator unused(1);
  const Batch first = draw(3, unused, 0);
  CHECK(first.x.shape() == Shape{3, 8});
  REQUIRE(first.more.size() == 1);
  std::vector<int64_t> seen;
  int64_t windows = 0;
  for (bool done = false; !done; ++windows) {
    const Batch batch = draw(1, unused, windows);
    const auto x = batch.x.to_vector<int64_t>(), y = batch.y.to_vector<int64_t>(),
               starts = batch.more[0].to_vector<int64_t>();
    for (size_t t = 0; t < 8; ++t) {
      if (x[t] == 0) {
        CHECK(y[t] == kNoTarget);
        continue;
      }
      // An example begins with number 0 of its hundred, where its positions start.
      CHECK(x[t] % 100 == static_cast<int64_t>(t) - starts[t]);
      CHECK((y[t] == kNoTarget || y[t] == x[t] + 1));
      if (x[t] % 100 == 0) seen.push_back(x[t] / 100);
    }
    done = seen.size() >= examples.size();
  }
  std::sort(seen.begin(), seen.end());
  CHECK(std::unique(seen.begin(), seen.end()) == seen.end());
  CHECK(windows < 20);  // several examples in a window
  // The same windows at any time, in another order in the second epoch.
  CHECK(testing::difference(draw(3, unused, 0).x, first.x) == "");
  CHECK(testing::difference(draw(3, unused, windows).x, first.x) != "");
  CHECK(dataset.validation_batches(4).size() == 1);
  CHECK(count_targets(dataset.validation_batches(4)) == 1);
  CHECK(dataset.validation_targets() == 1);
  // A sample of the windows has as many targets as are wanted, or a window more, from the whole split.
  const TextDataset validated({examples[0]}, examples, 8, 3);
  const std::vector<Batch> all = validated.validation_batches(1);
  CHECK(count_targets(all) == 44);
  CHECK(validated.validation_targets() == 44);
  for (const int64_t wanted : {1, 10, 27, 43, 44, 1000}) {
    const std::vector<Batch> some = validated.validation_sample(2, wanted);
    INFO(wanted);
    CHECK(count_targets(some) >= std::min<int64_t>(wanted, 44));
    CHECK(count_targets(some) < wanted + 8);
  }
  const Tensor last = validated.validation_sample(1, 22).back().x;  // spread over all
  CHECK(
      (testing::difference(last, all.end()[-1].x) == "" || testing::difference(last, all.end()[-2].x) == ""));
  const TextDataset alone(examples, {}, 8, 3, /*alone=*/true);
  const Batch one = alone.shuffled_batches(5)(20, unused, 0);
  CHECK(amax(one.more[0].slice(1, 0, 1)).item() == 0);
}

/// A tokenizer of bytes with the special tokens of all formats, and a template or none.
Tokenizer with_template(std::string_view text, const std::string& bos = "<s>") {
  static const Tokenizer special = Tokenizer::bytes().with_special(
      {"<|im_start|>", "<|im_end|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<s>", "</s>",
       "<start_of_turn>", "<end_of_turn>", "<｜User｜>", "<｜Assistant｜>", "<｜end▁of▁sentence｜>"});
  const testing::TemporaryFolder folder;
  save_tokenizer(special, folder.path());
  nlohmann::json config{{"bos_token", bos}, {"eos_token", "</s>"}};
  if (!text.empty()) config["chat_template"] = text;
  std::ofstream(folder / "tokenizer_config.json") << config.dump();
  std::filesystem::remove(folder / files::kChecksumList);
  return load_tokenizer(folder.path());
}

TEST_CASE(
    "conversations have the text that Jinja makes with the templates of models, or are refused: chats.py") {
  const files::Json golden(files::read(testing::test_files() / "data/chats.json"), "test", "chats.json");
  const std::vector<files::Field> conversations = golden.root().at("conversations").items();
  for (const auto& [name, one] : golden.root().at("templates").members()) {
    const Tokenizer tokenizer = with_template(one.at("template").text());
    const ChatFormat format = ChatFormat::of(tokenizer).value();
    const std::vector<files::Field> rendered = one.at("rendered").items();
    for (size_t i = 0; i < conversations.size(); ++i) {
      INFO(name << ", conversation " << i);
      std::vector<Message> messages;
      for (const files::Field& turn : conversations[i].items())
        messages.push_back({std::string(turn.at("role").text()), std::string(turn.at("content").text())});
      std::string text = "refused";
      try {
        text = tokenizer.decode(messages.back().role == "user" ? format.prompt(messages)
                                                               : format.example(messages).tokens);
      } catch (const Error&) {
      }
      // Gemma's template takes later messages of the system for answers; no model has seen that.
      const auto is_system = [](const Message& message) { return message.role == "system"; };
      const bool may_refuse =
          name == "gemma3" &&
          (messages.size() == 1 || std::any_of(messages.begin() + 1, messages.end(), is_system));
      if (rendered[i].is_null())
        CHECK(text == "refused");
      else if (text != "refused" || !may_refuse)
        CHECK(text == rendered[i].text());
    }
  }
}

TEST_CASE("a chat template is known by its whole text") {
  const std::string text = chat_bytes().chat_template(), other = text + " ";
  CHECK(ChatFormat::of(with_template(text)));
  CHECK(ChatFormat::of(with_template(text + "\r\n")));  // which Jinja leaves out
  CHECK(ChatFormat::of(with_template(                   // the shortest ChatML
      "{% for m in messages %}{{ '<|im_start|>' ~ m.role ~ '\n' ~ m.content ~ '<|im_end|>\n' }}{% endfor %}"
      "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}")));
  struct {
    std::string text, nearest;
  } const cases[] = {{other, "chatml"},
                     {"{{ bos_token }}" + other, "chatml-bos"},
                     {"{{ bos_token }}<start_of_turn>{{ x }}<end_of_turn>", "gemma2"},
                     {"<|start_header_id|><|end_header_id|>{{ x }}<|eot_id|>", "llama3"}};
  for (const auto& one : cases) {
    INFO(one.text);
    const Tokenizer tokenizer = with_template(one.text);
    CHECK_HAS(testing::error_of([&] { (void)ChatFormat::of(tokenizer); }),
              "nearest format is " + one.nearest + ";");
    CHECK(ChatFormat::of(tokenizer, one.nearest));
    // A text needs no template; a line that is skipped does not hide that the template is unknown.
    CHECK(read_examples("{\"text\":\"ab\"}", "a.jsonl", tokenizer, {}).examples.size() == 1);
    CHECK_HAS(testing::error_of([&] {
                (void)read_examples("{\"prompt\":\"a\",\"completion\":\"b\"}", "a.jsonl", tokenizer,
                                    {.skips_bad = true});
              }),
              "nearest format");
  }
  CHECK_HAS(testing::error_of([&] { (void)ChatFormat::of(chat_bytes(), "chatm"); }),
            "the format must be chatml, ");
  CHECK_HAS(testing::error_of([&] { (void)ChatFormat::of(chat_bytes(), "llama3"); }),
            "must have the token <|start_header_id|> of the chat format llama3");
  CHECK_HAS(testing::error_of([&] { (void)ChatFormat::of(chat_bytes(), "chatml-bos"); }),
            "must have the bos_token");
}

TEST_CASE("in every format an answer counts with the token that ends it, and BOS is that of the tokenizer") {
  const Tokenizer tokenizer = with_template("", "<|im_end|>");
  for (const std::string& name : chat_format_names()) {
    INFO(name);
    const ChatFormat format = ChatFormat::of(tokenizer, name).value();
    const Example example = format.example({{"user", "Who?"}, {"assistant", "Anna."}});
    const std::string text = shown(tokenizer, example), end = tokenizer.decode(std::vector{format.end()});
    CHECK_HAS(text, "[Anna." + end + "]");
    CHECK(std::count(example.counts.begin(), example.counts.end(), true) == 6);
    const bool has_bos = text.starts_with("<|im_end|>"), is_chatml = name.starts_with("qwen");
    CHECK((!is_chatml || !has_bos));
    CHECK((name != "gemma3" || (has_bos && end == "<end_of_turn>")));
    Message unweighed{"assistant", "x"};
    unweighed.counts = false;
    const Example none = format.example({{"user", "Who?"}, unweighed});
    CHECK(std::count(none.counts.begin(), none.counts.end(), true) == 0);
  }
  // Llama 3.1's template writes its dates into the first message alone, which it makes if there is none.
  const auto header = [](const std::string& role) {
    return "<|start_header_id|>" + role + "<|end_header_id|>\n\n";
  };
  const std::string first =
      "<|im_end|>" + header("system") + "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n";
  const ChatFormat dated = ChatFormat::of(tokenizer, "llama3.1").value();
  CHECK(tokenizer.decode(dated.prompt({{"system", "a "}, {"user", "q"}, {"system", "b"}, {"user", "r"}})) ==
        first + "a<|eot_id|>" + header("user") + "q<|eot_id|>" + header("system") + "b<|eot_id|>" +
            header("user") + "r<|eot_id|>" + header("assistant"));
  CHECK(tokenizer.decode(dated.prompt({{"user", "q"}})) ==
        first + "<|eot_id|>" + header("user") + "q<|eot_id|>" + header("assistant"));
  // The white space of str.isspace(), and characters beside it.
  const std::string space =
      "\t\n\v\f\r\x1c\x1d\x1e\x1f \u0085\u00a0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000";
  const ChatFormat llama = ChatFormat::of(tokenizer, "llama3").value();
  const std::string kept = "\u200b x\xff\ufeff";
  CHECK(llama.prompt({{"user", space + kept + space}}) == llama.prompt({{"user", kept}}));
  CHECK(llama.prompt({{"user", space}}) == llama.prompt({{"user", ""}}));
  CHECK(llama.prompt({{"user", kept}}) != llama.prompt({{"user", "x"}}));
}

TEST_CASE("members of JSONL are understood, harmless or refused by name") {
  const Tokenizer tokenizer = with_template("");
  const auto read = [&](const std::string& line, const std::string& format) {
    return read_examples(line, "a.jsonl", tokenizer, {.chat_format = format}).examples[0];
  };
  const std::string user = R"({"role":"user","content":"Who?"})";
  const auto line = [&](const std::string& of_answer, const std::string& of_line = "") {
    return R"({"messages":[)" + user + R"(,{"role":"assistant","content":"a")" + of_answer + "}]" + of_line +
           "}";
  };
  const Example plain = read(line(""), "chatml");
  for (const char* harmless :
       {R"(,"id":7)", R"(,"tools":[])", R"(,"source":"x")", R"(,"system":"")", R"(,"weight":null)"})
    CHECK(read(line("", harmless), "chatml").tokens == plain.tokens);
  CHECK(read(R"({"messages":null,"prompt":null,"text":"a"})", "").tokens ==
        read(R"({"text":"a"})", "").tokens);
  for (const char* harmless : {R"(,"tool_calls":null)", R"(,"weight":1)", R"(,"reasoning_content":null)",
                               R"(,"reasoning_content":"")"})
    CHECK(read(line(harmless), "chatml").tokens == plain.tokens);
  CHECK_HAS(shown(tokenizer, read(line(R"(,"reasoning_content":"\nsee\n")"), "qwen3")),
            "[<think>\nsee\n</think>\n\na<|im_end|>]");
  const Example twice = read(
      R"({"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"x</think>y</think>\nz"}]})",
      "qwen3");
  CHECK_HAS(shown(tokenizer, twice), "[<think>\nx\n</think>\n\nz<|im_end|>]");
  // What a tool answers is no question, so the thoughts before it stay.
  const Example tool = read(
      R"({"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"<think>\nt\n</think>\n\na"},)"
      R"({"role":"user","content":"<tool_response>r</tool_response>"},{"role":"assistant","content":"b"}]})",
      "qwen3");
  CHECK_HAS(shown(tokenizer, tool), "[<think>\nt\n</think>\n\na<|im_end|>]");
  CHECK_HAS(testing::error_of([&] { read(line(R"(,"weight":0)"), "chatml"); }), "left out");
  for (const std::string name :
       {"tools", "weight", "system", "chosen", "rejected", "label", "functions", "prompt", "text", "images"})
    for (const std::string value : {"[1]", "false"})
      CHECK_HAS(testing::error_of([&] { read(line("", ",\"" + name + "\":" + value), "chatml"); }),
                "a.jsonl:1: " + name + " is not read");
  for (const std::string name : {"tool_calls", "name", "train", "thinking", "function_call", "tool_call_id"})
    for (const std::string value : {"\"x\"", "false"})
      CHECK_HAS(testing::error_of([&] { read(line(",\"" + name + "\":" + value), "chatml"); }),
                name + " is not read");
  CHECK_ERROR(read(R"({"messages":[{"role":"user","content":"q","reasoning_content":"x"}]})", "qwen3"),
              "have no reasoning_content, which only answers in qwen3 have");
  for (const char* wrong : {R"(,"weight":0.5)", R"(,"weight":2)", R"(,"reasoning_content":"x")"})
    CHECK(testing::error_of([&] { read(line(wrong), "chatml"); }) != "");
}

}  // namespace gradus::test_chat
