// What the clients' tests count.
import { isDeepStrictEqual } from "node:util";

export class Checks {
  passed = 0;
  failed = 0;

  check = (what, got, expected) => {
    if (isDeepStrictEqual(got, expected)) {
      console.log(`ok    ${what}`);
      return ++this.passed;
    }
    ++this.failed;
    const items = Array.isArray(got) || typeof got === "string" ? [...got] : [got];
    const others = Array.isArray(expected) || typeof expected === "string" ? [...expected] : [expected];
    const at = items.findIndex((item, i) => !isDeepStrictEqual(item, others[i]));
    console.log(`FAIL  ${what}: at ${at} there is ${JSON.stringify(items.slice(at, at + 40))?.slice(0, 200)}, not ` +
                `${JSON.stringify(others.slice(at, at + 40))?.slice(0, 200)}`);
  };

  /// Says how many passed, and ends the process.
  finish = () => {
    console.log(`${this.passed} passed, ${this.failed} failed`);
    process.exit(this.failed === 0 && this.passed > 0 ? 0 : 3);
  };
}
