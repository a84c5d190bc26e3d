// The page of a lesson, of the variants, or the list of all.

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

function lessonResults(layer, before) {
  const { tokens } = data.laboratory,
    now = attention(layer),
    old = attention(before);
  const count = now.heads.length,
    size = now.keys[0].length / count,
    matrices = (...figures) => element("div", { class: "matrices" }, ...figures);
  const result = (name, formula, weights) =>
    resultFigure(name, now[name], `${formula} · ${weights}`, old[name], { rowNames: tokens });
  const step =
    (head) =>
    ([name, rows]) => {
      const [title, formula] = stepTexts[name];
      return resultFigure(title, rows, formula({ size, options: layer.options }), old.heads[head]?.steps[name], {
        rowNames: tokens,
        columnNames: tokens,
      });
    };
  const context = result("context", "weights", count > 1 ? "values, for each head" : "values");
  const heads = now.heads.flatMap(({ steps }, head) => {
    const first = head * size + 1,
      part = size > 1 ? `features ${first} to ${first + size - 1}` : `feature ${first}`;
    return [
      element("h3", {}, count > 1 ? `Head ${head + 1}: ${part} of the queries, keys and values` : "From scores to context"),
      matrices(Object.entries(steps).map(step(head)), count === 1 ? context : null),
    ];
  });
  return [
    element("h3", {}, "Queries, keys and values"),
    matrices(result("queries", "x", "W_query"), result("keys", "x", "W_key"), result("values", "x", "W_value")),
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
    laboratory(data.laboratory, names, lessonResults),
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
