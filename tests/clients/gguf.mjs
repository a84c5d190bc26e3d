// node gguf.mjs GRADUS PACKAGES FOLDER RUN...: exports each run as GGUF into FOLDER and asks llama.cpp, which npm has put
// into PACKAGES/node_modules, whether its tokens and its greedy text are those of gradus; and Hugging Face's reader of
// GGUF what it finds.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { Checks } from "./checks.mjs";

const [gradus, packages, folder, ...runs] = process.argv.slice(2);
const load = createRequire(join(resolve(packages), "node_modules/"));
const { getLlama, LlamaLogLevel } = await import(pathToFileURL(load.resolve("node-llama-cpp")));
const { gguf } = await import(pathToFileURL(load.resolve("@huggingface/gguf")));

const { check, finish } = new Checks();
const run = (args, input) => execFileSync(gradus, args, { input, maxBuffer: 2 ** 28 });
const ask = (verb, from, items) => JSON.parse(run(["tokenizer", verb, from, "--json"], JSON.stringify(items)));

const prompts = ["The ", "\n## A", "$ ./gradus train --text my.txt\n", "Größe, naïve café — “quotes” … 日本語 😀 ²³ ½"];
const texts = [...prompts, "", " ", "  two  spaces, tabs\t\tand\n\nlines \r\n.", "it's we'll I'd don't", "a".repeat(300), "½²³ 12 345",
               ...readFileSync("README.md", "utf8").match(/[^]{1,2000}/gu)];

/// The texts that a vocabulary can spell.
function spelt(from) {
  const file = join(from, "vocab.json");  // missing beside a tokenizer.json of others
  const { characters } = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
  const known = typeof characters === "string" && new Set(characters);
  return known ? texts.filter((text) => [...text].every((c) => known.has(c))) : texts;
}

/// How many nats llama.cpp's logits may be off: its GELU is a table of float16.
const kNear = 1 / 256;

/// What llama.cpp wrote where gradus wrote something else, up to the first token behind the prompt that is not as likely as
/// the likeliest to gradus too.
function agreed(from, prompt, text) {
  const tokens = ask("encode", from, [text])[0], behind = ask("encode", from, [prompt])[0].length;
  const { tokens: places } = JSON.parse(run(["eval", from, "--tokens", "--prompt", text, "--all", "--top", "1", "--json"]));
  const other = places.findIndex(({ probability, likeliest }, i) =>
    i >= behind && Math.log(likeliest[0].probability / probability) > kNear);
  return other < 0 ? text : ask("decode", from, [tokens.slice(0, other)])[0];
}

/// The tokens that llama.cpp takes for the likeliest, one after another. Unless told otherwise its cache is of float16 and
/// its attention computes with that, which moves logits by a thousandth: now and then more than what is between the two
/// likeliest.
async function greedy(model, tokens, count, contextSize) {
  const context = await model.createContext({ contextSize, batchSize: contextSize, threads: 1, flashAttention: false,
                                              experimentalKvCacheKeyType: "F32", experimentalKvCacheValueType: "F32" });
  const sequence = context.getSequence(), found = [];
  for await (const token of sequence.evaluate(tokens, { temperature: 0, yieldEogToken: true })) {
    found.push(token);
    if (found.length === count) break;
  }
  await context.dispose();
  return found;
}

mkdirSync(folder, { recursive: true });
const llama = await getLlama({ gpu: false, build: "never", maxThreads: 1, logLevel: LlamaLogLevel.error });
for (const from of runs) {
  const config = JSON.parse(readFileSync(join(from, "config.json")));
  const block = config.n_positions ?? config.max_position_embeddings;
  const name = basename(from);
  for (const type of ["f32", "f16", "q8_0"]) {
    const file = join(folder, `${name}.${type}.gguf`);
    run(["export", from, "--to", "gguf", "--out", file, "--type", type, "--overwrite", "--quiet"]);
    const { metadata, tensorInfos } = await gguf(file, { allowLocalFile: true });
    check(`${name} ${type}: what Hugging Face's reader finds`,
          [metadata["general.name"], metadata["general.architecture"], metadata["tokenizer.ggml.tokens"].length],
          [name, config.model_type.replace("_text", ""), config.vocab_size]);
    check(`${name} ${type}: tensors`, tensorInfos.length > 4, true);

    const model = await llama.loadModel({ modelPath: file });
    if (type === "f32") {
      const known = spelt(from), mine = ask("encode", from, known);
      check(`${name}: tokens of ${known.length} texts`, known.map((text) => model.tokenize(text, false)), mine);
      // What llama.cpp makes of GPT-2's tokens as a whole lacks the spaces before marks.
      const bare = (text) => (metadata["tokenizer.ggml.model"] === "gpt2" ? text.replaceAll(" ", "") : text);
      check(`${name}: and back`, mine.map((tokens) => model.detokenize(tokens)).map(bare), ask("decode", from, mine).map(bare));
    }
    for (const prompt of prompts.slice(0, type === "f32" ? 2 : 1)) {
      const tokens = ask("encode", from, [prompt])[0];
      const count = Math.min(type === "f32" ? 200 : 50, block - tokens.length);
      const text = run(["sample", from, "--prompt", prompt, "--greedy", "--tokens", String(count)]).toString();
      const found = await greedy(model, tokens, count, block);
      const theirs = prompt + ask("decode", from, [found])[0] + "\n";
      const what = `${name}: ${count} tokens behind ${JSON.stringify(prompt)}`;
      if (type === "f32" && theirs === text) check(what, theirs, text);
      else if (type === "f32") check(`${what}, or as likely ones`, agreed(from, prompt, theirs.slice(0, -1)), theirs.slice(0, -1));
      else {
        let same = 0;
        while (same < theirs.length && theirs[same] === text[same]) ++same;
        console.log(`      ${name} ${type}: the first ${same - prompt.length} of ${text.length - prompt.length - 1} characters are the same`);
      }
    }
    await model.dispose();
  }
}
finish();
