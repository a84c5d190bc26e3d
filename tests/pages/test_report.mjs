// The page of runs: what it shows equals the JSON of `gradus report --json`.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { browser, check, finish, folder, gradus, look, near, program } from "./pages.mjs";

const train = (name, ...flags) => gradus("train", "--text", "README.md", "--preset", "tiny", "--steps", 60, "--eval-every", 10,
  "--quiet", "--out", join(folder, name), ...flags);
train("a1", "--seed", 1);
train("a2", "--seed", 2);
train("b1", "--seed", 1, "--lr", "1e-2");
train("b2", "--seed", 2, "--lr", "1e-2");
const path = (name) => join(folder, name);
const report = (...runs) => JSON.parse(gradus("report", ...runs.map(path), "--json"));

// -- the JSON equals the log

const lines = readFileSync(path("a1/metrics.jsonl"), "utf8").trim().split("\n").map(JSON.parse);
const of = (event) => lines.filter((line) => line.event === event);
const one = report("a1").runs[0];
const seven = (x) => Number(x.toPrecision(7));
check("the losses of the log", one.steps.loss, of("step").map((line) => seven(line.loss)));
check("the validation losses of the log", one.evaluations.val_loss, of("eval").map((line) => seven(line.val_loss)));
check("the samples of the log", one.samples.map((s) => s.text), of("sample").map((line) => line.text));
check("a sample for each evaluation", one.samples.length, 6);
check("the last loss", one.final_loss, seven(of("done")[0].val_loss));
const final = of("layers").at(-1).parameters;
check("all parameters", one.parameters.map((p) => [p.name, p.norm]), Object.entries(final).map(([name, norms]) => [name, seven(norms[0])]));
const sum = (name, i) => Math.hypot(...Object.entries(final).filter(([key]) => key.startsWith(name + ".")).map(([, norms]) => norms[i]));
for (const layer of one.layers.layers) {
  check(`${layer.name}: the update relative to the weights`, near(layer.update_ratio.at(-1), sum(layer.name, 2) / sum(layer.name, 0), 1e-6), true);
  check(`${layer.name}: the gradient`, near(layer.grad_norm.at(-1), sum(layer.name, 1), 1e-5), true);
}
const measured = of("layers")[0], b = measured.part_examples, B = measured.examples;
const squares = Object.values(measured.parameters).reduce((total, norms) => total + norms[1] ** 2, 0), part = measured.part_grad_norm ** 2;
check("the gradient noise", near([one.noise.squared_gradient[0], one.noise.variance[0]],
  [(B * squares - b * part) / (B - b), (part - squares) / (1 / b - 1 / B)], 1e-4 * squares), true);

// -- several runs are compared in pairs

const four = report("a1", "a2", "b1", "b2");
check("two rows of two seeds", four.rows.map((row) => row.runs), [[0, 1], [2, 3]]);
check("the settings that differ", four.differing.filter((key) => key !== "min-lr"), ["lr", "seed"]);
const loss = four.runs.map((run) => run.final_loss), pairs = [loss[2] - loss[0], loss[3] - loss[1]];
const mean = (pairs[0] + pairs[1]) / 2, error = Math.abs(pairs[0] - pairs[1]) / 2;
check("the paired difference", near([four.rows[1].difference.mean, four.rows[1].difference.error], [mean, error], 1e-6), true);
check("its p", near(four.rows[1].difference.p, 1 - 2 / Math.PI * Math.atan(Math.abs(mean) / error), 1e-6), true);

// -- the pages

for (const [name, runs] of [["report-one", ["a1"]], ["report-four", ["a1", "a2", "b1", "b2"]]]) {
  const file = path(`${name}.html`), json = report(...runs);
  gradus("report", ...runs.map(path), "--out", file, "--quiet");
  check(`${name}: below 2 MB`, readFileSync(file).length < 2e6, true);
  await look(file, name);
  const page = await browser.open(file);
  check(`${name}: its data`, await page.evaluate(() => data), json);
  const captions = await page.evaluate(() => [...document.querySelectorAll("figcaption")].map((e) => e.textContent));
  for (const title of ["Loss, nats a token", "Learning rate", "Norm of the gradient, before clipping", "Size of an update relative to the weights",
    "Gradient noise scale, tokens"]) check(`${name}: ${title}`, captions.includes(title), true);
  check(`${name}: a canvas with ink in each chart`, await page.evaluate(() => [...document.querySelectorAll(".chart canvas")].every((canvas) =>
    new Uint32Array(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer).some((pixel) => pixel !== 0))), true);

  await page.focus(".chart .plot");
  await page.key("End");
  const said = await page.evaluate(() => document.querySelector(".chart output").textContent);
  check(`${name}: the End key reads the last point`, said.startsWith("steps 60: "), true);
  await page.evaluate(() => { const x = document.getElementById("x"); x.value = "tokens"; x.dispatchEvent(new Event("change")); });
  await page.focus(".chart .plot");
  await page.key("End");
  const tokens = 60 * json.runs[0].settings.batch * json.runs[0].settings.block;
  check(`${name}: against tokens`, await page.evaluate(() => document.querySelector(".chart output").textContent.split(":")[0]), `tokens ${tokens}`);
  check(`${name}: no errors`, page.errors, []);
  await page.close();
}
const four_page = await browser.open(path("report-four.html"));
check("the table's p", await four_page.evaluate(() => Number(document.querySelector(".scrolled > table tbody tr:nth-child(2) td:last-child").textContent)),
  Number(four.rows[1].difference.p.toPrecision(4)));
check("plots of the rate and its end", await four_page.evaluate(() => document.querySelectorAll("svg circle").length), 2 * 4);
await four_page.close();

// -- train writes it, too; texts stay texts

check("train's page", readFileSync(path("a1/report.html"), "utf8").includes("<title>a1 – gradus</title>"), true);
const evil = "<img src=x onerror=console.error(1)></script><script>console.error(2)</script>";
const log = readFileSync(path("a1/metrics.jsonl"), "utf8");
writeFileSync(path("a1/metrics.jsonl"), log + JSON.stringify({ event: "sample", step: 60, text: evil }) + "\n");
gradus("report", path("a1"), "--out", path("evil.html"), "--quiet");
const page = await browser.open(path("evil.html"));
check("a sample with markup is a text", [await page.evaluate(() => [...document.querySelectorAll("pre")].at(-1).textContent), page.errors, page.requests],
  [evil, [], []]);
await page.close();

// -- what is foreign in a run blanks no page

mkdirSync(path("foreign"));
const hostile = '{"__proto__":{"toString":null}, "toString":1, "valueOf":[{"join":2}], "constructor":null, "steps":{"valueOf":{}}, "batch":[[1]]}';
writeFileSync(path("foreign/train.json"), hostile);
writeFileSync(path("foreign/metrics.jsonl"), `${log.split("\n").slice(1).join("\n")}${JSON.stringify({ event: "start", model: { toString: 1 }, bytes_per_token: {} })}\n`);
for (const runs of [["foreign"], ["a1", "foreign"], ["foreign", "a1"]]) {
  gradus("report", ...runs.map(path), "--out", path("foreign.html"), "--quiet");
  const foreign = await browser.open(path("foreign.html"));
  const row = await foreign.evaluate((key) => [...document.querySelectorAll("tr")].find((tr) => tr.cells[0].textContent === key)?.textContent, "__proto__");
  check(`${runs}: an object is text, and what a run has not is a dash`, [foreign.errors, row],
    [[], "__proto__" + runs.map((run) => (run === "a1" ? "–" : '{"toString":null}')).join("")]);
  await foreign.close();
}

// -- the page of a run that goes on reloads itself, keeps what the reader chose, and rests at the end

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const training = spawn(program, ["train", "--text", "README.md", "--preset", "tiny", "--steps", "100000", "--eval-every", "50", "--out", path("live")]);
const trained = once(training, "exit");
let said = "";
training.stderr.setEncoding("utf8").on("data", (text) => { said += text; });
while (!existsSync(path("live/report.html"))) await sleep(20);
check("train says where the page is", said.includes(`page    ${path("live/report.html")}`), true);
const live = await browser.open(path("live/report.html"));
const shown = () => live.evaluate(() => [data.is_live, data.runs[0].samples.length, document.getElementById("x").value]);
check("the first page", [(await shown())[0], live.errors], [true, []]);
await live.evaluate(() => { const x = document.getElementById("x"); x.value = "tokens"; x.dispatchEvent(new Event("change")); });
const eventually = async (f) => { while (!(await live.evaluate(f).catch(() => false))) await sleep(50); };  // it fails during a reload
await eventually(() => data.runs[0].samples.length > 1);
check("it was read again, with what the reader chose", (await shown())[2], "tokens");
training.kill("SIGTERM");
await trained;
await eventually(() => !data.is_live && performance.timing.loadEventEnd > 0);
await shown();
const loads = [];
live.listeners.set("Page.loadEventFired", () => loads.push(1));
await sleep(2500);
check("it rests at the end", [loads.length, live.errors], [0, []]);
await live.close();

// A page that was not written for a day is that of a run that was killed.
writeFileSync(path("killed.html"), readFileSync(path("live/report.html"), "utf8").replace('"is_live":false', '"is_live":true'));
utimesSync(path("killed.html"), new Date(Date.now() - 25 * 3600_000), new Date(Date.now() - 25 * 3600_000));
const killed = await browser.open(path("killed.html"));
await killed.evaluate(() => performance.timing.loadEventEnd);
loads.length = 0;
killed.listeners.set("Page.loadEventFired", () => loads.push(1));
await sleep(2500);
check("a page of a killed run rests after a day", [await killed.evaluate(() => data.is_live), loads.length], [true, 0]);
await finish();
