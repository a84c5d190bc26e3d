// What the pages of the lessons compute, compared with the library: 200 random edits, and the variants.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { browser, check, finish, folder, go, gradus, near } from "./pages.mjs";

const site = join(folder, "site");
const json = (...name) => JSON.parse(gradus("lesson", ...name, "--json"));
const names = json().lessons.map(({ name }) => name);
const file = (name) => join(site, `${name}.html`);
gradus("lesson", "--html-all", site);

// -- 200 random edits, compared with the library

let seed = 1;
const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
const pick = (list) => list[Math.floor(random() * list.length)];

const flat = (rows) =>
  rows.flat().map((x) => (typeof x === "boolean" || Number.isFinite(x) ? x : String(x).toLowerCase().replace("infinity", "inf")));
const tensor = (rows, dtype = "f32") => ({ dtype, shape: [rows.length, rows[0].length], data: flat(rows) });

// What the page computed, as a case of `gradus replay`, which computes it with the library.
function replayCase(name, layer, result) {
  const { options } = layer,
    steps = [],
    size = result.keys[0].length / options.num_heads;
  const step = (op, inputs, out, rows, args = {}) => {
    steps.push({ op, in: inputs, args, out, ...(rows ? { value: tensor(rows) } : {}) });
    return out;
  };
  for (const [out, weight] of [
    ["queries", "W_query"],
    ["keys", "W_key"],
    ["values", "W_value"],
  ])
    step("matmul", ["x", weight], out, result[out]);
  result.heads.forEach(({ steps: rows, context }, head) => {
    const part = (name) => step("slice", [name], `${name}${head}`, null, { dim: 1, start: head * size, end: (head + 1) * size });
    const named = (name) => `${name}${head}`;
    let last = step(
      "matmul",
      [part("queries"), step("transpose", [part("keys")], named("keysT"), null, { dim0: 0, dim1: 1 })],
      named("scores"),
      rows.scores,
    );
    if (options.scaled) last = step("div_sqrt", [last], named("scaled"), rows.scaled, { n: size });
    if (options.mask_on === "scores")
      last = step("masked_fill", [last, "mask"], named("masked"), rows.masked, { value: flat([[options.fill]])[0] });
    last = step("softmax", [last], named("weights"), rows.weights, { dim: 1 });
    if (options.mask_on === "weights") {
      last = step("mul", [last, "seen"], named("maskedWeights"), rows.maskedWeights);
      if (options.renormalise)
        last = step(
          "div",
          [last, step("sum", [last], named("sums"), null, { dim: 1, keepdim: true })],
          named("renormalised"),
          rows.renormalised,
        );
    }
    if (options.dropout) last = step("mul", [last, "dropout"], named("dropped"), rows.dropped);
    step("matmul", [last, part("values")], named("context"), context);
  });
  const inputs = {
    x: tensor(layer.x),
    mask: tensor(layer.mask, "bool"),
    seen: tensor(layer.mask.map((row) => row.map((hidden) => (hidden ? 0 : 1)))),
  };
  if (layer.dropout) inputs.dropout = tensor(layer.dropout);
  const weights = Object.fromEntries(["W_query", "W_key", "W_value"].map((matrix) => [matrix, tensor(layer[matrix])]));
  return { name, inputs, weights, steps };
}

const cases = [];
for (const name of names) {
  const opened = await browser.open(file(name)),
    { laboratory } = json(name);
  await opened.evaluate(() => {
    window.calls = [];
    const real = attention;
    attention = (layer) => {
      const result = real(layer);
      window.calls.push({ layer, result });
      return result;
    };
  });
  const matrices = ["x", "W_query", "W_key", "W_value"];
  for (let k = 0; k < Math.ceil(200 / names.length); ++k) {
    const settings = [];
    const options = {
      mask_on: ["scores", "weights", "nothing"],
      fill: ["-inf", "-1e9", "0"],
      num_heads: ["1", "2"],
      scaled: ["0", "1"],
      renormalise: ["0", "1"],
    };
    if (laboratory.dropout) options.dropout = ["0", "1"];
    for (const [option, values] of Object.entries(options)) if (random() < 0.5) settings.push(`${option}=${pick(values)}`);
    for (let edits = 1 + Math.floor(3 * random()); edits > 0; --edits) {
      const matrix = pick(matrices),
        i = Math.floor(random() * laboratory[matrix].length),
        j = Math.floor(random() * laboratory[matrix][0].length);
      settings.push(`${matrix}.${i}.${j}=${(2 * random() - 1).toFixed(3)}`);
    }
    if (random() < 0.5) settings.push(`mask.${pick([0, 1, 2])}.${pick([0, 1, 2])}=${pick([0, 1])}`);
    await go(opened, settings.join("&"));
    // JSON has no infinities: the results come as text where they are not finite.
    const called = JSON.parse(
      await opened.evaluate(() =>
        JSON.stringify(window.calls.at(-2), (_, x) => (typeof x === "number" && !Number.isFinite(x) ? String(x) : x)),
      ),
    );
    cases.push(replayCase(`${name} ${settings.join(" ")}`, called.layer, called.result));
  }
  await opened.close();
}
const replayFile = join(folder, "edits.json"),
  checks = cases.reduce((sum, { steps }) => sum + steps.filter(({ value }) => value).length, 0);
const replay = () => {
  writeFileSync(replayFile, JSON.stringify(cases));
  let out;
  try {
    out = gradus("replay", replayFile, "--json", "--quiet");
  } catch (failure) {
    out = failure.stdout;
  }
  const lines = out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  for (const { case: name, step, message } of lines.filter(({ passed, message }) => passed === false && message).slice(0, 5))
    console.log(`      ${name}: ${step}: ${message}`);
  return [lines.at(-1).passed, lines.at(-1).failed];
};
check(
  `the library computes the same in ${cases.length} random edits, to 1e-6`,
  [cases.length >= 200, replay()],
  [true, [checks, 0]],
);
cases[100].steps.at(-1).value.data[0] = Number(cases[100].steps.at(-1).value.data[0]) + 3e-6;
check("a number that is wrong by 3e-6 is noticed", replay(), [checks - 1, 1]);

// -- the variants

const compare = await browser.open(file("compare")),
  { variants } = json("compare");
const shownVariants = () =>
  compare.evaluate(() =>
    [...document.querySelectorAll(".variant")].map((card) => [card.dataset.variant, !card.querySelector(".differs")]),
  );
check(
  "the page has every variant, and marks those that agree",
  await shownVariants(),
  variants.map(({ variant, agrees }) => [variant, agrees]),
);
const contexts = await compare.evaluate(() =>
  [...document.querySelectorAll('.variant [data-matrix="context"] tbody')].map((body) =>
    [...body.rows].map((row) => [...row.cells].slice(1).map((cell) => Number(cell.textContent))),
  ),
);
check(
  "with the library's contexts",
  contexts.map((rows, i) => near(rows, variants[i].context, 5.01e-5)),
  variants.map(() => true),
);
await compare.evaluate(() => {
  const real = variantContext;
  variantContext = (variant, layer) => {
    window.layer ??= layer; // the first call has the layer as it is now
    return real(variant, layer);
  };
});
await go(compare, "x.3.1=1.2&x.5.0=0.7&W_key.0.0=-1");
check(
  "an edit moves all, and the same agree",
  await shownVariants(),
  variants.map(({ variant, agrees }) => [variant, agrees]),
);
const exact = await compare.evaluate(() =>
  data.variants.map((variant) =>
    largestDifference(variantContext(variant, window.layer), variantContext(data.variants[0], window.layer)),
  ),
);
check(
  "to rounding",
  exact.map((difference) => difference <= 1e-6),
  variants.map(({ agrees }) => agrees),
);
const disagreeing = [];
for (let k = 0; k < 20; ++k) {
  const values = ["x.0.0", "x.4.2", "W_query.1.0", "W_key.0.1", "W_key.2.0"].map(
    (place) => `${place}=${(6 * random() - 3).toFixed(3)}`,
  );
  await go(compare, `mask.${pick([0, 1])}.${pick([2, 3, 4])}=0&mask.5.${pick([0, 1, 2])}=1&${values.join("&")}`);
  const agree = Object.fromEntries(await shownVariants());
  disagreeing.push(...variants.filter(({ variant, agrees }) => agrees && !agree[variant]).map(({ variant }) => variant));
}
check("in 20 edits with another mask, none of these parts from the others", disagreeing, []);
await go(compare, "mask.0.0=1");
check(
  "a token that sees nothing parts them",
  await compare.evaluate(() =>
    ["-inf on the scores", "-1e9 on the scores", "safe softmax", "one query at a time", "fused kernel"]
      .map(
        (name) => document.querySelector(`[data-variant="${name}"] [data-matrix="context"] tbody`).rows[0].cells[1].textContent,
      )
      .map((text, i) => (i === 1 ? text !== "0" : text)),
  ),
  ["nan", true, "0", "0", "0"],
);
await compare.close();

await finish();
