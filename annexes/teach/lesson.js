// The page of a lesson, of the variants, or the list of all.

page.classList.add("lesson");
const site = data.site ?? [];

function siteLinks() {
  const here = site.findIndex(({ title }) => title === data.title);
  const link = (at, before, after) => site[at] && element("a", { href: site[at].file }, before + site[at].title + after);
  return here > 0
    ? element("nav", { "aria-label": "Lessons" }, link(0, "", ""), here > 1 && link(here - 1, "← ", ""), link(here + 1, "", " →"))
    : null;
}

function header(about) {
  return element("header", {}, siteLinks(), element("h1", {}, data.title), element("p", { class: "about" }, about));
}

const origin = ({ notebook }) => (notebook === "book" ? "The book behind the notebooks" : `Notebook ${notebook}`);

// -- the layer's results

const stepTexts = {
  scores: ["scores", () => "queries · keysᵀ"],
  scaled: ["scaled scores", ({ size }) => `scores / √${size}`],
  masked: ["masked scores", ({ options }) => `${optionText(fillOf(options))} where the mask hides`],
  weights: ["weights", () => "softmax of each row"],
  maskedWeights: ["masked weights", () => "0 where the mask hides"],
  renormalised: ["renormalised weights", () => "each row divided by its sum"],
  dropped: ["weights after dropout", () => "weights · 0 or 2"],
};

// How a number follows from others: "x × y + ...", or a sentence. `last` is the step before.
const decimal = fixed([[0.5]]);
const product = (a, b) => a.map((x, i) => `${decimal(x)} × ${decimal(b[i])}`).join(" + ");
const column = (a, j) => a.map((row) => row[j]);
const blind = ({ mask, options }, i) => options.safe && options.mask_on !== "nothing" && mask[i].every(Boolean);
const nothingSeen = (i) => `0, because ${quoted(data.laboratory.tokens[i])} sees no token.`;
function maskedScore(score, { mask, options }, i, j) {
  const [query, key] = [i, j].map((token) => quoted(data.laboratory.tokens[token]));
  return mask[i][j]
    ? `${optionText(fillOf(options))}, because the mask hides ${key} from ${query}.`
    : `${decimal(score)}, as ${query} sees ${key}.`;
}
const derivations = {
  scores: ({ queries, keys }, i, j) => product(queries[i], keys[j]),
  scaled: ({ last, size }, i, j) => `${decimal(last[i][j])} / √${size}`,
  masked: ({ last, layer }, i, j) => maskedScore(last[i][j], layer, i, j),
  weights: ({ last, layer }, i, j) =>
    blind(layer, i) && layer.options.mask_on === "scores"
      ? nothingSeen(i)
      : `e^${decimal(last[i][j])} / (${last[i].map((x) => `e^${decimal(x)}`).join(" + ")})`,
  maskedWeights: ({ last, layer }, i, j) => `${decimal(last[i][j])} × ${layer.mask[i][j] ? 0 : 1}`,
  renormalised: ({ last, layer }, i, j) =>
    blind(layer, i) ? nothingSeen(i) : `${decimal(last[i][j])} / (${last[i].map(decimal).join(" + ")})`,
  dropped: ({ last, layer }, i, j) => `${decimal(last[i][j])} × ${layer.dropout[i][j]}`,
};

const how = element("output", { class: "how" });
let read = null; // the cell whose derivation is shown, as a key of `readers` with its row and column
function sayHow(readers) {
  how.textContent =
    readers[read?.key]?.(read.i, read.j) ??
    "Point at a result, or go to its table with Tab and the arrow keys, to see how it is computed.";
}

function lessonResults(layer, before) {
  const { tokens } = data.laboratory,
    now = attention(layer),
    old = attention(before),
    count = now.heads.length,
    size = now.keys[0].length / count;
  const matrices = (...figures) => element("div", { class: "matrices" }, ...figures),
    readers = {};
  const figure = (name, rows, formula, old, options, key, derivation) => {
    readers[key] = (i, j) => {
      const place = options.columnNames
        ? `${quoted(tokens[i])} for ${quoted(tokens[j])}`
        : `feature ${j + 1} of ${quoted(tokens[i])}`;
      const text = derivation(i, j);
      return `${name}, ${place}: ${text}${text.endsWith(".") ? "" : ` = ${decimal(rows[i][j])}`}`;
    };
    const onread = (i, j) => {
      read = { key, i, j };
      sayHow(readers);
    };
    return resultFigure(name, rows, formula, old, { rowNames: tokens, ...options, onread });
  };
  const projection = (name, weights) =>
    figure(name, now[name], `x · ${weights}`, old[name], {}, name, (i, j) => product(layer.x[i], column(layer[weights], j)));
  const headTables = ({ steps }, head) =>
    Object.entries(steps).map(([name, rows], k, all) => {
      const [title, formula] = stepTexts[name],
        part = (a) => slice(a, head * size, size);
      const facts = { layer, size, queries: part(now.queries), keys: part(now.keys), last: all[k - 1]?.[1] };
      return figure(
        title,
        rows,
        formula({ size, options: layer.options }),
        old.heads[head]?.steps[name],
        { columnNames: tokens },
        name + head,
        (i, j) => derivations[name](facts, i, j),
      );
    });
  const context = figure(
    "context",
    now.context,
    count > 1 ? "weights · values, for each head" : "weights · values",
    old.context,
    {},
    "context",
    (i, j) => product(Object.values(now.heads[Math.floor(j / size)].steps).at(-1)[i], column(now.values, j)),
  );
  const heads = now.heads.flatMap((head, number) => {
    const first = number * size + 1,
      part = size > 1 ? `features ${first} to ${first + size - 1}` : `feature ${first}`;
    return [
      element("h3", {}, count > 1 ? `Head ${number + 1}: ${part} of the queries, keys and values` : "From scores to context"),
      matrices(headTables(head, number), count === 1 ? context : null),
    ];
  });
  const projections = matrices(projection("queries", "W_query"), projection("keys", "W_key"), projection("values", "W_value"));
  sayHow(readers);
  return [
    element("h3", {}, "Queries, keys and values"),
    projections,
    ...heads,
    ...(count > 1 ? [element("h3", {}, "Context"), matrices(context)] : []),
  ];
}

// -- the notebook's cells

// Tables of a tensor: one for each matrix in it.
function tensorTables(tensor, indices = []) {
  if (Array.isArray(tensor[0]?.[0])) return tensor.flatMap((part, i) => tensorTables(part, [...indices, i]));
  const rows = numbers(Array.isArray(tensor[0]) ? tensor : [tensor]),
    { tokens } = data.laboratory;
  const named = (count) => (count === tokens.length ? tokens : null);
  const isFlags = typeof rows[0][0] === "boolean";
  return [
    element(
      "div",
      { class: "scrolled" },
      shadedTable(isFlags ? map(rows, Number) : rows, {
        caption: indices.length ? `[${indices.join(", ")}]` : null,
        rowNames: named(rows.length),
        columnNames: named(rows[0].length),
        scale: isFlags ? undefined : scoreScale(rows),
        content: isFlags ? (flag) => (flag ? "True" : "False") : fixed(rows),
      }),
    ),
  ];
}

function cell({ cell: name, printed, notebook, parts }) {
  const same =
    notebook === null
      ? "The notebook's output is not known"
      : notebook === printed
        ? "The notebook prints the same"
        : "The notebook prints other digits";
  const shown = parts.map((part) =>
    Array.isArray(part) ? element("div", { class: "tensor" }, tensorTables(part)) : part.trim() && element("p", {}, part.trim()),
  );
  return element(
    "article",
    { class: "cell" },
    element("h3", {}, name),
    element(
      "div",
      {},
      shown,
      element("details", {}, element("summary", {}, `Output. ${same}.`), element("pre", { class: "scrolled" }, printed)),
    ),
  );
}

function question({ question: text, answer, setup }) {
  return element(
    "li",
    {},
    element("p", {}, text),
    element(
      "details",
      {},
      element("summary", {}, "Answer"),
      element("p", {}, answer),
      setup && element("p", {}, element("a", { href: "#" + setup }, "Show it in the laboratory")),
    ),
  );
}

function lessonPage() {
  const names = Object.keys(layerOptions).filter((name) => name !== "dropout" || data.laboratory.dropout);
  const jump = (title, id) =>
    element(
      "button",
      {
        type: "button",
        class: "link",
        onclick: () => document.getElementById(id).scrollIntoView(),
      },
      title,
    );
  page.append(
    header(`${origin(data)}. The source is ${data.source}.`),
    element("p", { class: "jumps" }, jump("Laboratory", "laboratory"), jump("Cells", "cells"), jump("Questions", "questions")),
    laboratory(data.laboratory, names, lessonResults, how),
    element(
      "section",
      {},
      element("h2", { id: "cells" }, "Cells of the notebook"),
      data.steps.map((step) => (step.cell ? cell(step) : element("p", { class: "sentence" }, step.sentence))),
    ),
    element(
      "section",
      {},
      element("h2", { id: "questions" }, "Questions"),
      element("p", { class: "hint" }, "Answer each question before you open its answer."),
      element("ol", { class: "questions" }, data.questions.map(question)),
    ),
  );
}

// -- the variants

function variantResults(layer, before) {
  const rowNames = data.laboratory.tokens,
    contexts = data.variants.map((variant) => variantContext(variant, layer)),
    [reference] = contexts;
  const differences = contexts.map((context) =>
    map(context, (x, i, j) => (Object.is(x, reference[i][j]) ? 0 : f32(x - reference[i][j]))),
  );
  const scale = colourScale(differences);
  return [
    element("h3", {}, "Contexts, and their differences from the first variant"),
    element(
      "div",
      { class: "tiles" },
      data.variants.map((variant, i) => {
        const largest = largestDifference(contexts[i], reference),
          agrees = largest <= kRounding;
        const amount = largest === 0 ? "in every bit" : `to ${shortNumber(largest, 2)}`;
        const verdict = agrees
          ? `✓ Agrees ${amount}`
          : `✗ Differs ${Number.isNaN(largest) ? "where one is nan" : `by ${shortNumber(largest, 2)}`}`;
        return element(
          "article",
          { class: "panel variant", "data-variant": variant.variant },
          element("h4", {}, variant.variant),
          element("p", { class: agrees ? "verdict agrees" : "verdict differs" }, i === 0 ? "The reference" : verdict),
          element("p", { class: "hint" }, variant.why),
          element(
            "div",
            { class: "matrices" },
            resultFigure("context", contexts[i], "", variantContext(variant, before), { rowNames }),
            i > 0 && resultFigure("difference", differences[i], "", null, { scale }),
          ),
        );
      }),
    ),
  ];
}

function variantsPage() {
  page.append(
    header(
      "Each variant computes causal attention in another way. Those that agree do so up to rounding, 1e-6. " +
        "Change the input, the weights or the mask, and see where they part.",
    ),
    laboratory(data.laboratory, [], variantResults),
  );
}

// -- the list

function listPage() {
  page.append(
    header("Each lesson runs the cells of one notebook. On its page, change the numbers of a layer and see which others move."),
    element(
      "ol",
      { class: "tiles lessons" },
      site.slice(1).map(({ file, title }) => {
        const lesson = data.lessons.find((other) => other.title === title);
        return element(
          "li",
          { class: "panel" },
          element("a", { href: file }, title),
          element("p", { class: "hint" }, lesson ? origin(lesson) : "Which implementations agree, and where the others part"),
        );
      }),
    ),
  );
}

({ lesson: lessonPage, variants: variantsPage, list: listPage })[data.kind]();
