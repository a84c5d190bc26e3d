#include "gradus/data/chat_formats.hpp"

#include <algorithm>

#include "gradus/files/error.hpp"
#include "gradus/files/hashes.hpp"
#include "gradus/files/plain.hpp"

namespace gradus::data {
namespace {

/// ChatML, which many formats vary.
ChatFormatRow chatml(std::string_view name, std::vector<std::string_view> templates) {
  return {.name = name,
          .tokens = "<|im_start|> <|im_end|> ",
          .user = "<|im_start|>user\n{}<|im_end|>\n",
          .answer = "<|im_start|>assistant\n{}<|im_end|>\n",
          .system = "<|im_start|>system\n{}<|im_end|>\n",
          .templates = std::move(templates)};
}

ChatFormatRow llama3(std::string_view name, std::vector<std::string_view> templates) {
  return {.name = name,
          .tokens = "<|start_header_id|> <|end_header_id|> <|eot_id|> ",
          .user = "<|start_header_id|>user<|end_header_id|>\n\n{}<|eot_id|>",
          .answer = "<|start_header_id|>assistant<|end_header_id|>\n\n{}<|eot_id|>",
          .system = "<|start_header_id|>system<|end_header_id|>\n\n{}<|eot_id|>",
          .begin = "{bos}",
          .trims = true,
          .templates = std::move(templates)};
}

ChatFormatRow gemma(std::string_view name, std::vector<std::string_view> templates) {
  return {.name = name,
          .tokens = "<start_of_turn> <end_of_turn> ",
          .user = "<start_of_turn>user\n{}<end_of_turn>\n",
          .answer = "<start_of_turn>model\n{}<end_of_turn>\n",
          .begin = "{bos}",
          .trims = true,
          .alternates = true,
          .templates = std::move(templates)};
}

/// The row with some of its fields changed.
template <class F>
ChatFormatRow with(ChatFormatRow row, F&& change) {
  change(row);
  return row;
}

/// Calls use(word) for each word before a space.
template <class F>
void for_each_word(std::string_view words, F&& use) {
  for (size_t end; (end = words.find(' ')) != words.npos; words.remove_prefix(end + 1))
    use(words.substr(0, end));
}

/// The marks of a row in a text, less those that are not in it.
int likeness(const ChatFormatRow& row, std::string_view text) {
  int count = 0;
  for (const std::string_view marks : {row.tokens, row.marks})
    for_each_word(marks, [&](std::string_view mark) { count += text.find(mark) == text.npos ? -1 : 1; });
  return count;
}

/// The text as Jinja reads it: with LF as line ends, and without the last one.
std::string normalized(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] != '\r')
      result += text[i];
    else if (i + 1 == text.size() || text[i + 1] != '\n')
      result += '\n';
  if (result.ends_with('\n')) result.pop_back();
  return result;
}

}  // namespace

const std::vector<ChatFormatRow>& chat_formats() {
  using Row = ChatFormatRow;
  static const std::vector<Row> rows{
      chatml("chatml", {"e5cfc30a46b953e7", "153280e3ff55d19d", "58c1a1f04baa7ada", "d7b5b8c7b58f7a6b",
                        "fcf7a096fe99a48f", "e8c6cd531610b811", "ceede2b04032dff3"}),
      with(chatml("chatml-bos", {"bba6a276fee323a2", "49aa7cb516942cc5", "68268d4bc1d65008",
                                 "a805e50fed68938a", "bbb11deafc46a882"}),
           [](Row& row) { row.begin = "{bos}", row.marks = "bos_token "; }),
      with(chatml("smollm2", {"872be49dbb638044", "de9cde7d1b0ca0cc"}),
           [](Row& row) {
             row.default_system = "You are a helpful AI assistant named SmolLM, trained by Hugging Face";
             row.marks = "SmolLM ";
           }),
      with(chatml("qwen2", {"793202280c0910ab", "a0bc6f6fc7a29a80", "f0206845c9ebc3ab"}),
           [](Row& row) {
             row.default_system = "You are a helpful assistant.";
             row.marks = "helpful ";
           }),
      with(chatml("qwen2.5", {"247672b53afe8d18", "253093d34c0032ac", "55b2f4a26ac9ee71", "b1d2bb00d59cae00",
                              "4e9918361c284a93"}),
           [](Row& row) {
             row.default_system = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant.";
             row.marks = "Alibaba ";
           }),
      with(chatml("qwen3", {"87a2728cb8dc9fe4"}),
           [](Row& row) { row.thinks = true, row.marks = "</think> "; }),
      llama3("llama3", {"f526d765abaac0a0", "4f46ecd43418f216", "ba03a121d097859c"}),
      with(llama3("llama3-asks", {"b48c47f644389271", "b75e17085cfc511e"}),
           [](Row& row) { row.always_asks = true; }),
      with(llama3("llama3.1", {"93c0e9aa3629bbd7"}),
           [](Row& row) {
             row.first_system =
                 "<|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: December 2023\n"
                 "Today Date: 26 Jul 2024\n\n{}<|eot_id|>";
             row.default_system = "";
             row.marks = "Cutting ";
           }),
      gemma("gemma2", {"1e51d5c0fec2f83d", "ecd6ae513fe103f0", "85be955460e4cbe4"}),
      with(gemma("gemma3", {"b065de559d6f7b88", "8d9e3a3c114fb205"}),
           [](Row& row) { row.prefix = "\n\n", row.marks = "first_user_prefix "; }),
      {.name = "zephyr",
       .tokens = "",
       .marks = "<|user|> <|assistant|> ",
       .user = "<|user|>\n{}{eos}\n",
       .answer = "<|assistant|>\n{}{eos}\n",
       .system = "<|system|>\n{}{eos}\n",
       .templates = {"66291cf0045c2425"}},
      {.name = "mistral",
       .tokens = "",
       .marks = "[INST] [/INST] ",
       .user = "[INST] {} [/INST]",
       .answer = "{}{eos}",
       .begin = "{bos}",
       .alternates = true,
       .templates = {"26a59556925c9873"}},
      {.name = "deepseek3",
       .tokens = "<｜User｜> <｜Assistant｜> <｜end▁of▁sentence｜> ",
       .user = "<｜User｜>{}",
       .answer = "<｜Assistant｜>{}<｜end▁of▁sentence｜>",
       .system = "{}",
       .begin = "{bos}",
       .joins_systems = true,
       .templates = {"3b8267e54b67df65"}},
  };
  return rows;
}

const ChatFormatRow& chat_format_of(std::string_view text) {
  const std::string digest = files::sha256(normalized(text)).substr(0, 16);
  const auto& rows = chat_formats();
  for (const ChatFormatRow& row : rows)
    if (std::ranges::find(row.templates, digest) != row.templates.end()) return row;
  const auto less = [&](const auto& a, const auto& b) { return likeness(a, text) < likeness(b, text); };
  const std::string_view nearest = std::ranges::max_element(rows, less)->name;
  fail("chat", "the chat template must be a known one, whose text is never executed, got another, ", digest,
       ", which begins ", files::in_quotes(text), ". Hint: the nearest format is ", nearest, "; ",
       Option{"chat-format"}, " ", nearest, " chooses it, where it writes the same.");
}

}  // namespace gradus::data
