// The page of `gradus look --html`, against its JSON and against other calls of look and eval.
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { browser, check, finish, folder, gradus, look, near } from "./pages.mjs";

const run = join(folder, "run"), page = join(folder, "page.html"), text = join(folder, "text.txt");
gradus("train", "--preset", "tiny", "--block", 96, "--text", "README.md", "--steps", 60, "--tokenizer", "bpe", "--vocab", 300,
  "--quiet", "--out", run);
writeFileSync(text, "gradus trains a small decoder. A model reads a text, and the model predicts\nthe next token of the text.");
const json = JSON.parse(gradus("look", run, "--text", text, "--html", page, "--json"));
const ask = (...flags) => JSON.parse(gradus("look", run, "--text", text, "--json", ...flags));
const sum = (values) => values.reduce((all, x) => all + x, 0);

// -- the JSON

const points = ask("--points", "h.*.attn.pattern").activations;
const patterns = Object.values(points).flatMap(([heads]) => heads);
check("the JSON has the attention of the points", json.heads.length === patterns.length && json.heads.every((head, h) =>
  near(head.attention, patterns[h].map((row, t) => row.slice(0, t + 1)), 1e-6)), true);
const evaluated = JSON.parse(gradus("eval", run, "--text", text, "--json"));
check("the mean of the losses is eval's", near(sum(json.losses) / evaluated.tokens, evaluated.loss, 1e-5), true);
check("top has the ten likeliest tokens", json.top.every((ten, t) => ten.length === 10 && ten[0].id === json.next[t].id &&
  ten.every((token, i) => !i || token.probability <= ten[i - 1].probability)), true);

// -- the page

check("the file is small", statSync(page).size < 2e6, true);
await look(page, "text");
const open = await browser.open(page);
const said = () => open.evaluate(() => document.querySelector("aside.panel").innerText);
check("the page's losses", near(await open.evaluate(() => data.losses), json.losses, 1e-6), true);
check("the page's logit lens", near(await open.evaluate(() => data.lens.map((layer) => layer.losses)),
  json.logit_lens.map((layer) => layer.losses), 1e-6), true);
check("the page's probabilities", near(await open.evaluate(() => data.top.map((top) => top.probabilities)),
  json.top.map((ten) => ten.map((token) => token.probability)), 1e-6), true);
const lower = await open.evaluate(() => heads.map((head) => attentionOf(head).map((row, t) => row.slice(0, t + 1))));
check("the page's attention, rounded", near(lower, json.heads.map((head) => head.attention), 0.5 / 65535 + 1e-7), true);

// A token: the pointer, and the keys.
await open.point(".large .piece:nth-child(5)");
const pointed = await said();
check("the pointer shows the loss", pointed.includes(`Loss ${json.losses[3].toFixed(4)} nats`), true);
check("the pointer shows ten next tokens and the actual one", await open.evaluate(() => [
  document.querySelectorAll(".likeliest li").length - document.querySelectorAll(".likeliest li:nth-child(11)").length,
  document.querySelectorAll(".likeliest .actual").length]), [10, 1]);
await open.focus(".large .piece:nth-child(1)");
check("the first token has no loss", (await said()).includes("not predicted"), true);
for (let i = 0; i < 4; ++i) await open.key("ArrowRight");
check("keys show what the pointer shows", await said(), pointed);
const line = () => open.evaluate(() => document.activeElement.offsetTop);
const first = await line();
await open.key("ArrowDown");
const below = await line();
await open.key("ArrowUp");
check("down and up lead to the next line and back", [below > first, await line()], [true, first]);

// A head: its attention and what changes without it.
const texts = (selector) => open.evaluate((at) => [...document.querySelectorAll(at)].map((found) => found.textContent), selector);
for (const [i, how] of [[3, "click"], [1, "Enter"]]) {
  const { name, layer, head, losses } = json.heads[i], button = `.heads button[aria-label^="layer ${layer}, head ${head}:"]`;
  if (how === "click") await open.click(button);
  else {
    await open.focus(button);
    await open.key("Enter");
  }
  const ablated = ask("--ablate", name), changes = await open.evaluate((at) => changesOf(heads[at]), i);
  check(`${how} on ${name} shows it`, await texts("#head code"), [name]);
  check(`${how} on ${name}: the JSON's losses are those of --ablate`, near(losses, ablated.losses, 1e-6), true);
  check(`${how} on ${name}: so are the changes`, near(changes, ablated.losses.map((x, t) => x - json.losses[t]), 2e-6), true);
  const mean = Number((await texts("#head .measures dd")).at(-1).replace("−", "-"));
  check(`${how} on ${name}: so is the mean change`, near(mean, ablated.loss - json.loss, 5.1e-5), true);
  await open.point("#head .reading.changes .piece:nth-child(8)");
  const sentence = (await texts("#head output")).at(-1);
  check(`${how} on ${name}: the losses of a token are shown`,
    [json.losses[6], ablated.losses[6]].every((loss) => sentence.includes(loss.toFixed(4))), true);
}
const query = () => open.evaluate(() => [...document.querySelector("#head .reading").children]
  .findIndex((piece) => piece.classList.contains("query")));
await open.point("#head .reading .piece:nth-child(10)");
check("a token of the head's text is the query", await query(), 9);
check("the tokens up to it are tinted", await open.evaluate(() => [...document.querySelector("#head .reading").children]
  .map((piece) => piece.style.background !== "").lastIndexOf(true)), 9);
await open.focus("#head canvas");
for (const key of ["ArrowDown", "ArrowDown", "ArrowRight"]) await open.key(key);
const weight = await open.evaluate((w) => percent(w), json.heads[1].attention[2][1]);
check("keys read the map", (await texts("#head figure output"))[0].endsWith(weight), true);
check("the row of the map is the query", await query(), 2);

// The table of heads.
const column = async (n) => (await texts(`.head-table td:nth-child(${n})`)).map(Number);
const differences = json.heads.map((head) => head.loss - json.loss), entropies = json.heads.map((head) => head.entropy);
check("the heads are sorted by their change", near(await column(7), differences.sort((a, b) => b - a), 1e-4), true);
await open.click('[data-key="change"]');
check("a click turns the order", near(await column(7), differences.reverse(), 1e-4), true);
await open.click('[data-key="entropy"]');
check("other columns sort too", near(await column(3), entropies.sort((a, b) => b - a), 1e-3), true);

// The logit lens.
await open.focus(".lens tbody tr:nth-child(2) td:nth-child(4)");
const lensLoss = `loss ${json.logit_lens[1].losses[1].toFixed(4)} nats`;
check("a cell of the lens has its loss", (await texts("section:has(.lens) > output"))[0].endsWith(lensLoss), true);

check("nothing went wrong", open.errors, []);
await open.close();

// -- other texts and models

const unsafe = "<script>alert(1)</script>";
gradus("look", run, "--prompt", unsafe, "--html", page);
const strange = await browser.open(page);
check("markup stays text", await strange.evaluate(() => [document.querySelector(".large").textContent, document.scripts.length]),
  [unsafe, 2]);
check("markup stays text: no error", strange.errors, []);
await strange.close();
check("markup is not in the file", readFileSync(page, "utf8").includes(unsafe), false);

gradus("look", run, "--prompt", "a", "--html", page);
await look(page, "text-one-token");
const recurrent = join(folder, "recurrent");
gradus("train", "--arch", "mingru", "--text", "README.md", "--steps", 5, "--layers", 2, "--embd", 32, "--block", 32,
  "--quiet", "--out", recurrent);
gradus("look", recurrent, "--prompt", "A model reads", "--html", page);
await look(page, "text-recurrent");
await finish();
