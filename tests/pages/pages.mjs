// What the tests of pages share. A test ends with `await finish()`.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Checks } from "../clients/checks.mjs";
import { Chromium } from "./chromium.mjs";

export const program = process.argv[2];
const checks = new Checks();
export const folder = mkdtempSync(join(tmpdir(), "gradus-pages-"));
export const browser = await Chromium.start();
export const { check } = checks;

// The standard output of `gradus ARGS`.
export const gradus = (...args) => execFileSync(program, args.map(String), { maxBuffer: 2 ** 28, encoding: "utf8" });

// Sets what the address of a page has after '#'.
export const go = (page, address) => page.evaluate((hash) => new Promise((done) => {
  if (location.hash === "#" + hash) return done();
  addEventListener("hashchange", () => done(), { once: true });
  location.hash = hash;
}), address);

// Whether two numbers, or two nested arrays of them, differ by at most `tolerance`.
export function near(a, b, tolerance) {
  if (!Array.isArray(a)) return a === b || Math.abs(a - b) <= tolerance;
  return a.length === b.length && a.every((x, i) => near(x, b[i], tolerance));
}

// Pictures of a page at two widths, light and dark, if GRADUS_PICTURES names a folder for them; and whether the page fits the
// narrow one and reports no error.
export async function look(path, name) {
  for (const [width, scheme] of [[1280, "light"], [1280, "dark"], [400, "light"], [400, "dark"]]) {
    const page = await browser.open(path, { width, scheme });
    check(`${name}, ${width} wide, ${scheme}: no error, nothing fetched`, [page.errors, page.requests], [[], []]);
    check(`${name}, ${width} wide, ${scheme}: nothing is cut off`,
      await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
    if (process.env.GRADUS_PICTURES) {
      mkdirSync(process.env.GRADUS_PICTURES, { recursive: true });
      writeFileSync(join(process.env.GRADUS_PICTURES, `${name}-${width}-${scheme}.png`), Buffer.from(await page.screenshot(), "base64"));
    }
    await page.close();
  }
}

export async function finish() {
  await browser.stop();
  rmSync(folder, { recursive: true, force: true });
  checks.finish();
}
