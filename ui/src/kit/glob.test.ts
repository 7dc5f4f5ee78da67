import { expect, test } from "vitest";
import { lets, listed, matches } from "./glob";

test("stars take any run, question marks any one character", () => {
  for (const [glob, name, wanted] of [
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
    expect(matches(glob, name), `${glob} ${name}`).toBe(wanted);
  }
});

test("no list lets everything through, an empty one nothing", () => {
  expect(lets(null, "x")).toBe(true);
  expect(lets([], "x")).toBe(false);
});

test("a list is typed with commas, blanks or lines", () => {
  expect(listed(" a, b\nc ")).toEqual(["a", "b", "c"]);
  expect(listed("  ")).toBeUndefined();
});
