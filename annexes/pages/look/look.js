// What a decoder does with a text: the page of `gradus look --html`.
const count = data.tokens.length, shown = data.shown, heads = data.heads;
const seenToken = (id) => visibleToken(data.texts[id]);
const tokenAt = (t) => seenToken(data.tokens[t]);
const lossAt = (t) => (t > 0 ? data.losses[t - 1] : null);
const signed = (x, digits = 4) => (x === null ? "–" : (x < 0 ? "−" : "+") + Math.abs(x).toFixed(digits));
const mean = (values) => values.reduce((sum, x) => sum + x, 0) / values.length;
const notPredicted = "The first token is not predicted.";
const nats = (x) => `${x.toFixed(4)} nats`;

// -- colours: pale enough for text on them; painters run again when the scheme changes

const painters = [];
function paint(painter) {
  painters.push(painter);
  painter();
}
dark.addEventListener("change", () => painters.forEach((painter) => painter()));

const upTo = (top) => (x) => sequential(Math.min(1, Math.max(0, x / top)) * (dark.matches ? 0.42 : 0.5));
const about0 = (size) => (x) => diverging(Math.max(-1, Math.min(1, x / size)) * 0.6);
const noWeight = () => (dark.matches ? [22, 24, 28] : [240, 238, 233]);
const weightColour = (w) => (Number.isFinite(w) ? sequential(Math.sqrt(w)) : noWeight());
const paleWeight = (w) => upTo(1)(Math.sqrt(w));

function colourOn(made, colour) {
  made.style.background = colour ? rgb(colour) : "";
  made.style.color = colour ? inkOn(colour) : "";
}

// A strip of colours from scale(low) to scale(high) between two texts.
function legend(scale, low, high, lowText, highText) {
  const strip = element("span", { class: "strip" });
  paint(() => {
    const stops = Array.from({ length: 13 }, (_, i) => rgb(scale(low + (high - low) * i / 12)));
    strip.style.background = `linear-gradient(90deg, ${stops.join(", ")})`;
  });
  return element("p", { class: "legend" }, lowText, strip, highText);
}

// -- one of several elements is in the tab order; `step(key, i)` is the place to which a key leads

function roving(items, step, onmove) {
  let at = 0, told = null;
  const move = (i, focus) => {
    items[at].tabIndex = -1;
    at = told = i;
    items[at].tabIndex = 0;
    if (focus) items[at].focus();
    onmove(i);
  };
  items.forEach((item, i) => {
    item.tabIndex = i ? -1 : 0;
    item.addEventListener("pointermove", () => told !== i && move(i, false));  // not when the page scrolls below the pointer
    item.addEventListener("focus", () => move(i, false));
    item.addEventListener("keydown", (event) => {
      const to = step(event.key, i);
      if (to === undefined) return;
      event.preventDefault();
      if (items[to]) move(to, true);
    });
  });
}

// The nearest item in the line above (-1) or below (1).
function inNextLine(items, i, way) {
  const boxes = items.map((item) => item.getBoundingClientRect()), from = boxes[i];
  const ahead = boxes.map((box) => way * (box.top - from.top)).filter((y) => y > from.height / 2);
  if (!ahead.length) return i;
  const line = Math.min(...ahead);
  let best = i, least = Infinity;
  boxes.forEach((box, k) => {
    const away = Math.abs(box.left - from.left);
    if (Math.abs(way * (box.top - from.top) - line) < from.height / 2 && away < least) [best, least] = [k, away];
  });
  return best;
}

// The text, each token in the colour colourOf(t) or without; `onmove(t)` follows the pointer and the focus.
function textView({ title, colourOf, onmove, kind = "" }) {
  const signs = (text) => text.replace(/\n/g, "⏎\n").replace(/\t/g, "⇥").replace(/[^\P{Cc}\n]/gu, "·");
  const spans = data.tokens.map((id) => element("span", { role: "option", class: "piece" }, signs(data.texts[id])));
  const box = element("div", {
    class: `reading ${kind}`, role: "listbox", "aria-label": `${title}. Arrow keys move through the tokens.`,
  }, spans);
  const step = (key, t) => {
    if (key === "ArrowDown" || key === "ArrowUp") return inNextLine(spans, t, key === "ArrowDown" ? 1 : -1);
    return { ArrowRight: t + 1, ArrowLeft: t - 1, Home: 0, End: count - 1 }[key];
  };
  roving(spans, step, (t) => {
    spans.forEach((span, s) => span.setAttribute("aria-selected", s === t));
    onmove(t);
  });
  const repaint = () => spans.forEach((span, t) => colourOn(span, colourOf(t)));
  paint(repaint);
  return { box, repaint, spans };
}

// -- the text

function probabilityRow(id, p, isNext) {
  return element("li", { class: isNext ? "actual" : null },
    element("span", { class: "token" }, seenToken(id)),
    element("span", { class: "bar", style: `--p: ${p}` }),
    element("span", { class: "share" }, percent(p)));
}

function showToken(panel, t) {
  const { tokens, probabilities } = data.top[t], next = data.tokens[t + 1], loss = lossAt(t);
  const rows = tokens.map((id, i) => probabilityRow(id, probabilities[i], id === next));
  if (next !== undefined && !tokens.includes(next)) rows.push(probabilityRow(next, Math.exp(-data.losses[t]), true));
  panel.replaceChildren(
    element("p", { class: "chosen" }, element("span", { class: "token" }, tokenAt(t)),
      element("span", { class: "hint" }, ` position ${t}, token ${data.tokens[t]}`)),
    element("p", { class: "parts" }, loss === null ? notPredicted
      : [element("span", {}, `Loss ${nats(loss)}`), " ", element("span", {}, `Probability ${percent(Math.exp(-loss))}`)]),
    element("p", { class: "hint" }, `The likeliest next tokens${next === undefined ? "" : "; the actual one is bold"}:`),
    element("ol", { class: "likeliest" }, rows));
}

function textSection() {
  const top = Math.max(1e-6, ...data.losses), panel = element("aside", { class: "panel", "aria-live": "polite" });
  const view = textView({
    title: "The text, coloured by loss", kind: "large", onmove: (t) => showToken(panel, t),
    colourOf: (t) => (t ? upTo(top)(lossAt(t)) : null),
  });
  showToken(panel, count - 1);
  const uniform = Math.log(data.vocab_size);
  return section("The text",
    element("p", {}, data.losses.length ? `Mean loss ${nats(mean(data.losses))} a token. ` : "",
      element("span", { class: "hint" }, `A uniform guess among ${grouped(data.vocab_size)} tokens has ${nats(uniform)}.`)),
    data.losses.length ? legend(upTo(top), 0, top, "expected, 0", `surprising, ${nats(top)}`) : null,
    element("div", { class: "beside" }, view.box, panel));
}

// -- heads

const bytesOf = (base64) => new DataView(Uint8Array.from(atob(base64), (c) => c.charCodeAt(0)).buffer);

// The weights of a head, as rows; NaN where no position attends.
function attentionOf(head) {
  const bytes = bytesOf(head.attention);
  return Array.from({ length: shown }, (_, t) => Array.from({ length: shown }, (_, s) =>
    (s > t ? NaN : bytes.getUint16(t * (t + 1) + 2 * s, true) / 65535)));
}

function changesOf(head) {
  const bytes = bytesOf(head.changes);
  return Array.from({ length: count - 1 }, (_, i) => bytes.getFloat32(4 * i, true));
}

const named = (t) => `${tokenAt(t)} (${t})`;
const headName = (head) => `layer ${head.layer}, head ${head.head}`;

function thumbnail(head) {
  const rows = attentionOf(head), canvas = element("canvas", {
    width: shown, height: shown, "aria-hidden": "true", class: shown > 100 ? "shrunk" : null,
  });
  paint(() => {
    const context = canvas.getContext("2d"), image = context.createImageData(shown, shown);
    const colours = Array.from({ length: 256 }, (_, i) => weightColour(i / 255)), empty = weightColour(NaN);
    rows.forEach((row, t) => row.forEach((w, s) => {
      image.data.set([...(s > t ? empty : colours[Math.round(255 * w)]), 255], 4 * (t * shown + s));
    }));
    context.putImageData(image, 0, 0);
  });
  return canvas;
}

const measures = [
  ["distance", "how many tokens back a position attends, weighted by attention"],
  ["entropy", "of the weights of a position, in nats: 0 if all is on one token, log n if n tokens get the same"],
  ["previous", "the weight on the token just before"],
  ["first", "the weight on the first token of the text"],
  ["induction", "in a repeated sequence of random tokens, the weight on the token after the earlier " +
    "occurrence of the current token"],
  ["change", "the mean loss with zeros in place of the head’s output, minus the mean loss of the model"],
];

const weightLegend = (scale) => legend(scale, 0, 1, "0 %", "100 % (square-root scale)");

function headDetails(head) {
  const rows = attentionOf(head), changes = changesOf(head);
  let query = shown - 1;
  const size = Math.max(...changes.map(Math.abs));
  const saidAttention = element("output"), saidChange = element("output");
  const attended = textView({
    title: `What a token attends to, ${headName(head)}`,
    colourOf: (t) => (t < shown && t <= query ? paleWeight(rows[query][t]) : null),
    onmove: (t) => choose(t),
  });
  const choose = (t) => {
    if (t >= shown) return;
    query = t;
    attended.repaint();
    attended.spans.forEach((span, s) => span.classList.toggle("query", s === t));
    const largest = rows[t].map((w, s) => [w, s]).filter(([w]) => w >= 0).sort(([a], [b]) => b - a).slice(0, 3);
    saidAttention.textContent = `${named(t)} attends to ` + largest.map(([w, s]) => `${named(s)}: ${percent(w)}`).join(", ");
  };
  const sayChange = (t) => {
    saidChange.textContent = t === 0 ? notPredicted : `${named(t)}: ${signed(changes[t - 1])}; loss ${nats(lossAt(t))}, ` +
      `${nats(lossAt(t) + changes[t - 1])} without the head`;
  };
  const changed = textView({
    title: `Change of each loss without ${headName(head)}`, onmove: sayChange,
    colourOf: (t) => (t ? about0(size)(changes[t - 1]) : null), kind: "changes",
  });
  const map = heatMap(rows, {
    title: "Attention: each row is a token that attends, each column one attended to", scale: weightColour, onrow: (t) => choose(t),
    describe: (t, s) => `${named(t)} ` +
      (s > t ? "does not attend to later tokens" : `attends to ${named(s)}: ${percent(rows[t][s])}`),
  });
  choose(query);
  if (changes.length) sayChange(1 + changes.findIndex((x) => Math.abs(x) === size));
  return [
    element("h3", {}, `${headName(head)} `, element("code", {}, head.name)),
    element("dl", { class: "measures" }, measures.map(([key]) => element("div", {}, element("dt", {}, key),
      element("dd", {}, key === "change" ? signed(head[key]) : shortNumber(head[key]))))),
    element("div", { class: "head" }, map, element("div", {},
      element("h4", {}, "What a token attends to"), weightLegend(paleWeight), attended.box, saidAttention,
      changes.length ? [
        element("h4", {}, "Change of each loss without this head"),
        legend(about0(size), -size, size, `${signed(-size)} nats, better without`, `${signed(size)}, worse without`),
        changed.box, saidChange,
      ] : null)),
  ];
}

function headsSection() {
  if (!heads.length) return section("Attention", element("p", { class: "hint" }, "This model has no heads of attention."));
  const details = element("div", { class: "panel", id: "head" }), made = new Map();
  const choose = (chosen) => {
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", heads[i] === chosen));
    if (!made.has(chosen)) made.set(chosen, headDetails(chosen));
    details.replaceChildren(...made.get(chosen));
  };
  const buttons = heads.map((head) => element("button", {
    "aria-label": `${headName(head)}: change of loss without it ${signed(head.change)}`, onclick: () => choose(head),
  }, thumbnail(head), element("span", { class: "share" }, signed(head.change))));
  const perLayer = Math.max(...heads.map((head) => head.head)) + 1;
  const grid = element("div", { class: "scrolled" }, element("div", { class: "heads", style: `--heads: ${perLayer}` },
    element("span"), Array.from({ length: perLayer }, (_, h) => element("span", { class: "hint" }, `head ${h}`)),
    heads.flatMap((head, i) =>
      [head.head === 0 ? element("span", { class: "hint" }, `layer ${head.layer}`) : null, buttons[i]])));
  let sortBy = "change", down = true;
  const table = element("div", { class: "head-table" });
  const sort = (key) => {
    [down, sortBy] = [key === sortBy ? !down : true, key];
    fill();
    table.querySelector(`[data-key="${key}"]`).focus();
  };
  const linkTo = (head) => element("button", { onclick: () => {
    choose(head);
    details.scrollIntoView({ block: "nearest" });
  } }, headName(head));
  const columns = ["head", ...measures.map(([key]) => key)].map((key) => [
    element("button", { "data-key": key, onclick: () => sort(key) }, key),
    (head) => (key === "head" ? linkTo(head) : head[key]),
  ]);
  const place = (head) => head.layer * perLayer + head.head;
  const fill = () => {
    const of = (head) => (sortBy === "head" ? -place(head) : head[sortBy] ?? -Infinity);
    const sorted = [...heads].sort((a, b) => (down ? of(b) - of(a) : of(a) - of(b)) || place(a) - place(b));
    table.replaceChildren(plainTable(sorted, columns));
    for (const [title] of columns) {
      const isSorted = title.dataset.key === sortBy;
      title.closest("th").setAttribute("aria-sort", !isSorted ? "none" : down ? "descending" : "ascending");
    }
  };
  fill();
  choose(heads.reduce((a, b) => ((b.change ?? 0) > (a.change ?? 0) ? b : a)));
  return element("section", {}, element("h2", {}, "Heads"),
    element("p", { class: "hint" }, `The attention of each head${shown < count ? ` among the first ${shown} tokens` : ""}, ` +
      "and the change of the mean loss without the head. A click or Enter enlarges a head."),
    weightLegend(weightColour), element("div", { class: "overview" }, grid, table), details,
    element("p", { class: "hint" }, "Each measure is a mean over all tokens but the first:"),
    element("dl", { class: "hint" }, measures.flatMap(([key, meaning]) =>
      [element("dt", {}, key), element("dd", {}, meaning)])));
}

// -- logit lens

function lensSection() {
  const losses = data.lens.flatMap((layer) => layer.losses), top = Math.max(1e-6, ...losses);
  const said = element("output"), cells = [];
  const rowName = (i) => (i === 0 ? "embedding" : `block ${i - 1}`);
  const body = data.lens.map((layer, i) => element("tr", {}, element("th", { scope: "row" }, rowName(i)),
    element("td", { class: "number" }, losses.length ? mean(layer.losses).toFixed(4) : "–"),
    layer.likeliest.map((id, t) => {
      const cell = element("td", {}, seenToken(id));
      cells.push(cell);
      if (t + 1 < count) paint(() => colourOn(cell, upTo(top)(layer.losses[t])));
      return cell;
    })));
  const say = (at) => {
    const i = Math.floor(at / count), t = at % count, layer = data.lens[i];
    const best = `likeliest ${seenToken(layer.likeliest[t])}, ${percent(layer.probabilities[t])}`;
    said.textContent = `After ${rowName(i)}, at ${named(t)}: ${best}` + (t + 1 === count ? "" :
      `; actual ${tokenAt(t + 1)}, ${percent(Math.exp(-layer.losses[t]))}, loss ${nats(layer.losses[t])}`);
  };
  roving(cells, (key, i) => ({ ArrowRight: i + 1, ArrowLeft: i - 1, ArrowDown: i + count, ArrowUp: i - count }[key]), say);
  return section("Logit lens",
    element("p", { class: "hint" }, "The likeliest next token if the last norm and the output projection are applied before " +
      "the first block and after each block. The colour is the loss of the actual next token. The last row is the prediction " +
      "of the model."),
    losses.length ? legend(upTo(top), 0, top, "0", nats(top)) : null,
    element("div", { class: "scrolled" }, element("table", { class: "lens" },
      element("thead", {}, element("tr", {}, ["after", "mean loss"].map((name) => element("th", { scope: "col" }, name)),
        data.tokens.map((_, t) => element("th", { scope: "col" }, tokenAt(t))))),
      element("tbody", {}, body))), said);
}

page.className = "looked";
document.title = `${data.title}: a text`;
page.append(element("header", {},
  element("h1", {}, `What ${data.title} computes for a text`),
  element("p", { class: "about" }, `${data.model}. `, count < data.token_count
    ? `The first ${grouped(count)} of ${grouped(data.token_count)} tokens of ${data.file}.`
    : `${grouped(count)} tokens${data.file ? ` of ${data.file}` : ""}.`)),
textSection(), headsSection(), lensSection(),
element("footer", {}, "Losses and probabilities are rounded to 7 decimals",
  heads.length ? ", weights of attention to 1/65535. " : ". ",
  element("code", {}, "gradus look --html FILE --json"), " prints them exactly."));
