// Headless Chromium, driven through its debugging pipe, and the checks of a page.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", "--remote-debugging-pipe", "--hide-scrollbars"];

export class Chromium {
  static async start() {
    const browser = new Chromium();
    browser.folder = mkdtempSync(join(tmpdir(), "gradus-chromium-"));
    browser.process = spawn(process.env.CHROMIUM ?? "chromium", [...flags, `--user-data-dir=${browser.folder}`, "about:blank"],
      { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    browser.waiting = new Map();
    browser.pages = new Map();
    browser.number = 0;
    let rest = "";
    browser.process.stdio[4].setEncoding("utf8").on("data", (text) => {
      const messages = (rest + text).split("\0");
      rest = messages.pop();
      for (const message of messages) browser.receive(JSON.parse(message));
    });
    await browser.send("Browser.getVersion");
    return browser;
  }

  send(method, params = {}, sessionId = undefined) {
    const id = ++this.number;
    this.process.stdio[3].write(JSON.stringify({ id, method, params, sessionId }) + "\0");
    return new Promise((done, failed) => this.waiting.set(id, { done, failed, method }));
  }

  receive(message) {
    if (message.id) {
      const { done, failed, method } = this.waiting.get(message.id);
      this.waiting.delete(message.id);
      if (message.error) failed(new Error(`${method}: ${message.error.message}`));
      else done(message.result);
    } else {
      this.pages.get(message.sessionId)?.receive(message);
    }
  }

  // A page of a file's path or an URL. `width`, `height` in pixels; `scheme`: "light" or "dark".
  async open(where, { width = 1280, height = 900, scheme = "light" } = {}) {
    const { targetId } = await this.send("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await this.send("Target.attachToTarget", { targetId, flatten: true });
    const page = new Page(this, sessionId, targetId);
    this.pages.set(sessionId, page);
    for (const domain of ["Page", "Runtime", "Log", "Network"]) await page.send(`${domain}.enable`);
    await page.send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: false });
    await page.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] });
    const loaded = page.next("Page.loadEventFired");
    await page.send("Page.navigate", { url: /^https?:/.test(where) ? where : pathToFileURL(resolve(where)).href });
    await loaded;
    return page;
  }

  async stop() {
    await this.send("Browser.close").catch(() => {});
    await new Promise((done) => (this.process.exitCode === null ? this.process.once("exit", done) : done()));
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

class Page {
  errors = [];    // exceptions and messages of the console's level "error"
  requests = [];  // URLs that the page fetched, without its own
  listeners = new Map();

  constructor(browser, session, target) {
    Object.assign(this, { browser, session, target });
  }

  send(method, params = {}) { return this.browser.send(method, params, this.session); }

  receive({ method, params }) {
    if (method === "Runtime.exceptionThrown") this.errors.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
    if (method === "Runtime.consoleAPICalled" && params.type === "error") this.errors.push(params.args.map((arg) => arg.value ?? arg.description).join(" "));
    if (method === "Log.entryAdded" && params.entry.level === "error") this.errors.push(params.entry.text);
    if (method === "Network.requestWillBeSent" && params.type !== "Document") this.requests.push(params.request.url);
    this.listeners.get(method)?.(params);
  }

  next(method) { return new Promise((done) => this.listeners.set(method, done)); }

  // The value of f(...args) in the page, where promises are awaited.
  async evaluate(f, ...args) {
    const { result, exceptionDetails } = await this.send("Runtime.evaluate",
      { expression: `(${f})(...${JSON.stringify(args)})`, awaitPromise: true, returnByValue: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  // Waits until f(...args) is true in the page.
  async until(f, ...args) {
    for (const end = Date.now() + 60_000; !(await this.evaluate(f, ...args)); await new Promise((done) => setTimeout(done, 50)))
      if (Date.now() > end) throw new Error(`never true: ${f}`);
  }

  // Moves the pointer to the middle of the element, and clicks it if `click`.
  async point(selector, click = false) {
    const [x, y] = await this.evaluate((at) => {
      const found = document.querySelector(at);
      found.scrollIntoView({ block: "center" });
      const box = found.getBoundingClientRect();
      return [box.left + box.width / 2, box.top + box.height / 2];
    }, selector);
    await this.send("Input.dispatchMouseEvent", { type: "mouseMoved", x, y });
    if (!click) return;
    for (const type of ["mousePressed", "mouseReleased"]) await this.send("Input.dispatchMouseEvent", { type, x, y, button: "left", clickCount: 1 });
  }
  click(selector) { return this.point(selector, true); }
  focus(selector) { return this.evaluate((at) => document.querySelector(at).focus(), selector); }

  // Presses a key by its name in KeyboardEvent.key, such as "ArrowDown", "Enter", "Tab" or "a".
  async key(key) {
    const code = { ArrowLeft: 37, ArrowUp: 38, ArrowRight: 39, ArrowDown: 40, Enter: 13, Tab: 9, Escape: 27, " ": 32 }[key] ?? key.toUpperCase().charCodeAt(0);
    const text = key.length === 1 ? key : key === "Enter" ? "\r" : undefined;
    await this.send("Input.dispatchKeyEvent", { type: text ? "keyDown" : "rawKeyDown", key, code: key, text, windowsVirtualKeyCode: code });
    await this.send("Input.dispatchKeyEvent", { type: "keyUp", key, code: key, windowsVirtualKeyCode: code });
  }

  // A picture of the page as PNG, in base64: all of it, or its first `height` pixels.
  async screenshot({ height = 6000 } = {}) {
    const { cssContentSize } = await this.send("Page.getLayoutMetrics");
    const clip = { x: 0, y: 0, width: cssContentSize.width, height: Math.min(height, cssContentSize.height), scale: 1 };
    return (await this.send("Page.captureScreenshot", { format: "png", captureBeyondViewport: true, clip })).data;
  }

  close() { return this.browser.send("Target.closeTarget", { targetId: this.target }); }
}
