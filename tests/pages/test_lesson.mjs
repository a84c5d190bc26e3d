// The pages of the lessons: they show the numbers of the lessons, follow edits by pointer and keyboard, and say what moved.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { browser, check, finish, folder, go, gradus, look, near } from "./pages.mjs";

const json = (...name) => JSON.parse(gradus("lesson", ...name, "--json"));
const site = join(folder, "site"),
  names = json().lessons.map(({ name }) => name),
  file = (name) => join(site, `${name}.html`);

// -- the site

gradus("lesson", "--html-all", site);
const files = readdirSync(site).sort();
check(
  "the site has a list, a page for each lesson and the variants",
  files,
  ["index", "compare", ...names].map((name) => `${name}.html`).sort(),
);
for (const name of files) {
  await look(join(site, name), `lesson-${name.replace(".html", "")}`);
  const page = await browser.open(join(site, name));
  const links = await page.evaluate(() => [...document.querySelectorAll("a")].map((a) => a.getAttribute("href")));
  const away = links.filter((link) => !link.startsWith("#"));
  check(
    `${name} leads to other pages, and all are there`,
    [away.length > 0, away.filter((link) => !existsSync(join(site, link)))],
    [true, []],
  );
  const { site: ignored, ...shown } = await page.evaluate(() => data);
  check(`--json prints what ${name} shows`, json(...(shown.name ? [shown.name] : [])), shown);
  await page.close();
}

const single = join(folder, "single.html");
gradus("lesson", "000", "--html", single);
check("a page by itself has no links to others", /"site"/.test(readFileSync(single, "utf8")), false);

// -- helpers for a page

const status = (page) => page.evaluate(() => document.querySelector(".status").textContent);
const table = (name) => `[data-matrix="${name}"] table`;
// The numbers of a table, and the names of the rows in which a cell is outlined as `kind`.
const shownNumbers = (page, name) =>
  page.evaluate(
    (at) =>
      [...document.querySelector(at).tBodies[0].rows].map((row) =>
        [...row.cells].slice(1).map((cell) => (cell.textContent === "-inf" ? "-inf" : Number(cell.textContent))),
      ),
    table(name),
  );
const outlined = (page, name, kind) =>
  page.evaluate(
    (at, what) =>
      [...document.querySelector(at).tBodies[0].rows]
        .filter((row) => row.querySelector(`.${what}`))
        .map((row) => row.cells[0].textContent),
    table(name),
    kind,
  );

// -- the numbers are those of the lesson

// lesson: [address, matrix on the page, cell of the lesson, which of the cell's tensors]
const printed = {
  "causal-self-attention": [
    ["", "scores", "In [822]", 0],
    ["", "masked scores", "In [825]", 0],
    ["", "weights", "In [826]", 0],
    ["mask_on=weights", "weights", "In [816]", 0],
    ["mask_on=weights", "masked weights", "In [819]", 0],
    ["mask_on=weights", "renormalised weights", "In [820]", 1],
    ["dropout=1", "weights after dropout", "In [828]", 0],
    ["dropout=1", "context", "In [829]", 0],
  ],
  "two-masks": [
    ["mask_on=nothing", "context", "In [2]", 0],
    ["", "scores", "In [12]", 0],
    ["mask_on=weights", "weights", "In [12]", 1],
    ["mask_on=weights", "renormalised weights", "In [6]", 0],
    ["", "weights", "In [13]", 0],
    ["", "context", "In [15]", 0],
  ],
  "masked-self-attention": [
    ["", "queries", "In [9]", 0],
    ["", "keys", "In [9]", 1],
    ["", "values", "In [9]", 2],
    ["", "scores", "In [11]", 0],
    ["", "scaled scores", "In [13]", 0],
    ["", "weights", "In [15]", 0],
    ["", "context", "In [16]", 0],
  ],
  "unscaled-attention": [["", "context", "In [11]", 0]],
  "attention-chapter": [
    ["mask_on=nothing", "context", "In [27]", 0],
    ["mask_on=weights", "context", "In [41]", 0],
    ["", "weights", "In [44]", 0],
    ["", "context", "In [46]", 0],
    ["dropout=1", "weights after dropout", "In [51]", 0],
  ],
  "stacked-heads": [["", "context", "section 3.6.2", 0]],
};
check("the numbers of every lesson are compared", Object.keys(printed).sort(), [...names].sort());
for (const [name, comparisons] of Object.entries(printed)) {
  const page = await browser.open(file(name)),
    { steps, laboratory } = json(name);
  for (const [address, matrix, cell, which] of comparisons) {
    await go(page, address || "mask_on=" + laboratory.options.mask_on); // what the lesson has
    let expected = steps.find((step) => step.cell === cell).parts.filter(Array.isArray)[which];
    if (Array.isArray(expected[0][0])) [expected] = expected; // the first sequence of a batch
    check(`${name}#${address}: ${matrix} is ${cell}`, near(await shownNumbers(page, matrix), expected, 5.01e-5), true);
  }
  const inputs = await page.evaluate(() =>
    [...document.querySelectorAll('[data-cell^="x."]')].map((input) => Number(input.value)),
  );
  check(`${name}: x is the lesson's`, inputs, laboratory.x.flat());
  await page.close();
}

// -- edits by hand

const page = await browser.open(file("causal-self-attention"));
const names6 = ["Your", "journey", "starts", "with", "one", "step"];
const cell = (name) => `[data-cell="${name}"]`;
await page.click(cell("x.3.1"));
await page.evaluate((at) => document.querySelector(at).select(), cell("x.3.1"));
await page.send("Input.insertText", { text: "1.2" });
check(
  "a changed token moves itself and later ones",
  await status(page),
  "Changing feature 2 of “with” from 0.58 to 1.2 moved the contexts of “with”, “one” and “step”. " +
    "The contexts of “Your”, “journey” and “starts” did not change by a bit. No earlier token moved.",
);
check("these contexts are outlined", await outlined(page, "context", "moved"), ["with", "one", "step"]);
check("so is the changed cell", await outlined(page, "x", "moved"), ["with"]);
check(
  "only its own query, key and value move",
  [await outlined(page, "queries", "moved"), await outlined(page, "keys", "moved")],
  [["with"], ["with"]],
);
check("the address has the change", await page.evaluate(() => location.hash), "#x.3.1=1.2");

await page.key("ArrowUp");
check("the arrow key adds 0.1", await page.evaluate((at) => document.querySelector(at).value, cell("x.3.1")), "1.3");
check(
  "changes in one place count as one",
  (await status(page)).startsWith("Changing feature 2 of “with” from 0.58 to 1.3 moved"),
  true,
);
await page.focus(".slider input");
await page.key("ArrowRight");
check("the slider changes the same cell", await page.evaluate((at) => document.querySelector(at).value, cell("x.3.1")), "1.31");

await page.click(cell("mask.1.2"));
check(
  "a shown token moves the one that sees it",
  await status(page),
  "Showing “starts” to “journey” moved the context of “journey”. " +
    "The contexts of “Your”, “starts”, “with”, “one” and “step” did not change by a bit.",
);
await page.key("ArrowUp");
await page.key("ArrowRight");
await page.key("ArrowRight");
await page.key("ArrowRight");
await page.key("Enter");
check(
  "the mask follows the keyboard",
  await status(page),
  "Showing “step” to “Your” moved the context of “Your”. " +
    "The contexts of “journey”, “starts”, “with”, “one” and “step” did not change by a bit.",
);
// -- how a number is computed

const how = () => page.evaluate(() => document.querySelector(".how").textContent);
const cellAt = (name, row, column) => `[data-matrix="${name}"] tbody tr:nth-child(${row}) td:nth-child(${column + 1})`;
await page.point(cellAt("scores", 5, 1));
check(
  "the pointer shows how a score is computed",
  await how(),
  "scores, “one” for “Your”: 0.4088 × 0.3147 + -0.2232 × -0.4016 = 0.2183",
);
await page.point(cellAt("masked scores", 1, 3));
check(
  "and why one is hidden",
  await how(),
  "masked scores, “Your” for “starts”: -inf, because the mask hides “starts” from “Your”.",
);
// Each derivation is an expression: its value is that of the cell, but for the digits that it leaves out.
for (const [name, rows] of [
  ["queries", 6],
  ["keys", 6],
  ["values", 6],
  ["scores", 6],
  ["scaled scores", 6],
  ["weights", 6],
  ["context", 6],
]) {
  await page.focus(table(name));
  const found = [];
  for (let row = 0; row < rows; ++row) {
    const [, expression, value] = (await how()).match(/: (.*) = (.*)$/);
    found.push(
      Math.abs(
        eval(
          expression
            .replaceAll("×", "*")
            .replaceAll("-inf", "-Infinity")
            .replace(/√(\d+)/g, "Math.sqrt($1)")
            .replace(/e\^(-?[\w.]+)/g, "Math.exp($1)"),
        ) - Number(value),
      ) < 5e-4,
    );
    await page.key("ArrowDown");
  }
  check(`the derivations of the ${name} are right`, found, Array(rows).fill(true));
}

await page.click(".reset");
check(
  "reset restores the lesson",
  [await page.evaluate(() => location.hash), await outlined(page, "context", "moved")],
  ["", []],
);
check("and says so", (await status(page)).startsWith("These are the lesson's numbers."), true);

await go(page, "mask_on=nothing&x.3.1=1.2");
check(
  "without a mask, earlier tokens move",
  (await status(page)).endsWith("Earlier tokens moved: the contexts of “Your”, “journey” and “starts” depend on a later token."),
  true,
);
await go(page, "mask_on=weights&x.5.0=1.9");
check(
  "a mask on the weights leaks by rounding only",
  [await outlined(page, "context", "moved"), (await outlined(page, "context", "rounded")).length > 0],
  [["step"], true],
);
await go(page, "x.9.9=1&x.0.0=nan&nothing=1&mask_on=all&fill=<b>");
check("an address of nonsense changes nothing", (await status(page)).startsWith("These are the lesson's numbers."), true);
await page.close();

// -- questions

for (const name of names) {
  const opened = await browser.open(file(name)),
    { questions } = json(name);
  check(`${name} asks three to five questions`, questions.length >= 3 && questions.length <= 5, true);
  check(
    `${name}: answers are hidden`,
    await opened.evaluate(() => document.querySelectorAll(".questions details[open]").length),
    0,
  );
  await opened.click(".questions summary");
  check(
    `${name}: a click shows one`,
    await opened.evaluate(() => document.querySelectorAll(".questions details[open]").length),
    1,
  );
  for (const { setup } of questions.filter((question) => question.setup)) {
    await go(opened, setup);
    check(`${name}#${setup} is shown`, /^(Changing|Setting|Hiding|Showing) .* moved /.test(await status(opened)), true);
  }
  await opened.close();
}

await finish();
