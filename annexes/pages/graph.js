// Graphs of gradients: the vertices in rows, oldest on top, and beside them what is known of the chosen one. `data` has a
// title and graphs, each as graph_json() writes it, with the name of its case.

const isOp = (node) => node.kind !== "leaf";
const titleOf = (node) => (isOp(node) ? `${node.op} ${node.name}` : node.name);

// -- layout

const rowHeight = 92, boxHeight = 52, gap = 18;

const kindOf = (item) => (!item.kind ? "bend" : item.kind === "leaf" ? "leaf" : "op");
const mean = (block) => block.sum / block.weight;
// The average of items; weight(item) says how much one counts.
const average = (items, key, weight = () => 1) =>
  items.reduce((sum, item) => sum + weight(item) * item[key], 0) / items.reduce((sum, item) => sum + weight(item), 0);

// Gives the items of a row the x nearest to the wanted one (least squares) at which they do not overlap, in their order. Ops
// count most: leaves and bends of edges move aside.
function spread(row) {
  const blocks = [];
  let used = 0;  // the widths so far
  for (const item of row) {
    item.offset = used + item.width / 2;
    used += item.width + gap;
    const weight = kindOf(item) === "op" ? 1 : 0.05;
    blocks.push({ items: [item], weight, sum: weight * (item.wanted - item.offset) });
    // Items that would overlap become one block, which stands where they want to be on average.
    for (let n = blocks.length; n > 1 && mean(blocks[n - 2]) > mean(blocks[n - 1]); n = blocks.length) {
      const last = blocks.pop();
      blocks[n - 2].items.push(...last.items);
      blocks[n - 2].sum += last.sum;
      blocks[n - 2].weight += last.weight;
    }
  }
  for (const block of blocks) for (const item of block.items) item.x = mean(block) + item.offset;
}

// Gives each node its row and returns the rows and the edges. An op is below its lowest input, a leaf directly above the first
// op that uses it. An edge over several rows has an item in each, so that it passes between the boxes.
function rowsOf(nodes, users) {
  for (const node of nodes) node.row = isOp(node) ? 1 + Math.max(0, ...node.inputs.map((input) => nodes[input].row)) : 0;
  nodes.forEach((node, id) => {
    if (!isOp(node) && users[id].length) node.row = Math.min(...users[id].map((user) => nodes[user].row)) - 1;
  });
  const rows = [], edges = [];
  const put = (item, row) => {
    (rows[row] ??= []).push(Object.assign(item, { row, above: [], below: [] }));
    return item;
  };
  for (const node of nodes) put(node, node.row);
  nodes.forEach((node, to) => {
    for (const from of new Set(node.inputs)) {
      const path = [nodes[from]];
      for (let row = nodes[from].row + 1; row < node.row; ++row) path.push(put({ width: 8 }, row));
      path.push(node);
      for (let i = 1; i < path.length; ++i) {
        path[i - 1].below.push(path[i]);
        path[i].above.push(path[i - 1]);
      }
      edges.push({ from, to, path });
    }
  });
  return { rows, edges };
}

// Gives each node x and y; returns the edges, with the items that they pass, and the size of the whole. In sweeps down and up,
// the order within a row follows the mean place of the neighbours in the row before (barycentres), and then x follows theirs.
function layOut(nodes, users) {
  const { rows, edges } = rowsOf(nodes, users);
  const sweeps = (count, visit) => {
    for (let i = 0; i < count; ++i)
      for (const row of i % 2 ? rows.slice().reverse() : rows) visit(row, i % 2 ? "below" : "above");
  };
  const number = (row) => row.forEach((item, place) => { item.place = place; });
  rows.forEach(number);
  sweeps(12, (row, side) => {
    for (const item of row) item.wanted = item[side].length ? average(item[side], "place") : item.place;
    row.sort((a, b) => a.wanted - b.wanted);
    number(row);
  });
  for (const row of rows) {
    for (const item of row) item.wanted = 0;
    spread(row);
  }
  // Ops stand below ops, and the bends of an edge below each other.
  const weight = (item, other) => (item === other ? 8 : item === "op" ? 0.1 : 1);
  sweeps(60, (row) => {
    for (const item of row) {
      const near = [...item.above, ...item.below];
      item.wanted = near.length ? average(near, "x", (other) => weight(kindOf(item), kindOf(other))) : item.x;
    }
    spread(row);
  });
  const all = rows.flat(), left = Math.min(...all.map((item) => item.x - item.width / 2));
  for (const item of all) {
    item.x += gap - left;
    item.y = 2 * gap + boxHeight / 2 + item.row * rowHeight;
  }
  const width = Math.max(...all.map((item) => item.x + Math.max(item.width / 2, item.reach ?? 0))) + gap;
  return { edges, width, height: all.at(-1).y + boxHeight / 2 + gap };
}

// The path of an edge: a curve from row to row, and a straight line through a row, so that it touches no box.
function curve(path) {
  let [x, y] = [path[0].x, path[0].y + boxHeight / 2], text = `M${x} ${y}`;
  for (const item of path.slice(1)) {
    const to = item.y - boxHeight / 2 - (kindOf(item) === "bend" ? 0 : 7), middle = (y + to) / 2;
    text += ` C${x} ${middle} ${item.x} ${middle} ${item.x} ${to}`;
    [x, y] = [item.x, item.y + boxHeight / 2];
    if (kindOf(item) === "bend") text += ` V${y}`;
  }
  return text;
}

// -- tensors

const numbers = (n) => Array.from({ length: n }, (_, i) => i);

// The two-dimensional slices of a tensor that is given in full, each as [index in the other dimensions, rows].
function slices(values, shape) {
  const columns = shape.at(-1), rows = shape.at(-2) ?? 1, others = shape.slice(0, -2);
  return numbers(values.length / (rows * columns)).map((slice) => {
    const index = [], first = slice * rows;
    for (const size of others.slice().reverse()) {
      index.unshift(slice % size);
      slice = Math.floor(slice / size);
    }
    return [index, numbers(rows).map((i) => values.slice((first + i) * columns, (first + i + 1) * columns))];
  });
}

// What is known of a tensor; `none` says why nothing is.
function tensorView(title, tensor, shape, none) {
  const view = (...parts) => element("div", { class: title.toLowerCase() }, element("h3", {}, title), ...parts);
  if (!tensor) return view(element("p", { class: "hint" }, none));
  if (shape.length === 0) return view(element("p", { class: "scalar" }, shortNumber(tensor.values[0], 8)));
  const facts = ["min", "max", "mean", "norm"].filter((key) => key in tensor).map((key) => `${key} ${shortNumber(tensor[key])}`);
  for (const key of ["nan", "inf"]) if (tensor[key]) facts.push(`${tensor[key]} ${key}`);
  const summary = element("p", { class: "hint" }, facts.join(", "));
  const scale = colourScale(tensor.values ?? tensor.slice), isMatrix = shape.length > 1;
  const map = (caption, rows) => heatMap(rows, {
    title: caption, scale, describe: (i, j) => `[${isMatrix ? `${i}, ` : ""}${j}] = ${shortNumber(rows[i][j], 6)}`,
  });
  if (!tensor.values) {
    const range = (size) => (size > 64 ? "0:64" : ":");
    const shown = [...shape.slice(0, -2).fill(0), ...shape.slice(-2).map(range)];
    return view(summary, map(`Elements [${shown.join(", ")}]`, tensor.slice));
  }
  return view(summary, tensor.values.length === 0 ? [] : slices(tensor.values, shape).map(([index, rows]) => {
    const caption = index.length ? `[${index.join(", ")}]` : null;
    if (rows[0].length > 16) return map(caption ?? "All elements", rows);
    const names = { rowNames: isMatrix ? numbers(rows.length) : null, columnNames: numbers(rows[0].length) };
    return element("div", { class: "scrolled" }, shadedTable(rows, { caption, scale, ...names }));
  }));
}

// -- one graph

function showGraph({ case: name, nodes, check }) {
  if (nodes.length === 0) return element("section", {}, name && element("h2", {}, name), verdict(check));
  const wrong = check?.wrong_op ?? null, end = nodes.length - 1;
  const users = nodes.map(() => []);
  nodes.forEach((node, id) => new Set(node.inputs).forEach((input) => users[input].push(id)));
  const problems = nodes.map((node, id) => [
    ...(wrong?.node === id ? ["wrong gradient"] : []),
    ...["value", "gradient"].filter((key) => node[key]?.nan).map((key) => `nan in the ${key}`),
  ]);
  const lines = nodes.map((node) => {
    const title = titleOf(node), shape = `(${node.shape.join(", ")})`;
    const isScalar = node.shape.length === 0 && node.value;
    return [title.length > 32 ? `${title.slice(0, 31)}…` : title, isScalar ? `= ${shortNumber(node.value.values[0])}` : shape];
  });
  nodes.forEach((node, id) => {
    node.width = Math.max(76, 24 + 7.4 * Math.max(...lines[id].map((line) => line.length)));
    node.reach = problems[id].length ? 150 : 0;  // of the words above the box, to the right
  });
  const { edges, width, height } = layOut(nodes, users);

  const panel = element("div", { class: "panel details", "aria-live": "polite" });
  const boxes = [], curves = [], arrows = [];
  const choose = (id) => {
    boxes.forEach((box, i) => {
      box.classList.toggle("chosen", i === id);
      box.setAttribute("aria-pressed", i === id);
    });
    curves.forEach((line, i) => line.classList.toggle("near", edges[i].from === id || edges[i].to === id));
    panel.replaceChildren(...details(id));
  };
  // Along the edges: up to an input, down to a user; or beside, in the same row.
  const neighbour = (id, key) => {
    const node = nodes[id], side = key === "ArrowLeft" ? -1 : 1;
    const others = key === "ArrowUp" ? node.inputs : key === "ArrowDown" ? users[id]
      : [...nodes.keys()].filter((i) => nodes[i].row === node.row && side * (nodes[i].x - node.x) > 0);
    return others.slice().sort((a, b) => Math.abs(nodes[a].x - node.x) - Math.abs(nodes[b].x - node.x))[0];
  };

  function details(id) {
    const node = nodes[id];
    const link = (i) => element("button", { class: "link", onclick: () => { choose(i); boxes[i].focus(); } }, titleOf(nodes[i]));
    const links = (title, ids) => (ids.length === 0 ? []
      : [element("dt", {}, title), element("dd", {}, ids.flatMap((i, k) => (k ? [", ", link(i)] : [link(i)])))]);
    const none = check ? "It is not known: see the message of the check." : "No gradient arrives here.";
    return [
      element("h3", {}, titleOf(node)),
      ...(problems[id].length ? [element("p", { class: "fault" }, `✗ ${problems[id].join(", ")}`)] : []),
      ...(wrong?.node === id ? [evidence()] : []),
      element("dl", {},
        element("dt", {}, isOp(node) ? "Operation" : "Leaf"), element("dd", {}, node.text.replace(/^leaf /, "")),
        links("Inputs", [...new Set(node.inputs)]), links("Used by", users[id])),
      ...(node.kind === "multi_output" ? [] : [  // each result is a vertex of its own
        tensorView("Value", node.value, node.shape, "The graph has not kept this value: see KeepValues."),
        tensorView("Gradient", node.gradient, node.shape, none)]),
    ];
  }
  function evidence() {
    if (wrong.error) return element("p", {}, wrong.error);
    const what = wrong.order === 1 ? "its results" : "the gradients of its inputs, for a random cotangent,";
    const side = (key) => element("strong", {}, `${key} ${shortNumber(wrong[key], 8)}`);
    return element("p", {},
      `The derivative of a random combination of ${what} along a random direction of the checked inputs is `,
      side("numeric"), " by differences and ", side("analytic"), " by the rules. The operations before it are right.");
  }

  nodes.forEach((node, id) => {
    const [title, shape] = lines[id], marks = problems[id];
    const inputs = node.inputs.length ? [`inputs ${node.inputs.map((i) => titleOf(nodes[i])).join(", ")}`] : [];
    boxes.push(svg("g", {
      class: `vertex${isOp(node) ? "" : " leaf"}${id === end ? " end" : ""}${marks.length ? " faulty" : ""}`,
      tabindex: 0, role: "button", "aria-label": [`${title} ${shape}`, ...marks, ...inputs].join("; "),
      transform: `translate(${node.x} ${node.y})`,
      onclick: () => choose(id),
      onkeydown: (event) => {
        if (event.key === "Enter" || event.key === " ") choose(id);
        else if (event.key.startsWith("Arrow")) boxes[neighbour(id, event.key)]?.focus();
        else return;
        event.preventDefault();
      },
    },
    svg("title", {}, node.text),
    svg("rect", {
      x: -node.width / 2, y: -boxHeight / 2, width: node.width, height: boxHeight, rx: isOp(node) ? 6 : boxHeight / 2,
    }),
    svg("text", { y: node.kind === "multi_output" ? 5 : -5, class: "op" }, title),
    node.kind === "multi_output" ? [] : svg("text", { y: 15 }, shape),
    marks.length ? svg("text", { x: 8, y: -boxHeight / 2 - 7, class: "problem" }, `✗ ${marks[0]}`) : []));
  });
  for (const { path } of edges) {
    curves.push(svg("path", { class: "edge", d: curve(path) }));
    const { x, y } = path.at(-1);
    arrows.push(svg("path", { class: "arrow", d: `M${x} ${y - boxHeight / 2 - 1} l-4.5 -8 h9 z` }));
  }
  choose(wrong?.node ?? end);
  const about = "Graph: the arrow keys move along its edges, Enter shows a vertex";
  const frame = element("div", { class: "graph", role: "group", "aria-label": about },
    svg("svg", { width, height, viewBox: `0 0 ${width} ${height}` }, curves, arrows, boxes));
  const { x, y } = nodes[wrong?.node ?? end];
  requestAnimationFrame(() => frame.scrollTo(x - frame.clientWidth / 2, y - frame.clientHeight / 2));
  return element("section", {},
    name && element("h2", {}, name),
    check && verdict(check),
    element("div", { class: "graphs" }, frame, panel),
    element("details", {}, element("summary", {}, `The ${nodes.length} vertices as a table`), plainTable(nodes, [
      ["vertex", (node) => node.name], ["operation", (node) => node.text],
      ["inputs", (node) => node.inputs.map((i) => nodes[i].name).join(", ")],
      ["norm of the value", (node) => node.value?.norm ?? null],
      ["norm of the gradient", (node) => node.gradient?.norm ?? null]])),
    check && element("details", {}, element("summary", {}, "The largest errors of the check"), plainTable(check.inputs, [
      ["input", (input) => input.name], ["order", (input) => input.order], ["error / tolerance", (input) => input.worst],
      ["where", (input) => input.where],
      ["numeric", (input) => input.numeric], ["analytic", (input) => input.analytic]], 6)));
}

function verdict(check) {
  if (!check.passed)
    return element("p", { class: "panel failure" }, element("span", { class: "fault" }, "✗ The check failed. "), check.message);
  return element("p", {}, `✓ The check passed: ${grouped(check.checks)} comparisons, the largest error is ` +
    `${shortNumber(check.worst, 2)} times the tolerance.`);
}

page.append(
  element("header", {}, element("h1", {}, data.title), element("p", { class: "about" },
    "Values flow down, along the arrows, and gradients flow up. Inputs that need no gradient are not drawn. " +
    "Choose a vertex to see its value and its gradient; the arrow keys move along the edges.")),
  ...data.graphs.map(showGraph));
