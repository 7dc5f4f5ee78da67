// Limits the compressed size of the page as it is embedded in the binary.
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";

const OUTPUT = "../crates/tollgate-server/page/built";
const MAX_BYTES = 350_000;

beforeAll(() => {
  if (!existsSync(OUTPUT)) execFileSync("npx", ["vite", "build"], { stdio: "ignore" });
}, 120_000);

test("the whole page is below 350 kB compressed", () => {
  const files = readdirSync(OUTPUT, { recursive: true, encoding: "utf8" })
    .map((name) => ({ name, bytes: statSync(join(OUTPUT, name)) }))
    .filter((file) => file.bytes.isFile())
    .map((file) => ({ name: file.name, bytes: file.bytes.size }));
  const all = files.reduce((sum, file) => sum + file.bytes, 0);
  console.log(`the page: ${files.length} files, ${(all / 1000).toFixed(1)} kB compressed`);
  expect(files.every((file) => file.name.endsWith(".gz"))).toBe(true);
  expect(files.map((file) => file.name)).toContain("index.html.gz");
  expect(all).toBeLessThan(MAX_BYTES);
});
