// A layer of attention whose input, weights, mask and options a reader changes. The address holds what differs from the lesson,
// so that a link leads to the same numbers: "#fill=0&x.3.1=1.2". The last setting is the change whose effects are shown.

// The options of nn::SelfAttention, and renormalise (of masked weights) and dropout, which are the page's own.
const layerOptions = {
  mask_on: { label: "Mask acts on", choices: ["scores", "weights", "nothing"] },
  fill: { label: "Hidden scores become", choices: ["-inf", "-1e9", "0"] },
  num_heads: { label: "Heads", choices: ["1", "2"] },
  scaled: { label: "Divide scores by √size", choices: ["0", "1"] },
  renormalise: { label: "Divide masked weights by their sum", choices: ["0", "1"] },
  safe: { label: "Rows without visible tokens become 0", choices: ["0", "1"] },
  dropout: { label: "Dropout, p = 0.5", choices: ["0", "1"] },
};
const isFlag = (name) => layerOptions[name].choices[0] === "0" && layerOptions[name].choices.length === 2;
const optionText = (value) => (typeof value === "boolean" ? String(Number(value)) : value === -1e9 ? "-1e9" : shortNumber(value));
const optionValue = (name, text) => (isFlag(name) ? text === "1" : name === "mask_on" ? text : numbers(text) || Number(text));

const matrices = ["x", "W_query", "W_key", "W_value", "mask"];

// The form of the numbers of a matrix: four decimals, as PyTorch prints them, or none if all are whole.
function fixed(rows) {
  const decimals = rows.flat().every((x) => Number.isInteger(x) || !Number.isFinite(x)) ? 0 : 4;
  return (x) => {
    const size = Math.abs(x);
    if (x === 0 || !Number.isFinite(x)) return shortNumber(x);
    return size >= 1e4 || size < 5e-5 ? x.toExponential(0).replace("e+", "e") : x.toFixed(decimals);
  };
}

// A scale of the colours of scores, on which a fill of -1e9 looks like one of -inf.
function scoreScale(rows) {
  const shown = (x) => (x <= -1e9 ? -Infinity : x),
    scale = colourScale(map(rows, shown));
  return (x) => scale(shown(x));
}

// An editable number, which has to fit into its cell.
const typed = (x) => String(Number(Math.abs(x) < 1e-3 ? x.toPrecision(2) : x.toFixed(4)));
const quoted = (token) => `“${token}”`;
const wordList = (words) => (words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`);
const features = (rows) => rows[0].map((_, j) => String(j + 1));

const arrows = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
const cellsOf = (table) => [...table.tBodies[0].rows].map((row) => [...row.cells].filter((cell) => cell.tagName === "TD"));

// A figure of a table with its name, shape and formula.
function matrixFigure(name, rows, formula, table) {
  return element(
    "figure",
    { class: "matrix", "data-matrix": name },
    element("figcaption", {}, element("b", {}, name), ` ${rows.length} × ${rows[0].length}`, element("span", {}, formula)),
    element("div", { class: "scrolled" }, table),
  );
}

// A matrix that follows from others. Cells that differ from `before` are outlined. `onread(row, column)` follows the pointer, and
// the arrow keys in the table.
function resultFigure(
  name,
  rows,
  formula,
  before,
  { rowNames = null, columnNames = features(rows), scale = scoreScale(rows), onread = null },
) {
  const table = shadedTable(rows, {
    rowNames,
    columnNames,
    scale,
    content: fixed(rows),
    cellClass: (i, j) => change(rows[i][j], before?.[i]?.[j]),
  });
  if (onread) followCells(table, onread);
  return matrixFigure(name, rows, formula, table);
}

function followCells(table, onread) {
  const cells = cellsOf(table);
  let row = 0,
    column = 0;
  const move = (i, j) => {
    if (!cells[i]?.[j]) return;
    cells[row][column].classList.remove("selected");
    cells[i][j].classList.add("selected");
    [row, column] = [i, j];
    onread(i, j);
  };
  table.tabIndex = 0;
  table.addEventListener("focus", () => move(row, column));
  table.addEventListener("pointerover", ({ target }) =>
    cells.forEach((cellsOfRow, i) => cellsOfRow.includes(target) && move(i, cellsOfRow.indexOf(target))),
  );
  table.addEventListener("keydown", (event) => {
    const by = arrows[event.key];
    if (!by) return;
    event.preventDefault();
    move(row + by[0], column + by[1]);
  });
}

// The section with the layer. `names` are the options that the reader may set; `show(layer, before)` returns what to draw below,
// where `before` is the layer before the last change. `note` is an element that stays in view.
function laboratory({ tokens, options, ...given }, names, show, note = null) {
  const lesson = {
    ...Object.fromEntries(Object.entries(given).map(([name, rows]) => [name, rows && map(rows, f32)])),
    mask: causalMask(tokens.length),
    options: { ...options, fill: numbers(options.fill), renormalise: true, dropout: false },
  };
  let layer = structuredClone(lesson),
    before = layer,
    place = null; // place: of the last change
  let selected = { matrix: "x", i: tokens.length - 1, j: 0 }; // the cell that the slider changes

  const optionIn = (settings, name) => optionText(settings.options[name]);
  const cellName = (matrix, i, j) =>
    matrix === "x" ? `feature ${j + 1} of ${quoted(tokens[i])}` : `row ${i + 1}, column ${j + 1} of ${matrix}`;

  // -- changes

  // Sets what `name` calls: an option, or a cell such as x.3.1. Returns whether there is such a place and it takes the value.
  function put(name, text) {
    if (names.includes(name)) {
      if (!layerOptions[name].choices.includes(text)) return false;
      layer.options[name] = optionValue(name, text);
      return true;
    }
    const [matrix, i, j] = name.split(".");
    if (!matrices.includes(matrix) || layer[matrix][i]?.[j] === undefined) return false;
    if (text === "" || !Number.isFinite(Number(text))) return false;
    layer[matrix][i][j] = matrix === "mask" ? text === "1" : f32(text);
    return true;
  }

  // Changes that follow each other in one place, as a slider makes them, count as one.
  function edit(name, text) {
    const old = structuredClone(layer);
    if (!put(name, text)) return;
    if (place !== name) before = old;
    place = name;
    draw();
    history.replaceState(null, "", "#" + address());
  }

  function reset() {
    layer = structuredClone(lesson);
    before = layer;
    place = null;
    draw();
    history.replaceState(null, "", "#");
  }

  function address() {
    const settings = [];
    for (const name of names) if (optionIn(layer, name) !== optionIn(lesson, name)) settings.push([name, optionIn(layer, name)]);
    for (const matrix of matrices) {
      map(layer[matrix], (value, i, j) => {
        if (value !== lesson[matrix][i][j]) settings.push([`${matrix}.${i}.${j}`, String(Number(Number(value).toPrecision(8)))]);
      });
    }
    settings.sort(([a], [b]) => (a === place) - (b === place));
    return settings.map((setting) => setting.join("=")).join("&");
  }

  function readAddress() {
    const settings = [...new URLSearchParams(location.hash.slice(1))];
    layer = structuredClone(lesson);
    before = layer;
    place = null;
    settings.forEach(([name, text], i) => {
      if (i === settings.length - 1) before = structuredClone(layer);
      if (put(name, text)) place = name;
    });
    const [matrix, i, j] = (place ?? "").split(".");
    if (matrix in tables && matrix !== "mask") selected = { matrix, i: Number(i), j: Number(j) };
    draw();
  }

  // -- what the last change did

  function changeText() {
    if (names.includes(place)) return `Setting ${place} to ${optionIn(layer, place)}`;
    const [matrix, i, j] = place.split(".").map((part, at) => (at ? Number(part) : part));
    if (matrix === "mask")
      return (layer.mask[i][j] ? `Hiding ${quoted(tokens[j])} from ` : `Showing ${quoted(tokens[j])} to `) + quoted(tokens[i]);
    return `Changing ${cellName(matrix, i, j)} from ${shortNumber(before[matrix][i][j])} to ${shortNumber(layer[matrix][i][j])}`;
  }

  function effects() {
    if (!place) return "These are the lesson's numbers. Change one, and the numbers that move are outlined.";
    const [now, old] = [layer, before].map((state) => attention(state).context);
    const kinds = now.map((row, i) => {
      const changes = row.map((x, j) => change(x, old[i][j]));
      return changes.includes("moved") ? "moved" : changes.includes("rounded") ? "rounded" : "same";
    });
    const of = (kind) => tokens.filter((_, i) => kinds[i] === kind);
    const contexts = (words) => `${words.length > 1 ? "contexts" : "context"} of ${wordList(words.map(quoted))}`;
    const moved = of("moved"),
      rounded = of("rounded"),
      same = of("same");
    const sentences = [`${changeText()} moved ${moved.length ? "the " + contexts(moved) : "no context"}.`];
    if (rounded.length) {
      const rows = [now, old].map((context) => context.filter((_, i) => kinds[i] === "rounded"));
      sentences.push(`Rounding changed the ${contexts(rounded)}, by at most ${shortNumber(largestDifference(...rows), 1)}.`);
    }
    if (same.length && moved.length + rounded.length) sentences.push(`The ${contexts(same)} did not change by a bit.`);
    const [matrix, token] = place.split(".");
    if (matrix === "x" && token > 0) {
      const earlier = tokens.filter((_, i) => i < token && kinds[i] === "moved");
      const depend = earlier.length > 1 ? "depend" : "depends";
      sentences.push(
        earlier.length ? `Earlier tokens moved: the ${contexts(earlier)} ${depend} on a later token.` : "No earlier token moved.",
      );
    }
    return sentences.join(" ");
  }

  // -- the elements

  const tables = {};

  function numberTable(matrix, rowNames) {
    const input = (value, i, j) => {
      const name = `${matrix}.${i}.${j}`;
      return element("input", {
        type: "number",
        step: "any",
        "data-cell": name,
        "aria-label": cellName(matrix, i, j),
        onfocus: () => {
          selected = { matrix, i, j };
          drawSlider();
        },
        oninput: (event) => edit(name, event.target.value),
        onblur: draw,
        onkeydown: (event) => {
          const step = { ArrowUp: 1, ArrowDown: -1 }[event.key] * (event.shiftKey ? 1 : 0.1);
          if (!step) return;
          event.preventDefault();
          edit(name, String(Number((layer[matrix][i][j] + step).toFixed(4))));
          event.target.value = typed(layer[matrix][i][j]);
        },
      });
    };
    return (tables[matrix] = shadedTable(lesson[matrix], { rowNames, columnNames: features(lesson[matrix]), content: input }));
  }

  // One stop of the Tab key; the arrow keys move within it.
  function maskTable() {
    const button = (_, i, j) =>
      element("button", {
        type: "button",
        "data-cell": `mask.${i}.${j}`,
        tabindex: i + j ? -1 : 0,
        onclick: () => edit(`mask.${i}.${j}`, layer.mask[i][j] ? "0" : "1"),
        onkeydown: (event) => {
          const [down, right] = arrows[event.key] ?? [];
          if (down === undefined) return;
          event.preventDefault();
          const next = cellsOf(tables.mask)[i + down]?.[j + right]?.firstChild;
          if (!next) return;
          event.target.tabIndex = -1;
          next.tabIndex = 0;
          next.focus();
        },
      });
    return (tables.mask = shadedTable(lesson.mask, { rowNames: tokens, columnNames: tokens, content: button }));
  }

  const sliderName = element("span"),
    sliderValue = element("output");
  const slider = element("input", {
    type: "range",
    step: 0.01,
    "aria-label": "the selected cell",
    oninput: () => edit(`${selected.matrix}.${selected.i}.${selected.j}`, slider.value),
  });
  const controls = names.map((name) => {
    const { label, choices } = layerOptions[name];
    const attributes = {
      "data-option": name,
      onchange: ({ target }) => edit(name, isFlag(name) ? String(Number(target.checked)) : target.value),
    };
    if (isFlag(name)) return element("label", { class: "option" }, element("input", { type: "checkbox", ...attributes }), label);
    return element(
      "label",
      { class: "option" },
      label,
      element(
        "select",
        attributes,
        choices.map((choice) => element("option", {}, choice)),
      ),
    );
  });
  const status = element("p", { class: "status", role: "status" }),
    results = element("div");
  const resetButton = element("button", { type: "button", class: "reset", onclick: reset }, "Reset");

  function drawSlider() {
    const { matrix, i, j } = selected,
      value = layer[matrix][i][j];
    slider.min = Math.min(-2, Math.floor(lesson[matrix][i][j] - 1), Math.floor(value));
    slider.max = Math.max(2, Math.ceil(lesson[matrix][i][j] + 1), Math.ceil(value));
    slider.value = value;
    sliderName.textContent = cellName(matrix, i, j);
    sliderValue.textContent = shortNumber(value);
    for (const cell of section.querySelectorAll(".selected:has(input)")) cell.classList.remove("selected");
    cellsOf(tables[matrix])[i][j].classList.add("selected");
  }

  function draw() {
    for (const matrix of matrices) {
      const scale = colourScale(map(layer[matrix], (value) => (matrix === "mask" ? Number(!value) / 4 : value)));
      cellsOf(tables[matrix]).forEach((row, i) =>
        row.forEach((cell, j) => {
          const value = layer[matrix][i][j],
            content = cell.firstChild;
          cell.className = change(Number(value), Number(before[matrix][i][j])) ?? "";
          cell.style = shade(matrix === "mask" ? (value ? scale(0) : sequential(0.25)) : scale(value));
          if (matrix === "mask") {
            content.textContent = value ? "–" : "✓";
            content.setAttribute("aria-label", `${tokens[i]} ${value ? "does not see" : "sees"} ${tokens[j]}`);
          } else if (content !== document.activeElement) {
            content.value = typed(value);
          }
        }),
      );
    }
    for (const control of section.querySelectorAll("[data-option]")) {
      const { option } = control.dataset;
      if (control.type === "checkbox") control.checked = layer.options[option];
      else control.value = optionIn(layer, option);
      const { mask_on: maskOn, safe } = layer.options;
      control.disabled =
        (option === "fill" && (maskOn !== "scores" || safe)) || (option === "renormalise" && maskOn !== "weights");
    }
    drawSlider();
    status.textContent = effects();
    resetButton.disabled = address() === "";
    results.replaceChildren(...show(layer, before));
  }

  const weights = (name) => matrixFigure(name, lesson[name], "", numberTable(name, features(transpose(lesson[name]))));
  const section = element(
    "section",
    { class: "laboratory" },
    element("h2", { id: "laboratory" }, "Laboratory"),
    element(
      "p",
      { class: "hint" },
      "Click a number of x or of a weight matrix and type, press the up and down arrow keys (with Shift in steps of 1), or drag the ",
      "slider. Click a cell of the mask, or press Enter, to show or hide a token. A cell with a solid outline moved with the last ",
      "change; one with a dotted outline changed by rounding only, at most 1e-6.",
    ),
    element(
      "div",
      { class: "panel steering" },
      element("div", { class: "slider" }, sliderName, slider, sliderValue, resetButton),
      element("div", { class: "options" }, controls),
      status,
    ),
    element(
      "div",
      { class: "matrices" },
      matrixFigure("x", lesson.x, "input", numberTable("x", tokens)),
      ["W_query", "W_key", "W_value"].map(weights),
      matrixFigure("mask", lesson.mask, "✓: the token of the row sees that of the column", maskTable()),
    ),
    results,
    note,
  );

  readAddress();
  addEventListener("hashchange", () => {
    if (location.hash.includes("=")) readAddress();
    section.scrollIntoView();
  });
  dark.addEventListener("change", draw);
  return section;
}
