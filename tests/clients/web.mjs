// node web.mjs GRADUS FOLDER RUN...: exports each run as a page into FOLDER, runs the page's worker without a browser, and
// compares its tokens and its greedy text with those of gradus. Needs no package.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import vm from "node:vm";
import { Checks } from "./checks.mjs";

const [gradus, folder, ...runs] = process.argv.slice(2);
const run = (args, input) => execFileSync(gradus, args, { input, maxBuffer: 2 ** 28 });
const ask = (verb, from, items) => JSON.parse(run(["tokenizer", verb, from, "--json"], JSON.stringify(items)));
const { check, finish } = new Checks();

const prompts = ["The ", ""], length = 110;  // tokens, more than the block of the models of page.sh
const texts = [...prompts, "  two  spaces, tabs\t\tand\n\nlines.", "it's we'll I'd don't", "Größe, naïve “quotes” 日本語 😀 ²³ ½ \u00a0x\u0085y\ufeff",
               "a".repeat(300), readFileSync("README.md", "utf8").slice(0, 20000)];

/// What the page is sent, by its own scripts.
function opened(out) {
  const html = readFileSync(join(out, "index.html"), "utf8");
  const engine = html.match(/<script type="text\/plain" id="engine">([^]*?)<\/script>/)[1];
  let model = null, bytes = [];
  const page = { describe: (described) => (model = described), weights: (text) => bytes.push(Buffer.from(text, "base64")) };
  for (let i = -1; i < 0 || existsSync(join(out, `weights-${i}.js`)); ++i)
    vm.runInNewContext(readFileSync(join(out, i < 0 ? "model-data.js" : `weights-${i}.js`), "utf8"), { page });
  const all = Buffer.concat(bytes);
  return { engine, model, values: all.buffer.slice(all.byteOffset, all.byteOffset + all.length) };
}

/// The worker, and what it has answered.
function started({ engine, model, values }) {
  const answers = [];
  const self = { postMessage: (message) => answers.push(message) };
  const tokenizer = new Function("self", engine + "\nreturn () => tokenizer;")(self);
  const send = (data) => self.onmessage({ data });
  return { answers, send, tokenizer, ready: send({ load: model, values }) };
}

/// The page around the worker, in a document that keeps what it is given: its elements by id, and what the worker says to it.
function shown(out) {
  const script = readFileSync(join(out, "index.html"), "utf8").match(/<script>\n([^]*?)<\/script>/)[1];
  const made = () => ({
    children: [], style: { setProperty() {} }, dataset: {},
    append(...more) { this.children.push(...more); },
    replaceChildren(...others) { this.children = others; },
  });
  const elements = {}, worker = { postMessage() {} };
  const document = { body: made(), createElement: made, getElementById: (id) => (elements[id] ??= made()) };
  new Function("document", "location", "Worker", "Blob", "URL", script)(
    document, { hash: "" }, function () { return worker; }, function () {}, { createObjectURL() {} });
  return { elements, say: (data) => worker.onmessage({ data }) };
}

for (const from of runs) {
  const name = basename(from), out = join(folder, `${name}.web`);
  run(["export", from, "--to", "web", "--out", out, "--overwrite", "--quiet"]);
  const page = opened(out), worker = started(page);
  await worker.ready;
  check(`${name}: the worker is ready`, JSON.stringify(worker.answers), JSON.stringify([{ ready: true }]));

  const { elements, say } = shown(out);
  say({ began: true });
  say({ next: [{ token: 0, bytes: Uint8Array.of(65), p: 0.5, now: 0.25 }] });
  const before = elements.next.children.length;
  say({ error: "this model has never seen the character \"é\"" });
  check(`${name}: a text that was refused has no candidates`, [before, elements.next.children.length, elements.error.hidden], [1, 0, false]);

  const file = join(from, "vocab.json");  // missing beside a tokenizer.json of others
  const { characters } = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
  const letters = typeof characters === "string" && new Set(characters);
  const known = texts.filter((text) => !letters || [...text].every((c) => letters.has(c)));
  const mine = ask("encode", from, known);
  check(`${name}: tokens of ${known.length} texts`, known.map((text) => [...worker.tokenizer().encode(text)]), mine);
  check(`${name}: and back`, mine.map((tokens) => Buffer.concat(tokens.map((token) => worker.tokenizer().bytes(token))).toString()), known);

  const { tokens = [], specials = [] } = page.model.tokenizer;
  check(`${name}: the text of ${specials.length} special tokens`,
        specials.map((text) => Buffer.from(worker.tokenizer().bytes(tokens.indexOf(text))).toString()), specials);

  for (const prompt of prompts.filter((text) => known.includes(text))) {
    worker.answers.length = 0;
    await worker.send({ temperature: 0 });
    await worker.send({ begin: prompt });
    await worker.send({ write: length });
    const failed = worker.answers.find((answer) => answer.error);
    if (failed) console.log(failed.error);
    const bytes = Buffer.concat(worker.answers.filter((answer) => "token" in answer).map((answer) => answer.bytes));
    const text = run(["sample", from, "--prompt", prompt, "--greedy", "--tokens", String(length)]);
    check(`${name}: ${length} tokens behind ${JSON.stringify(prompt)}`, Buffer.concat([Buffer.from(prompt), bytes, Buffer.from("\n")]).toString("latin1"),
          text.toString("latin1"));
    const { next } = worker.answers.findLast((answer) => answer.next);
    check(`${name}: ten tokens that may follow, and one that does`,
          [next.length, next[0].now, next.every(({ p }, i) => i === 0 || p <= next[i - 1].p)], [10, 1, true]);
  }
}
finish();
