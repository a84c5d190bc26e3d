// The server of `gradus watch`: a page that follows a run, many browsers, bad requests; the run's bits do not change.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { request } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { browser, check, finish, folder, gradus, program } from "./pages.mjs";

const flags = ["train", "--text", "README.md", "--preset", "tiny", "--steps", "400", "--eval-every", "20", "--quiet", "--out"];
gradus(...flags, join(folder, "alone"));
const name = "<b>run & \"1\"", run = join(folder, name);
const training = spawn(program, [...flags, run], { stdio: "ignore" });
const trained = once(training, "exit");
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
while (!gradusHas(join(run, "metrics.jsonl"))) await sleep(20);
function gradusHas(file) {
  try {
    return readFileSync(file, "utf8").includes('"event":"step"');
  } catch {
    return false;
  }
}

const server = spawn(program, ["watch", run, "--port", "0"], { stdio: ["ignore", "pipe", "inherit"] });
const [first] = await once(server.stdout, "data");
const url = String(first).split(" ")[0], port = Number(new URL(url).port);

// The status and the body of a request.
function get(path, headers = {}, method = "GET") {
  return new Promise((done, failed) => {
    request({ host: "127.0.0.1", port, path, method, headers: { Host: `127.0.0.1:${port}`, ...headers } }, (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (text) => { body += text; }).on("end", () => done([response.statusCode, body, response.headers]));
    }).on("error", failed).end();
  });
}
// The first bytes of the answer to bytes as they are.
function raw(text) {
  return new Promise((done) => {
    let answer = "";
    const socket = connect(port, "127.0.0.1", () => socket.write(text));
    socket.setEncoding("latin1").on("data", (data) => { answer += data; }).on("close", () => done(answer)).on("error", () => done(answer));
    setTimeout(() => socket.destroy(), 500);
  });
}

const page = await browser.open(url, {});
check("the page is live", await page.evaluate(() => data.is_live), true);
check("a name with markup is a text", await page.evaluate(() => document.querySelector("h1").textContent), name);

// 50 browsers listen, and one never reads.
const counts = new Array(50).fill(0);
const listeners = counts.map((_, i) => request({ host: "127.0.0.1", port, path: "/events", headers: { Host: `localhost:${port}` } },
  (response) => response.setEncoding("utf8").on("data", (text) => { counts[i] += text.split("event: changed").length - 1; })).on("error", () => {}));
listeners.forEach((listener) => listener.end());
const deaf = connect(port, "127.0.0.1", () => { deaf.pause(); deaf.write(`GET /events HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`); });
deaf.on("error", () => {});

check("another host's name", (await get("/", { Host: "evil.example" }))[0], 403);
check("another port's name", (await get("/data.json", { Host: "127.0.0.1:1" }))[0], 403);
check("no host", (await raw("GET / HTTP/1.0\r\n\r\n")).split("\r\n")[0].includes("403"), true);
for (const path of ["/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/metrics.jsonl", "//", "/data.json/.."])
  check(`nothing at ${path}`, (await get(path))[0], 404);
for (const method of ["POST", "PUT", "DELETE", "OPTIONS"]) check(`no ${method}`, [405, 501].includes((await get("/", {}, method))[0]), true);
for (const [what, text] of [["no request", "\0\x01\x02\r\n\r\n"], ["a long header", `GET / HTTP/1.1\r\nX: ${"a".repeat(100_000)}\r\n\r\n`],
  ["a long path", `GET /${"a".repeat(100_000)} HTTP/1.1\r\n\r\n`], ["a body", `POST / HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Length: 99999999\r\n\r\nx`]])
  check(`${what} is not answered with the page`, /^HTTP\/1\.[01] 200/.test(await raw(text)), false);
const [status, metrics, headers] = await get("/metrics");
check("metrics", [status, headers["content-type"], metrics.endsWith("# EOF\n"), /^gradus_step\{run=".*<b>run & \\"1\\""\} \d+$/m.test(metrics)],
  [200, "application/openmetrics-text; version=1.0.0; charset=utf-8", true, true]);
check("no other page may read it", (await get("/data.json"))[2]["access-control-allow-origin"], undefined);

// The page follows the run to its end.
const before = await page.evaluate(() => Number(document.body.dataset.rendered));
await trained;
await page.until(() => data.runs[0].end !== null);
check("it was drawn again", (await page.evaluate(() => Number(document.body.dataset.rendered))) > before, true);
check("the last state equals the report's", (await page.evaluate(() => data.runs[0])), JSON.parse(gradus("report", run, "--json")).runs[0]);
await sleep(1500);
check("all listeners heard of changes", Math.min(...counts) > 0, true);
check("no errors", page.errors, []);
const weights = (of) => readFileSync(join(of, "last/model.safetensors")).toString("base64");
check("the bits of a run that nobody watched", weights(run) === weights(join(folder, "alone")), true);

server.kill("SIGINT");
check("Ctrl-C ends it", (await once(server, "exit"))[0], 0);
listeners.forEach((listener) => listener.destroy());
deaf.destroy();
await finish();
