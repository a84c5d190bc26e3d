// The page of one run or several. `state` has what the reader chose; it outlives a reload.
const state = { x: "steps", logarithmic: false, smoothing: null, run: 0, sample: null };
for (const run of data.runs) Object.setPrototypeOf(run.settings, null);  // it has its own keys only
const axes = {
  steps: { label: "steps", of: (run, rows) => rows.step ?? [] },
  tokens: { label: "tokens", of: (run, rows) => (rows.step ?? []).map((step) => step * tokensPerStep(run)) },
  minutes: { label: "minutes", of: (run, rows) => (rows.elapsed_s ?? []).map((s) => s / 60) },
};
const colours = () => (dark.matches ? ["#6fb1e4", "#f0a050", "#7fc97f", "#c99be0", "#f2798f", "#5cc8c8", "#d8c860", "#b8b8b8"]
  : ["#1f5fa8", "#b8560f", "#2f7d32", "#7a3f9d", "#a83a5a", "#1f7f86", "#6f6010", "#555555"]);
const dashes = [[], [8, 4], [2, 3], [10, 3, 2, 3]];
const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const hasValues = (list) => list?.some((x) => x !== null);
const last = (list) => list?.[list.length - 1];

function tokensPerStep(run) {
  const { batch, accum, block } = run.settings;
  return batch && block ? batch * (accum ?? 1) * block : null;
}

// Exponential moving average, corrected for its start as Adam corrects its means.
function smoothed(values, keep) {
  let mean = 0, weight = 0;
  return values.map((value) => {
    if (value === null) return null;
    mean = keep * mean + (1 - keep) * value;
    weight = keep * weight + (1 - keep);
    return mean / weight;
  });
}

// -- charts

let charts = [];
const shared = uPlot.sync("steps");  // the charts of one run have one cursor

// A chart of lines: { name, x, y, colour, dash, faint, points, band: [low, high] }.
function chart(title, lines, { xLabel = "steps", yLabel = "", logX = false, logY = false, height = 220, isShared = true, note = null } = {}) {
  lines = lines.filter((line) => hasValues(line.y));
  if (lines.length === 0) return null;
  const positive = (line) => ({ ...line, y: logY ? line.y.map((y) => (y > 0 ? y : null)) : line.y });
  const tables = lines.map(positive).flatMap((line) => [[line.x, line.y], ...(line.band ? [[line.x, line.band[0]], [line.x, line.band[1]]] : [])]);
  const keep = (logX ? (x) => x > 0 : () => true);
  const joined = uPlot.join(tables.map(([x, y]) => [x.filter(keep), y.filter((_, i) => keep(x[i]))]));
  const series = [{ label: xLabel, value: (u, x) => (x === null ? "–" : shortNumber(x, 6)) }], bands = [];
  for (const line of lines) {
    const width = line.faint ? 1 : 2, at = series.length;
    series.push({
      label: line.name, stroke: line.faint ? line.colour + "66" : line.colour, width, dash: line.dash, spanGaps: true,
      points: { show: line.points === true, size: 6, fill: line.colour }, value: (u, y) => shortNumber(y),
    });
    if (!line.band) continue;
    for (const edge of ["low", "high"])
      series.push({ label: `${line.name}, ${edge}`, stroke: "transparent", spanGaps: true, points: { show: false }, value: (u, y) => shortNumber(y) });
    bands.push({ series: [at + 2, at + 1], fill: line.colour + "2e" });
  }
  const axis = (label, size) => ({
    label, labelSize: 22, size, stroke: style("--faint"), grid: { stroke: style("--line"), width: 1 }, ticks: { stroke: style("--line"), width: 1 },
    font: "12px system-ui", labelFont: "12px system-ui", values: (u, splits) => splits.map((x) => (x === null ? "" : compact(x))),
  });
  const plot = element("div");
  const said = element("output", { "aria-live": "polite" });
  const lasts = lines.filter((line) => !line.faint).slice(0, 6).map((line) => `${line.name} ends at ${shortNumber(last(line.y.filter((y) => y !== null)))}`);
  const figure = element("figure", { class: "panel chart" },
    element("figcaption", {}, title),
    element("div", { class: "plot", tabindex: 0, role: "img", "aria-label": `${title}. ${lasts.join("; ")}. Arrow keys read the points.` }, plot),
    note && element("p", { class: "hint" }, note), said);
  charts.push(() => {
    const u = new uPlot({
      width: Math.max(200, plot.clientWidth), height, series, bands,
      scales: { x: { time: false, distr: logX ? 3 : 1 }, y: { distr: logY ? 3 : 1 } },
      axes: [axis(xLabel, 44), axis(yLabel, 64)], cursor: { sync: isShared ? { key: shared.key } : undefined, points: { size: 7 } },
      legend: { show: lines.length > 1 || isShared, isolate: true },
    }, joined, plot);
    for (const { series: [low, high] } of bands) for (const edge of [low, high]) u.root.querySelectorAll(".u-series")[edge].hidden = true;
    let at = -1;
    figure.querySelector(".plot").addEventListener("keydown", (event) => {
      const move = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
      if (!move) return;
      event.preventDefault();
      at = Math.min(joined[0].length - 1, Math.max(0, at + move));
      u.setCursor({ left: u.valToPos(joined[0][at], "x"), top: 10 });
      const values = lines.map((line, i) => [line.name, joined[tableAt(lines, i)][at]]).filter(([, y]) => y !== null && y !== undefined);
      said.textContent = `${xLabel} ${shortNumber(joined[0][at], 6)}: ` + values.map(([name, y]) => `${name} ${shortNumber(y)}`).join(", ");
    });
    return { u, plot };
  });
  return figure;
}

const tableAt = (lines, i) => 1 + lines.slice(0, i).reduce((sum, line) => sum + (line.band ? 3 : 1), 0);

function compact(x) {
  const size = Math.abs(x);
  if (size >= 1e9) return `${+(x / 1e9).toFixed(1)}G`;
  if (size >= 1e6) return `${+(x / 1e6).toFixed(1)}M`;
  if (size >= 1e4) return `${+(x / 1e3).toFixed(1)}k`;
  return size > 0 && size < 1e-3 ? x.toExponential(0) : String(+x.toPrecision(6));
}

// -- sections

// The mean of the validation losses of a row's runs at the steps that all of them have, with standard errors.
function meanOfRow(row, axis) {
  const runs = row.runs.map((i) => data.runs[i]).filter((run) => hasValues(run.evaluations.val_loss));
  const at = (run, step) => run.evaluations.step.indexOf(step);
  const shared = (runs[0]?.evaluations.step ?? []).filter((step) => runs.every((run) => (run.evaluations.val_loss[at(run, step)] ?? null) !== null));
  const line = { x: [], y: [], band: [[], []] };
  for (const step of shared) {
    const losses = runs.map((run) => run.evaluations.val_loss[at(run, step)]);
    const mean = losses.reduce((a, b) => a + b, 0) / losses.length;
    const squares = losses.reduce((sum, loss) => sum + (loss - mean) ** 2, 0);
    const error = losses.length > 1 ? Math.sqrt(squares / (losses.length - 1) / losses.length) : 0;
    line.x.push(runs.reduce((sum, run) => sum + axis.of(run, run.evaluations)[at(run, step)], 0) / runs.length);
    line.y.push(mean);
    line.band[0].push(mean - error);
    line.band[1].push(mean + error);
  }
  return line;
}

// Until the reader chooses one, such that the mean is over about a fortieth of the points.
const smoothing = () => state.smoothing ?? Math.min(0.98, Math.max(0, 1 - 40 / (data.runs[0].steps.step?.length ?? 1)));

function lossChart() {
  const axis = axes[state.x], several = data.runs.length > 1, lines = [];
  data.rows.forEach((row, r) => {
    const look = { colour: colours()[r % colours().length], dash: dashes[Math.floor(r / colours().length) % dashes.length] };
    const named = (what) => (several ? `${row.name}, ${what}` : what);
    if (row.runs.length > 1) {
      lines.push({ ...look, ...meanOfRow(row, axis), name: `${row.name}, mean of ${row.runs.length} seeds`, points: true });
      return;
    }
    const run = data.runs[row.runs[0]];
    const training = { x: axis.of(run, run.steps), y: run.steps.loss ?? [] };
    if (training.x && !several) lines.push({ ...look, ...training, name: "training", faint: true });
    if (training.x) lines.push({ ...look, ...training, y: smoothed(training.y, smoothing()), name: named("training, smoothed"), dash: several ? [3, 3] : [] });
    if (hasValues(run.evaluations.val_loss)) {
      lines.push({ ...look, name: named("validation"), x: axis.of(run, run.evaluations), y: run.evaluations.val_loss, points: true,
        colour: several ? look.colour : colours()[1] });
    }
  });
  const every = Math.max(...data.runs.map((run) => run.steps.every));
  return chart("Loss, nats a token", lines, {
    xLabel: axis.label, logX: state.logarithmic, height: 380, isShared: false,
    note: (every > 1 ? `A point of the training loss is the mean of up to ${every} steps. ` : "") +
      (data.rows.some((row) => row.runs.length > 1) ? "Bands: standard error of the mean over seeds." : ""),
  });
}

function choice(label, name, options) {
  const made = element("select", { id: name, onchange: () => { state[name] = made.value; render(); } },
    options.map(([value, text]) => element("option", { value, selected: String(state[name]) === String(value) }, text)));
  return element("label", {}, label, " ", made);
}

function lossSection() {
  const known = Object.keys(axes).filter((name) => data.runs.every((run) =>
    name === "steps" || (name === "tokens" ? tokensPerStep(run) : hasValues(run.steps.elapsed_s) || hasValues(run.evaluations.elapsed_s))));
  const slider = element("input", {
    type: "range", id: "smoothing", min: 0, max: 0.99, step: 0.01, value: smoothing(),
    onchange: (event) => { state.smoothing = Number(event.target.value); render(); },
  });
  const logarithmic = element("input", {
    type: "checkbox", id: "logarithmic", checked: state.logarithmic, onchange: (event) => { state.logarithmic = event.target.checked; render(); },
  });
  return section("Loss", element("div", { class: "controls" }, choice("Against", "x", known.map((name) => [name, name])),
    element("label", {}, logarithmic, " logarithmic"), element("label", { class: "setting" }, "Smoothing", slider)), lossChart());
}

function tableSection() {
  if (data.runs.length < 2) return null;
  const difference = (row) => row.difference && `${row.difference.mean < 0 ? "" : "+"}${row.difference.mean.toFixed(4)} ± ${row.difference.error.toFixed(4)}`;
  const columns = [["runs", (row) => row.name], ["seeds", (row) => row.seeds], ["validation loss", (row) => row.mean],
    ["± error", (row) => row.error], ["to the first row", (row) => difference(row) ?? "–"], ["p", (row) => row.difference?.p ?? null]];
  return section("Comparison", plainTable(data.rows, columns),
    element("p", { class: "hint" }, "A row has the runs that differ in their seeds only. Differences are means over common seeds; p is that of Student’s t-test of pairs."),
    element("div", { class: "tiles wide" }, data.differing.filter((key) => key !== "seed").map(settingPlot)));
}

// The final losses against the values of one setting.
function settingPlot(key) {
  const values = [...new Map(data.runs.map((run) => [JSON.stringify(run.settings[key]), run.settings[key]])).values()];
  if (values.length < 2 || values.length > 24) return null;
  if (values.every((value) => typeof value === "number")) values.sort((a, b) => a - b);
  const points = data.runs.filter((run) => run.final_loss !== null)
    .map((run) => ({ at: values.findIndex((value) => JSON.stringify(value) === JSON.stringify(run.settings[key])), loss: run.final_loss, name: run.name }));
  if (points.length < 2) return null;
  const low = Math.min(...points.map((p) => p.loss)), high = Math.max(...points.map((p) => p.loss)), size = high - low || 1;
  const width = 120 + 90 * values.length, height = 200;
  const x = (at) => 90 + 90 * at + 45, y = (loss) => 20 + 140 * (high - loss) / size;
  const label = (value) => (value === undefined ? "default" : typeof value === "object" ? JSON.stringify(value) : String(value));
  const text = (attributes, content) => svg("text", { fill: "currentColor", "font-size": 12, ...attributes }, content);
  const means = values.map((_, at) => points.filter((p) => p.at === at).map((p) => p.loss)).map((of) => of.reduce((a, b) => a + b, 0) / of.length);
  return element("figure", { class: "panel" }, element("figcaption", {}, `Validation loss against ${key}`),
    element("div", { class: "scrolled" }, svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
      "aria-label": values.map((value, at) => `${key} ${label(value)}: mean ${shortNumber(means[at])}`).join("; ") },
      ...[low, high].map((loss) => text({ x: 80, y: y(loss) + 4, "text-anchor": "end" }, shortNumber(loss))),
      ...values.map((value, at) => text({ x: x(at), y: height - 12, "text-anchor": "middle" }, label(value).slice(-14))),
      ...means.map((mean, at) => (Number.isFinite(mean) ? svg("line", { x1: x(at) - 18, x2: x(at) + 18, y1: y(mean), y2: y(mean), stroke: colours()[0], "stroke-width": 2 }) : "")),
      ...points.map((p) => svg("circle", { cx: x(p.at), cy: y(p.loss), r: 4, fill: colours()[1], "fill-opacity": 0.7 }, svg("title", {}, `${p.name}: ${shortNumber(p.loss)}`))))));
}

function layerCharts(run) {
  const { step, layers } = run.layers;
  if (step.length === 0) return null;
  const shade = (i) => rgb(mixed(dark.matches ? [70, 110, 150] : [170, 205, 235], dark.matches ? [245, 180, 90] : [120, 50, 10], layers.length > 1 ? i / (layers.length - 1) : 0));
  const hex = (i) => "#" + shade(i).match(/\d+/g).map((n) => Number(n).toString(16).padStart(2, "0")).join("");
  const lines = (key) => layers.map((layer, i) => ({ name: layer.name, x: step, y: layer[key], colour: hex(i), points: step.length < 30 }));
  return section("Layers",
    element("p", { class: "hint" }, "Measured in the step before each evaluation. Blue lines are layers near the input, brown ones near the output. ",
      "An update is usually about a thousandth of its weights; a layer far above learns too fast, one far below hardly learns."),
    element("div", { class: "tiles wide" },
      chart("Size of an update relative to the weights", lines("update_ratio"), { logY: true }),
      chart("Norm of the gradient, before clipping", lines("grad_norm"), { logY: true }),
      chart("Norm of the weights", lines("norm"), {}),
      noiseChart(run)),
    element("details", {}, element("summary", {}, `All ${run.parameters.length} parameters in the last measured step`),
      plainTable(run.parameters, [["parameter", (p) => p.name], ["norm", (p) => p.norm], ["gradient", (p) => p.grad_norm],
        ["update", (p) => p.update_norm], ["update / norm", (p) => (p.norm > 0 ? p.update_norm / p.norm : null)]])));
}

// The ratio of running means, as single estimates scatter.
function noiseChart(run) {
  const { step, squared_gradient, variance } = run.noise;
  const top = smoothed(variance, 0.8), bottom = smoothed(squared_gradient, 0.8);
  const perExample = run.settings.block ?? 1;
  const scale = top.map((s, i) => (bottom[i] > 0 && s > 0 ? s / bottom[i] * perExample : null));
  return chart("Gradient noise scale, tokens", [{ name: "noise scale", x: step, y: scale, colour: colours()[0], points: true }],
    { logY: true, note: "A batch of about this many tokens (arXiv 1812.06162) uses them best: a smaller one is noisy, a larger one wastes tokens." });
}

function stepCharts(run) {
  const line = (key, colour = colours()[0]) => [{ name: key, x: run.steps.step ?? [], y: run.steps[key] ?? [], colour }];
  const smooth = (key) => [{ ...line(key)[0], faint: true }, { ...line(key)[0], name: "smoothed", y: smoothed(run.steps[key] ?? [], 0.9) }];
  return section("Steps", element("div", { class: "tiles" },
    chart("Learning rate", line("lr"), {}), chart("Norm of the gradient, before clipping", smooth("grad_norm"), { logY: true }),
    chart("Tokens per second", smooth("tokens_per_s"), {})));
}

function sampleSection(run) {
  if (run.samples.length === 0) return null;
  const loss = (step) => run.evaluations.val_loss?.[run.evaluations.step.indexOf(step)];
  const chosen = Math.min(state.sample ?? run.samples.length - 1, run.samples.length - 1), { step, text } = run.samples[chosen];
  const slider = element("input", {
    type: "range", id: "sample", min: 0, max: run.samples.length - 1, value: chosen, "aria-label": "the evaluation whose sample is shown",
    oninput: (event) => { state.sample = Number(event.target.value); render(); },
  });
  const first = run.samples[0];
  const show = (at) => element("figure", { class: "panel sample" },
    element("figcaption", {}, `after step ${grouped(at.step)}` + (loss(at.step) ? `, validation loss ${shortNumber(loss(at.step))}` : "")), element("pre", {}, at.text));
  return section("Samples", run.samples.length > 1 ? element("label", { class: "setting" }, "Evaluation", slider) : null,
    element("div", { class: "tiles wide" }, chosen > 0 ? show(first) : null, show({ step, text })));
}

function settingsSection() {
  const keys = [...new Set(data.runs.flatMap((run) => Object.keys(run.settings)))];
  if (keys.length === 0) return null;
  const text = (value) => (value === undefined ? "–" : Array.isArray(value) ? value.join(", ") : String(value));
  const columns = data.runs.map((run, i) => [run.name, (key) => text(data.runs[i].settings[key])]);
  const table = (of) => plainTable(of, [["setting", (key) => key], ...columns]);
  const same = keys.filter((key) => !data.differing.includes(key));
  if (data.runs.length === 1) return section("Settings", element("details", {}, element("summary", {}, `${keys.length} settings of train.json`), table(keys)));
  return section("Settings", element("p", {}, `${data.differing.length} settings differ:`), table(data.differing),
    element("details", {}, element("summary", {}, `${same.length} settings are the same in all runs`), plainTable(same, [["setting", (key) => key], ["value", (key) => text(data.runs[0].settings[key])]])));
}

function summary(run) {
  const steps = run.end?.steps ?? last(run.steps.step) ?? 0, planned = run.settings.steps ?? steps;
  const bytes = run.start?.bytes_per_token, loss = run.final_loss;
  const seconds = run.end?.seconds ?? last(run.steps.elapsed_s) ?? last(run.evaluations.elapsed_s);
  const peak = Math.max(0, ...(run.evaluations.peak_bytes ?? []).map((x) => x ?? 0));
  const cells = [
    ["Steps", run.end ? grouped(steps) : `${grouped(steps)} of ${grouped(planned)}`],
    ["Validation loss", loss === null ? "–" : `${loss.toFixed(4)} nats a token` + (bytes ? `, ${(loss / Math.LN2 / bytes).toFixed(4)} bits a byte` : "")],
    ["Time", seconds === undefined || seconds === null ? "–" : seconds < 120 ? `${seconds.toFixed(1)} s` : `${(seconds / 60).toFixed(1)} min`],
    ["Speed", hasValues(run.steps.tokens_per_s) ? `${compact(Math.round(median(run.steps.tokens_per_s)))} tokens/s` : "–"],
    ["Memory", peak ? `${(peak / 1e6).toFixed(0)} MB` : "–"],
    ["Model", run.start?.model ?? "–"], ["Machine", run.start?.machine ?? "–"], ["Version", run.start?.version ?? "–"],
  ].filter(([, text]) => text !== "–");
  return element("dl", { class: "facts" }, cells.map(([name, text]) => element("div", {}, element("dt", {}, name), element("dd", {}, text))));
}

function median(values) {
  const known = values.filter((x) => x !== null).sort((a, b) => a - b);
  return known[Math.floor(known.length / 2)];
}

// What the reader chose and sees.
const seen = () => ({ state, focused: document.activeElement?.id, top: scrollY, open: [...document.querySelectorAll("details")].map((d) => d.open) });

function render({ focused, top, open } = seen()) {
  charts = [];
  const run = data.runs[Math.min(Number(state.run), data.runs.length - 1)];
  page.replaceChildren(...[
    element("header", {}, element("h1", {}, data.title), element("p", { class: "about", id: "status" }, data.is_live ? "The run goes on. This page reloads itself." : "")),
    data.runs.length === 1 ? summary(run) : null,
    lossSection(), tableSection(),
    data.runs.length > 1 ? section("One run", choice("Run", "run", data.runs.map((r, i) => [i, r.name])), summary(run)) : null,
    sampleSection(run), stepCharts(run), layerCharts(run), settingsSection(),
    element("footer", {}, "Losses are nats a token. Made by gradus."),
  ].filter((part) => part !== null));
  charts = charts.map((make) => make());
  document.querySelectorAll("details").forEach((d, i) => { d.open = open[i] ?? false; });
  if (focused) document.getElementById(focused)?.focus();
  scrollTo(0, top);
  document.body.dataset.rendered = Number(document.body.dataset.rendered ?? 0) + 1;
}

addEventListener("resize", () => charts.forEach(({ u, plot }) => u.setSize({ width: Math.max(200, plot.clientWidth), height: u.height })));
dark.addEventListener("change", () => render());
Object.assign(state, history.state?.state);
render(history.state ?? undefined);

// A run that goes on writes its page after each evaluation. One that was killed cannot say so: the older the file, the longer the
// pauses, and after a day it is left alone.
if (data.is_live) {
  const age = Math.max(0, Date.now() - Date.parse(document.lastModified));
  const reload = () => {
    history.replaceState(seen(), "");
    location.reload();
  };
  if (age < 86_400_000) setTimeout(reload, Math.max(2000, age / 10));
}
