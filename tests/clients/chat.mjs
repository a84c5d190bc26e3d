// node chat.mjs GRADUS PACKAGES FOLDER: trains a small model on stories, then its adapters on 300 questions with answers, and asks
// llama.cpp, which npm has put into PACKAGES/node_modules, 20 other questions: the answers of the merged model and of the base
// model with the adapter must be those of `gradus chat`.
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { Checks } from "./checks.mjs";

const [gradus, packages, folder] = process.argv.slice(2);
const load = createRequire(join(resolve(packages), "node_modules/"));
const { getLlama, LlamaLogLevel } = await import(pathToFileURL(load.resolve("node-llama-cpp")));
const { check, finish } = new Checks();
const run = (args, input) => execFileSync(gradus, args, { input, maxBuffer: 2 ** 28 }).toString();
const path = (name) => join(folder, name);

/// All questions of a small grammar, in an order that does not change.
function questions() {
  const all = [];
  for (const name of ["Anna", "Ben", "Clara", "David", "Emma", "Felix", "Greta", "Hugo"])
    for (const colour of ["red", "green", "blue", "black", "white"])
      for (const thing of ["ball", "book", "cup", "hat"]) {
        all.push({ prompt: `What is ${name}'s ${thing} if it is ${colour}?`, completion: `It is ${name}'s ${colour} ${thing}.` });
        all.push({ prompt: `Is the ${thing} of ${name} ${colour}?`, completion: `Yes, ${name} has a ${colour} ${thing}.` });
      }
  return all.map((item, i) => ({ item, key: (i * 7919) % 320 })).sort((a, b) => a.key - b.key).map(({ item }) => item);
}

mkdirSync(folder, { recursive: true });
const all = questions(), trained = all.slice(0, 300), withheld = all.slice(300);
writeFileSync(path("questions.jsonl"), trained.map((item) => JSON.stringify(item) + "\n").join(""));
const flags = ["--quiet", "--overwrite", "--optimizer", "muon", "--lr", "1e-2"];
run(["train", "--corpus", "stories", "--tokenizer", "byte", "--chat-tokens", "--arch", "llama", "--layers", "2", "--heads", "4", "--embd", "64",
     "--kv-heads", "2", "--block", "128", "--batch", "8", "--steps", "400", "--out", path("base"), ...flags]);
run(["train", "--init-from", path("base"), "--text", path("questions.jsonl"), "--lora", "16", "--batch", "8", "--steps", "600",
     "--out", path("answers"), ...flags]);
run(["export", path("base"), "--to", "gguf", "--type", "f32", "--out", path("base.gguf"), "--overwrite", "--quiet"]);
run(["export", path("answers"), "--to", "gguf", "--type", "f32", "--out", path("merged.gguf"), "--overwrite", "--quiet"]);
run(["export", path("answers"), "--to", "gguf-adapter", "--out", path("adapter.gguf"), "--overwrite", "--quiet"]);

const ours = run(["chat", path("answers"), "--greedy", "--tokens", "60", "--json"],
                 withheld.map(({ prompt }) => prompt + "\n/reset\n").join("")).trim().split("\n").map((line) => JSON.parse(line).answer);
const right = ours.filter((answer, i) => answer === withheld[i].completion).length;
console.log(`      ${right} of ${withheld.length} answers are right, such as ${JSON.stringify(ours[0])}`);
check("most answers are right", right >= withheld.length / 2, true);

const llama = await getLlama({ gpu: false, build: "never", maxThreads: 1, logLevel: LlamaLogLevel.error });
for (const [name, file, lora] of [["merged", "merged.gguf"], ["base and adapter", "base.gguf", "adapter.gguf"]]) {
  const model = await llama.loadModel({ modelPath: path(file) });
  const context = await model.createContext({
    contextSize: 128, batchSize: 128, threads: 1, flashAttention: false, experimentalKvCacheKeyType: "F32", experimentalKvCacheValueType: "F32",
    ...(lora ? { lora: { adapters: [{ filePath: path(lora), scale: 1 }] } } : {}) });
  const answers = [];
  for (const { prompt } of withheld) {
    const sequence = context.getSequence(), found = [];
    const tokens = model.tokenize(`<|im_start|>user\n${prompt}<|im_end|>\n<|im_start|>assistant\n`, true);
    for await (const token of sequence.evaluate(tokens, { temperature: 0, yieldEogToken: true })) {
      if (model.isEogToken(token) || found.length === 60) break;
      found.push(token);
    }
    answers.push(model.detokenize(found));
    await sequence.dispose();
  }
  check(`llama.cpp, ${name}: the answers of gradus chat`, answers, ours);
  await model.dispose();
}
finish();
