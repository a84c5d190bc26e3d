// node docs/pictures.mjs GRADUS RUN: makes the pictures of pages in this folder, report.png from a run and lesson.png, with Chromium.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Chromium } from "../tests/pages/chromium.mjs";

const [gradus, run] = process.argv.slice(2), docs = dirname(fileURLToPath(import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "gradus-pictures-"));
execFileSync(gradus, ["report", run, "--out", join(folder, "report.html"), "--quiet"]);
execFileSync(gradus, ["lesson", "two-masks", "--html", join(folder, "lesson.html")]);

const browser = await Chromium.start();
for (const [name, width, height] of [["report", 1100, 980], ["lesson", 1100, 900]]) {
  const page = await browser.open(join(folder, `${name}.html`), { width, height });
  writeFileSync(join(docs, `${name}.png`), Buffer.from(await page.screenshot({ height }), "base64"));
}
await browser.stop();
rmSync(folder, { recursive: true });
