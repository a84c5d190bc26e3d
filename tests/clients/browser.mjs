// node browser.mjs GRADUS PACKAGES FOLDER RUN...: exports each run as a page into FOLDER, opens it in headless Chromium from
// the disk and from a server, lets it write at temperature 0, and compares with gradus. PACKAGES/node_modules has
// puppeteer-core. Keeps pictures of the last page, light, dark and as a phone has it, in FOLDER.
import { execFileSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { Checks } from "./checks.mjs";

const [gradus, packages, folder, ...runs] = process.argv.slice(2);
const load = createRequire(join(resolve(packages), "node_modules/"));
const { default: puppeteer } = await import(pathToFileURL(load.resolve("puppeteer-core")));
const { check, finish } = new Checks();
const run = (args) => execFileSync(gradus, args, { maxBuffer: 2 ** 28 });
const long = { timeout: 1_200_000 };

const server = createServer(async (request, response) => {
  try {
    response.end(await readFile(join(folder, decodeURIComponent(new URL(request.url, "http://x").pathname))));
  } catch {
    response.writeHead(404).end();
  }
});
await new Promise((ready) => server.listen(0, "127.0.0.1", ready));

const browser = await puppeteer.launch({
  executablePath: process.env.CHROMIUM ?? "chromium", args: ["--no-sandbox", "--disable-gpu"], timeout: long.timeout, protocolTimeout: long.timeout,
});
for (const from of runs) {
  const name = basename(from), prompt = "The ";
  run(["export", from, "--to", "web", "--out", join(folder, name), "--overwrite", "--quiet"]);
  const text = run(["sample", from, "--prompt", prompt, "--greedy", "--tokens", "200"]).toString();
  const wish = "#" + new URLSearchParams({ prompt, temperature: 0, tokens: 200, write: "" });
  const places = { disk: pathToFileURL(resolve(folder, name, "index.html")), server: `http://127.0.0.1:${server.address().port}/${name}/index.html` };
  for (const [place, url] of Object.entries(places)) {
    const page = await browser.newPage(), faults = [];
    page.on("pageerror", (error) => faults.push(error.message));
    await page.goto(url + wish, long);
    await page.waitForFunction(() => ["done", "failed"].includes(document.body.dataset.state), long);
    check(`${name}, from the ${place}: 200 tokens`, (await page.$eval("#written", (e) => e.textContent)) + "\n", text);
    check(`${name}, from the ${place}: ten bars, no errors`, [await page.$$eval("#next li", (all) => all.length), faults], [10, []]);
    await page.close();
  }
}

const page = await browser.newPage();
const last = pathToFileURL(resolve(folder, basename(runs.at(-1)), "index.html")) + "#" + new URLSearchParams({ prompt: "And the ", tokens: 250, write: "" });
for (const [picture, width, height, scheme] of [["light", 1200, 900, "light"], ["dark", 1200, 900, "dark"], ["phone", 390, 1100, "light"]]) {
  await page.setViewport({ width, height });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await page.goto("about:blank");
  await page.goto(last, long);
  await page.waitForFunction(() => ["done", "failed"].includes(document.body.dataset.state), long);
  await page.screenshot({ path: join(folder, `${picture}.png`) });
}
await browser.close();
finish();
