// The page around the worker. model-data.js calls page.describe() and each weights-N.js page.weights(), so that the page
// opens from a disk too, where a script may be loaded but no file be read.
//
// What stands behind # sets how it begins: index.html#prompt=In%20the&temperature=0&tokens=100&write
const page = (() => {
  const element = (id) => document.getElementById(id);
  const worker = new Worker(URL.createObjectURL(new Blob([element("engine").textContent], { type: "text/javascript" })));
  const visible = new TextDecoder();
  const wished = new URLSearchParams(location.hash.slice(1));
  let model = null, values = null, filled = 0, file = 0, writing = false, decoder = new TextDecoder();
  let waiting = true;  // for {began}: what comes before belongs to the text that was

  // -- reading

  function describe(described) {
    model = described;
    const count = model.tensors.reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0);
    values = new Uint8Array(4 * count);
    element("name").textContent = model.name;
    element("about").textContent = `${model.about}, ${count.toLocaleString("en")} parameters`;
    element("prompt").value = wished.get("prompt") ?? model.prompt;
    readNext();
  }

  // `text` is the base64 of the next bytes of the tensors.
  function weights(text) {
    const bytes = atob(text);
    for (let i = 0; i < bytes.length; ++i) values[filled + i] = bytes.charCodeAt(i);
    filled += bytes.length;
    element("reading").value = filled / values.length;
    if (filled < values.length) return readNext();
    worker.postMessage({ load: model, values: values.buffer }, [values.buffer]);
  }

  function readNext() {
    const script = document.createElement("script");
    script.src = `weights-${file++}.js`;
    script.onerror = () => complain(`${script.src} could not be read; it must lie beside this page`);
    document.body.append(script);
  }

  // -- what the worker says

  const answers = {
    ready() {
      element("reading").hidden = true;
      for (const id of ["write", "once", "again"]) element(id).disabled = false;
      warm();
      begin();
      if (wished.has("write")) write();
    },
    error: ({ error }) => complain(error),
    began() { waiting = false; },
    token({ bytes, p }) {
      if (waiting) return;
      const text = decoder.decode(bytes, { stream: true }), written = element("written");
      const span = document.createElement("span");
      span.textContent = text;
      span.title = `${percent(p)} likely`;
      span.style.setProperty("--surprise", Math.min(1, -Math.log2(p) / 10).toFixed(3));
      const atEnd = written.scrollHeight - written.scrollTop - written.clientHeight < 40;
      written.append(span);
      if (atEnd) written.scrollTop = written.scrollHeight;
    },
    next({ next }) { if (!waiting) show(next); },
    done({ done }) { if (done && !waiting) stopped(); },
  };
  worker.onmessage = ({ data }) => { for (const verb in data) answers[verb]?.(data); };
  worker.onerror = (event) => complain(event.message);

  // -- what the reader does

  function begin() {
    waiting = true;
    stopped();
    element("error").hidden = true;
    decoder = new TextDecoder();
    const start = document.createElement("span");
    start.className = "prompt";
    start.textContent = element("prompt").value;
    element("written").replaceChildren(start);
    document.body.dataset.state = "begun";
    worker.postMessage({ begin: element("prompt").value });
  }

  const failed = () => document.body.dataset.state === "failed";  // the text that it should begin with was refused

  function write() {
    if (failed()) return begin();
    writing = true;
    element("write").textContent = "Stop";
    document.body.dataset.state = "writing";
    worker.postMessage({ write: Math.max(1, Math.min(100000, Number(element("tokens").value) || 1)) });
  }

  function stopped() {
    if (writing) document.body.dataset.state = "done";
    writing = false;
    element("write").textContent = "Write";
  }

  function take(message) {
    if (failed()) return begin();
    stopped();
    worker.postMessage(message);
  }

  function warm() {
    const temperature = Number(element("temperature").value);
    element("degrees").textContent = temperature.toFixed(2);
    worker.postMessage({ temperature });
  }

  // -- what is shown

  const percent = (p) => (p >= 0.1 ? (100 * p).toFixed(0) : p >= 0.001 ? (100 * p).toFixed(1) : "< 0.1") + " %";

  // A token as one sees it: spaces and line ends by signs, bytes that are no character by their numbers.
  function shown(bytes) {
    const text = visible.decode(bytes);
    if (text.includes("\ufffd")) return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(" ");
    return text.replace(/ /g, "␣").replace(/\n/g, "⏎").replace(/\t/g, "⇥").replace(/\p{Cc}/gu, "·");
  }

  function show(next) {
    element("next").replaceChildren(...next.map(({ token, bytes, p, now }) => {
      const item = document.createElement("li"), button = document.createElement("button");
      for (const [name, text] of [["token", shown(bytes)], ["bar", ""], ["share", percent(p)]]) {
        const part = document.createElement("span");
        part.className = name;
        part.textContent = text;
        button.append(part);
      }
      button.style.setProperty("--p", p.toFixed(4));
      button.style.setProperty("--now", now.toFixed(4));
      button.title = `${percent(p)}, at this temperature ${percent(now)}`;
      button.onclick = () => take({ take: token });
      item.append(button);
      return item;
    }));
  }

  function complain(text) {
    stopped();
    show([]);  // What was there came behind another text.
    document.body.dataset.state = "failed";
    element("error").textContent = text;
    element("error").hidden = false;
  }

  if (wished.has("temperature")) element("temperature").value = wished.get("temperature");
  if (wished.has("tokens")) element("tokens").value = wished.get("tokens");
  element("write").onclick = () => {
    if (!writing) return write();
    worker.postMessage({ stop: true });
    stopped();
  };
  element("once").onclick = () => take({ write: 1 });
  element("again").onclick = begin;
  element("prompt").onchange = begin;
  element("temperature").oninput = warm;
  return { describe, weights };
})();
