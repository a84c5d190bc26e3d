// What all pages use: the data, elements, numbers, colours, heat maps and tables.
const data = JSON.parse(document.getElementById("data").textContent);

// element("p", { class: "hint", onclick: f }, "text", child): attributes whose names begin with "on" are listeners, and those
// that are null or false are left out.
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  setAttributes(made, attributes);
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

// The same for SVG.
function svg(name, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  setAttributes(made, attributes);
  made.append(...children.flat());
  return made;
}

function setAttributes(made, attributes) {
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
}

const page = document.getElementById("page");

function section(title, ...children) {
  return element("section", {}, element("h2", {}, title), ...children);
}

// `digits` significant digits; NaN and infinities come as null or as text.
function shortNumber(x, digits = 4) {
  if (x === null || x === undefined) return "–";
  if (typeof x !== "number") return String(x);
  if (!Number.isFinite(x)) return Number.isNaN(x) ? "nan" : x > 0 ? "inf" : "-inf";
  if (x === 0) return "0";
  const size = Math.abs(x);
  return size >= 1e6 || size < 1e-3 ? x.toExponential(digits - 1) : String(Number(x.toPrecision(digits)));
}

const grouped = (n) => Math.round(n).toLocaleString("en");
const percent = (p) => (p >= 0.1 ? (100 * p).toFixed(0) : p >= 0.001 ? (100 * p).toFixed(1) : p > 0 ? "< 0.1" : "0") + " %";

// A token as one sees it: signs for spaces and line ends.
const visibleToken = (text) => text.replace(/ /g, "␣").replace(/\n/g, "⏎").replace(/\t/g, "⇥").replace(/\p{Cc}/gu, "·");

const dark = matchMedia("(prefers-color-scheme: dark)");

// -- colours, of scales that colour-blind readers can tell apart

const mixed = (a, b, x) => a.map((from, i) => Math.round(from + (b[i] - from) * x));

// From the colour of the paper (0) to blue (1).
function sequential(x) {
  const stops = dark.matches ? [[30, 33, 38], [32, 92, 146], [132, 200, 240], [240, 249, 255]]
    : [[255, 255, 255], [158, 202, 225], [49, 130, 189], [8, 48, 107]];
  const at = Math.min(1, Math.max(0, x)) * (stops.length - 1), i = Math.min(stops.length - 2, Math.floor(at));
  return mixed(stops[i], stops[i + 1], at - i);
}

// From orange (-1) over the colour of the paper (0) to blue (1).
function diverging(x) {
  const ends = dark.matches ? [[236, 150, 60], [30, 33, 38], [90, 170, 235]] : [[214, 110, 20], [255, 255, 255], [33, 102, 172]];
  return mixed(ends[1], ends[x < 0 ? 0 : 2], Math.min(1, Math.abs(x)));
}

const rgb = (colour) => `rgb(${colour.join(" ")})`;
const inkOn = ([r, g, b]) => (0.299 * r + 0.587 * g + 0.114 * b > 140 ? "#111" : "#fff");

// A function from a value to its colour: diverging about 0 if there are negative values, else from 0 to the largest.
function colourScale(values) {
  let low = 0, high = 0;
  for (const value of values.flat(Infinity)) {
    if (!Number.isFinite(value)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  const size = Math.max(high, -low) || 1;
  return (value) => (!Number.isFinite(value) ? (dark.matches ? [70, 70, 76] : [222, 222, 222]) : low < 0 ? diverging(value / size) : sequential(value / size));
}

// -- two-dimensional values

// A figure with one pixel for each value of `rows` (an array of arrays). `describe(row, column)` is the text for a cell, shown
// below the map under the pointer, or under the cursor that the arrow keys move; `onrow(row)` and `onpick(row, column)`
// follow both, and `onpick` a click or Enter.
function heatMap(rows, { title, describe, scale = colourScale(rows), onrow = () => {}, onpick = null }) {
  const height = rows.length, width = rows[0]?.length ?? 0;
  const canvas = element("canvas", {
    class: "map", width, height, tabindex: 0, role: "img", "aria-label": `${title}: ${height} rows, ${width} columns. Arrow keys read the cells.`,
  });
  const said = element("output", {});
  const draw = () => {
    const context = canvas.getContext("2d"), image = context.createImageData(Math.max(1, width), Math.max(1, height));
    rows.forEach((row, i) => row.forEach((value, j) => {
      const at = 4 * (i * width + j), colour = scale(value);
      image.data.set([...colour, 255], at);
    }));
    context.putImageData(image, 0, 0);
  };
  let row = 0, column = 0;
  const say = () => {
    said.textContent = describe(row, column);
    onrow(row);
  };
  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect();
    row = Math.min(height - 1, Math.max(0, Math.floor((event.clientY - box.top) / box.height * height)));
    column = Math.min(width - 1, Math.max(0, Math.floor((event.clientX - box.left) / box.width * width)));
    say();
  });
  canvas.addEventListener("keydown", (event) => {
    const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (move) {
      row = Math.min(height - 1, Math.max(0, row + move[0]));
      column = Math.min(width - 1, Math.max(0, column + move[1]));
      say();
    } else if (onpick && (event.key === "Enter" || event.key === " ")) {
      onpick(row, column);
    } else {
      return;
    }
    event.preventDefault();
  });
  if (onpick) canvas.addEventListener("click", () => onpick(row, column));
  dark.addEventListener("change", draw);
  draw();
  return element("figure", {}, element("figcaption", {}, title), canvas, said);
}

// The style of a cell of this colour.
const shade = (colour) => `background: ${rgb(colour)}; color: ${inkOn(colour)}`;

// A table of numbers, shaded by value. `rowNames` and `columnNames` may be null. `content(value, row, column)` is what a cell has,
// text or an element, and `cellClass(row, column)` its class or null.
function shadedTable(rows, {
  caption = null, rowNames = null, columnNames = null, digits = 4, scale = colourScale(rows),
  content = (value) => shortNumber(value, digits), cellClass = () => null,
}) {
  const cell = (value, i, j) => element("td", { style: shade(scale(value)), class: cellClass(i, j) }, content(value, i, j));
  return element("table", { class: "shaded" },
    caption && element("caption", {}, caption),
    columnNames && element("thead", {}, element("tr", {}, rowNames && element("td"), columnNames.map((name) => element("th", { scope: "col" }, name)))),
    element("tbody", {}, rows.map((row, i) => element("tr", {}, rowNames && element("th", { scope: "row" }, rowNames[i]), row.map((value, j) => cell(value, i, j))))));
}

// A table of texts and numbers: `columns` are [title, function of a row] pairs; numbers are aligned to the right.
function plainTable(rows, columns, digits = 4) {
  const isNumber = columns.map(([, value]) => rows.every((row) => value(row) === null || typeof value(row) === "number"));
  const cellClass = (i) => (isNumber[i] ? "number" : null);
  return element("div", { class: "scrolled" }, element("table", {},
    element("thead", {}, element("tr", {}, columns.map(([title], i) => element("th", { scope: "col", class: cellClass(i) }, title)))),
    element("tbody", {}, rows.map((row) => element("tr", {}, columns.map(([, value], i) => {
      const x = value(row);
      return element("td", { class: cellClass(i) }, typeof x === "number" || x === null ? shortNumber(x, digits) : x);
    }))))));
}
