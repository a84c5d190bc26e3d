// The page of `gradus gradcheck --html`: it shows the numbers of --json, marks the op with the wrong rule, and can be used with
// the keyboard.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { browser, check, finish, folder, gradus, look } from "./pages.mjs";

// The first JSON line of `gradus gradcheck ARGS --html FILE`, which may exit with 3 for a wrong gradient.
function gradcheck(file, code, ...args) {
  const output = { stdout: "", status: 0 };
  try {
    output.stdout = execFileSync(process.argv[2], ["gradcheck", "--json", "--html", file, ...args], { encoding: "utf8", maxBuffer: 2 ** 28 });
  } catch (failure) {
    Object.assign(output, failure);
  }
  check(`gradcheck ${args.join(" ")}: exit code`, output.status, code);
  return JSON.parse(output.stdout.split("\n")[0]);
}

// What the panel of a graph says of one tensor: its numbers, from cells, a scalar or the cells of a map.
const shown = (page, graph, what) => page.evaluate((i, name) => {
  const part = document.querySelectorAll(".details")[i].querySelector(`.${name}`);
  return [...part.querySelectorAll("td:not(:empty), .scalar")].map((cell) => Number(cell.textContent));
}, graph, what);
const close = (a, b) => a.length === b.length && a.every((x, i) => Math.abs(x - b[i]) <= 6e-4 * Math.abs(b[i]));
const heading = (page) => page.evaluate(() => document.querySelector(".details h3").textContent);
const titles = (nodes) => nodes.map((node) => (node.kind === "leaf" ? node.name : `${node.op} ${node.name}`));

// A decoder over three characters.
function decoder(name, width) {
  const run = join(folder, name), text = join(folder, "abc.txt");
  writeFileSync(text, "abcacbbac".repeat(60));
  gradus("train", "--preset", "tiny", "--text", text, "--tokenizer", "char", "--layers", 1, "--heads", 1, "--embd", width, "--block", 4,
    "--steps", 2, "--quiet", "--out", run);
  return run;
}

// A model: every vertex.
const model = join(folder, "model.html");
const { graphs } = gradcheck(model, 0, "--model", decoder("small", 4));
{
  const { nodes, check: result } = graphs[0], page = await browser.open(model);
  check("the page has the data of --json", JSON.parse(await page.evaluate(() => document.getElementById("data").textContent)).graphs, graphs);
  check("the check passed", [result.passed, result.wrong_op, await page.evaluate(() => document.querySelectorAll(".faulty, .failure").length)],
    [true, null, 0]);
  check("leaves have the names of the parameters", nodes.filter((node) => node.kind === "leaf").map((node) => node.name).slice(0, 2).sort(),
    ["wpe.weight", "wte.weight"]);
  const wrong = [];
  for (const [id, node] of nodes.entries()) {
    await page.evaluate((i) => document.querySelectorAll(".vertex")[i].dispatchEvent(new MouseEvent("click")), id);
    if ((await heading(page)) !== titles(nodes)[id]) wrong.push(node.name);
    for (const key of ["value", "gradient"])
      if (!node[key] || !close(await shown(page, 0, key), node[key].values)) wrong.push(`${key} of ${node.name}`);
  }
  check(`${nodes.length} vertices show their values and gradients`, wrong, []);
  check("boxes do not overlap", await page.evaluate(() => {
    const boxes = [...document.querySelectorAll(".vertex rect")].map((rect) => rect.getBoundingClientRect());
    return boxes.flatMap((a, i) => boxes.slice(0, i).filter((b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom)).length;
  }), 0);
  check("an edge for each input", await page.evaluate(() => document.querySelectorAll(".edge").length),
    nodes.reduce((sum, node) => sum + new Set(node.inputs).size, 0));

  const focused = () => page.evaluate(() => [...document.querySelectorAll(".vertex")].indexOf(document.activeElement));
  await page.evaluate(() => document.querySelector(".vertex").focus());
  await page.key("Tab");
  check("Tab goes to the next vertex", await focused(), 1);
  await page.key("ArrowDown");
  const user = await focused();
  check("an arrow down goes to an operation that uses the leaf", nodes[user]?.inputs.includes(1), true);
  await page.key("ArrowUp");
  check("an arrow up goes to an input", nodes[user]?.inputs.includes(await focused()), true);
  const before = await focused();
  await page.key("Enter");
  check("Enter shows the vertex", await heading(page), titles(nodes)[before]);
  await page.click(".details .link");
  check("a name in the panel leads there", [await focused(), await heading(page)], [user, titles(nodes)[user]]);
  await page.close();
}

// A large tensor is a map.
{
  const file = join(folder, "large.html");
  const { nodes } = gradcheck(file, 0, "--model", decoder("wide", 100), "--order", "1").graphs[0];
  const weight = nodes.findIndex((node) => node.name === "wte.weight"), { value } = nodes[weight], page = await browser.open(file);
  check("of a large tensor, --json has the first 64 columns", [nodes[weight].shape, value.slice.map((row) => row.length), "values" in value],
    [[3, 100], [64, 64, 64], false]);
  await page.evaluate((i) => document.querySelectorAll(".vertex")[i].dispatchEvent(new MouseEvent("click")), weight);
  await page.focus(".value .map");
  for (const key of ["ArrowRight", "ArrowRight", "ArrowDown"]) await page.key(key);
  check("arrow keys read the map", Number((await page.evaluate(() => document.querySelector(".value output").textContent)).replace("[1, 2] = ", "")),
    value.slice[1][2]);
  check("its extent and its norm are those of all elements", await page.evaluate(() => document.querySelector(".value .hint").textContent),
    ["min", "max", "mean", "norm"].map((key) => `${key} ${Number(value[key].toPrecision(4))}`).join(", "));
  await page.close();
}

// Several cases of an operation.
const op = join(folder, "op.html");
{
  const line = gradcheck(op, 0, "--op", "softmax"), page = await browser.open(op);
  check("a graph for each case", [line.graphs.length, await page.evaluate(() => [...document.querySelectorAll("h2")].map((h2) => h2.textContent))],
    [line.cases, line.graphs.map((graph) => graph.case)]);
  await page.close();
}

// The operation of another program, whose gradient is twice the right one, and whose name would be an element.
const script = join(folder, "op.mjs"), faulty = join(folder, "faulty.html"), name = "<img src=x onerror=alert(1)>";
writeFileSync(script, `
import { createInterface } from "node:readline";
for await (const line of createInterface({ input: process.stdin })) {
  const { ask, inputs, cotangent } = JSON.parse(line);
  console.log(JSON.stringify(ask === "description" ? { name: ${JSON.stringify(name)}, inputs: [{ shape: [2, 2] }], output: [2, 2] }
    : { [ask]: inputs[0].map((x, i) => (ask === "value" ? x ** 3 : 6 * x * x * cotangent[i])) }));
}`);
{
  const { graphs: [{ nodes, check: { message, wrong_op: wrong } }] } = gradcheck(faulty, 3, "--command", `'${process.execPath}' '${script}'`);
  const page = await browser.open(faulty);
  check("the wrong op is the command", [nodes[wrong.node].op, Math.abs(wrong.analytic / wrong.numeric - 2) < 1e-6], ["command", true]);
  check("one vertex is marked, in its outline and in words", await page.evaluate(() => [...document.querySelectorAll(".faulty")].map((vertex) => [
    vertex.querySelector(".op").textContent, vertex.querySelector(".problem").textContent, getComputedStyle(vertex.querySelector("rect")).strokeWidth])),
  [["command %1", "✗ wrong gradient", "4px"]]);
  check("the words are in the picture", await page.evaluate(() => {
    const [words, picture] = [".problem", ".graph svg"].map((at) => document.querySelector(at).getBoundingClientRect());
    return words.right <= picture.right && words.left >= picture.left;
  }), true);
  const [failure, panel] = await page.evaluate(() => [".failure", ".details"].map((at) => document.querySelector(at).textContent));
  check("the page has the message of the check", failure, `✗ The check failed. ${message}`);
  check("the panel has both numbers", ["numeric", "analytic"].map((key) => panel.includes(`${key} ${Number(wrong[key].toPrecision(8))}`)), [true, true]);
  check("the gradient on the page is the wrong one", nodes[0].gradient.values.map((g, i) => g / nodes[0].value.values[i] ** 2 / nodes[1].gradient.values[i])
    .every((ratio) => Math.abs(ratio - 6) < 1e-9), true);
  check("a name is text", await page.evaluate(() => [document.querySelector("img"), document.querySelector("h1").textContent]), [null, `Gradient check of ${name}`]);
  await page.close();
}

// The mark is where the data says: here on an op in the middle of the model.
const marked = join(folder, "marked.html");
{
  const node = graphs[0].nodes.findIndex((vertex) => vertex.kind === "op" && vertex.inputs.length > 1);
  writeFileSync(marked, readFileSync(model, "utf8").replace('"wrong_op":null', `"wrong_op":{"node":${node},"order":1,"numeric":1.5,"analytic":-0.5,"error":""}`));
  const page = await browser.open(marked);
  check("the marked vertex is the one of the data, and is shown first", [await page.evaluate(() => document.querySelector(".faulty .op").textContent), await heading(page)],
    Array(2).fill(titles(graphs[0].nodes)[node]));
  check("it is in sight", await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => {
    const [frame, box] = [".graph", ".faulty rect"].map((at) => document.querySelector(at).getBoundingClientRect());
    done(box.top >= frame.top && box.bottom <= frame.bottom && box.left >= frame.left && box.right <= frame.right);
  }))), true);
  await page.close();
}

await look(model, "gradient-model");
await look(op, "gradient-op");
await look(faulty, "gradient-faulty");
await look(marked, "gradient-marked");
await finish();
