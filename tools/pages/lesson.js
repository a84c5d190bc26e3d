// The page of a lesson, of the variants, or the list of all.

const site = data.site ?? [];

function siteLinks() {
  const here = site.findIndex(({ title }) => title === data.title);
  const link = (at, before, after) => site[at] && element("a", { href: site[at].file }, before + site[at].title + after);
  return site.length ? element("nav", { "aria-label": "Lessons" },
    link(0, "", ""), here > 1 && link(here - 1, "← ", ""), link(here + 1, "", " →")) : null;
}

const header = (about) => element("header", {}, siteLinks(), element("h1", {}, data.title), element("p", { class: "about" }, about));

// -- the layer's results

const stepTexts = {
  scores: ["scores", () => "queries · keysᵀ"],
  scaled: ["scaled scores", ({ size }) => `scores / √${size}`],
  masked: ["masked scores", ({ options }) => `${optionText(options.safe ? -Infinity : options.fill)} where the mask hides`],
  weights: ["weights", () => "softmax of each row"],
  maskedWeights: ["masked weights", () => "0 where the mask hides"],
  renormalised: ["renormalised weights", () => "each row divided by its sum"],
  dropped: ["weights after dropout", () => "weights · 0 or 2"],
};

function lessonResults(layer, before) {
  const { tokens } = data.laboratory, now = attention(layer), old = attention(before), size = now.keys[0].length / now.heads.length;
  const projections = ["queries", "keys", "values"].map((name, i) =>
    resultFigure(name, now[name], `x · ${["W_query", "W_key", "W_value"][i]}`, old[name], tokens));
  const heads = now.heads.map(({ steps }, head) => [
    now.heads.length > 1 && element("h3", {}, `Head ${head + 1}: ${size > 1 ? "features" : "feature"} ${head * size + 1}${size > 1 ? ` to ${head * size + size}` : ""} of queries, keys and values`),
    element("div", { class: "matrices" }, Object.entries(steps).map(([step, rows]) =>
      resultFigure(stepTexts[step][0], rows, stepTexts[step][1]({ size, options: layer.options }), old.heads[head]?.steps[step], tokens, tokens)))]);
  return [
    element("h3", {}, "Queries, keys and values"), element("div", { class: "matrices" }, projections),
    now.heads.length === 1 && element("h3", {}, "From scores to weights"), heads,
    element("h3", {}, "Context"),
    element("div", { class: "matrices" }, resultFigure("context", now.context, now.heads.length > 1 ? "weights · values, head by head" : "weights · values", old.context, tokens)),
  ].flat(2).filter(Boolean);
}

// -- the notebook's cells

// Tables of a tensor: one for each matrix in it.
function tensorTables(tensor, indices = []) {
  if (Array.isArray(tensor[0]?.[0])) return tensor.flatMap((part, i) => tensorTables(part, [...indices, i]));
  const rows = numbers(Array.isArray(tensor[0]) ? tensor : [tensor]), { tokens } = data.laboratory;
  const named = (count) => (count === tokens.length ? tokens : null);
  const isFlags = typeof rows[0][0] === "boolean";
  return [element("div", { class: "scrolled" }, shadedTable(isFlags ? map(rows, Number) : rows, {
    caption: indices.length ? `[${indices.join(", ")}]` : null, rowNames: named(rows.length), columnNames: named(rows[0].length),
    content: isFlags ? (flag) => (flag ? "True" : "False") : fixed,
  }))];
}

function cell({ cell: name, printed, notebook, parts }) {
  const verdict = notebook === null ? "The notebook's numbers are not known." : notebook === printed ? "Every digit is the notebook's." : "The notebook prints other digits.";
  return element("article", { class: "cell" }, element("h3", {}, name),
    element("div", {},
      parts.map((part) => (Array.isArray(part) ? element("div", { class: "tensor" }, tensorTables(part)) : part.trim() && element("p", {}, part.trim()))).filter(Boolean),
      element("details", {}, element("summary", {}, "As printed"), element("pre", { class: "scrolled" }, printed)),
      element("p", { class: "hint" }, verdict)));
}

function question({ question: text, answer, setup }) {
  return element("li", {}, element("p", {}, text),
    element("details", {}, element("summary", {}, "Answer"), element("p", {}, answer),
      setup && element("p", {}, element("a", { href: "#" + setup }, "Show it in the laboratory"))));
}

function lessonPage() {
  const names = ["mask_on", "fill", "num_heads", "scaled", "renormalise", "safe", ...(data.laboratory.dropout ? ["dropout"] : [])];
  const jump = (title, id) => element("button", { type: "button", class: "link", onclick: () => document.getElementById(id).scrollIntoView() }, title);
  page.append(
    header([data.notebook === "book" ? "After the book" : `Notebook ${data.notebook}`, `. The source is ${data.source}. `].join("")),
    element("p", { class: "jumps" }, jump("Laboratory", "laboratory"), jump("Cells", "cells"), jump("Questions", "questions")),
    laboratory(data.laboratory, names, lessonResults),
    element("section", {}, element("h2", { id: "cells" }, "Cells of the notebook"),
      data.steps.map((step) => (step.cell ? cell(step) : element("p", { class: "sentence" }, step.sentence)))),
    element("section", {}, element("h2", { id: "questions" }, "Questions"), element("ol", { class: "questions" }, data.questions.map(question))));
}

// -- the variants

function variantResults(layer, before) {
  const { tokens } = data.laboratory, reference = variantContext(data.variants[0], layer);
  return [
    element("h3", {}, "Contexts, and their differences from the first variant"),
    element("div", { class: "tiles" }, data.variants.map((variant, i) => {
      const now = variantContext(variant, layer), old = variantContext(variant, before);
      const apart = map(now, (x, row, column) => (Object.is(x, reference[row][column]) ? 0 : f32(x - reference[row][column])));
      const largest = largestDifference(now, reference), agrees = largest <= kRounding;
      return element("article", { class: "panel variant", "data-variant": variant.variant },
        element("h4", {}, variant.variant),
        element("p", { class: agrees ? "verdict agrees" : "verdict differs" },
          i === 0 ? "The reference" : agrees ? `✓ Agrees; largest difference ${shortNumber(largest, 2)}` : `✗ Differs by ${shortNumber(largest, 2)}`),
        element("p", { class: "hint" }, variant.why),
        element("div", { class: "matrices" },
          resultFigure("context", now, "", old, tokens), i > 0 && resultFigure("difference", apart, "", null, tokens)));
    })),
  ];
}

function variantsPage() {
  page.append(
    header("Each variant computes causal attention in another way. Those that agree do so up to rounding, 1e-6. " +
      "Change the input, the weights or the mask, and see where they part."),
    laboratory(data.laboratory, [], variantResults));
}

// -- the list

function listPage() {
  page.append(
    header("Each lesson runs the cells of one notebook. On its page you change the numbers of a layer, and see which others move."),
    element("ol", { class: "tiles lessons" }, site.slice(1).map(({ file, title }) => {
      const lesson = data.lessons.find((other) => other.title === title);
      return element("li", { class: "panel" }, element("a", { href: file }, title),
        element("p", { class: "hint" }, !lesson ? "Thirteen variants side by side" : lesson.notebook === "book" ? "After the book" : `Notebook ${lesson.notebook}`));
    })));
}

({ lesson: lessonPage, variants: variantsPage, list: listPage })[data.kind]();
