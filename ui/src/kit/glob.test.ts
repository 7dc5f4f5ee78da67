import { expect, test } from "vitest";
import { isAllowed, matches, parseList } from "./glob";

test("a star matches any run, a question mark any one character", () => {
  for (const [glob, name, expected] of [
    ["*", "", true],
    ["fs_*", "fs_read", true],
    ["fs_*", "FS_read", false],
    ["*read*file", "fs_read_text_file", true],
    ["*read*file", "fs_read_text_files", false],
    ["?", "ä", true],
    ["?", "", false],
    ["a**b", "ab", true],
    ["roll", "rolls", false],
    ["a.c", "abc", false],
    ["*a*a*a*a*a*a*a*b", "a".repeat(200), false],
  ] as const) {
    expect(matches(glob, name), `${glob} ${name}`).toBe(expected);
  }
});

test("no allowlist allows everything, an empty one nothing", () => {
  expect(isAllowed(null, "x")).toBe(true);
  expect(isAllowed([], "x")).toBe(false);
});

test("a list is split at commas, blanks and newlines", () => {
  expect(parseList(" a, b\nc ")).toEqual(["a", "b", "c"]);
  expect(parseList("  ")).toBeUndefined();
});
