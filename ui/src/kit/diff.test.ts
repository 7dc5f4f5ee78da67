import { expect, test } from "vitest";
import { diffLines, mergeLines } from "./diff";

test("equal texts have no diff", () => {
  expect(diffLines("a\nb", "a\nb")).toBe("");
});

test("a changed line is shown as removed and added, with context", () => {
  const before = ["1", "2", "3", "4", "5", "6", "7", "8", "9"].join("\n");
  const after = before.replace("5", "five");
  expect(diffLines(before, after).split("\n")).toEqual([
    "@@ line 2 / 2 @@",
    " 2",
    " 3",
    " 4",
    "-5",
    "+five",
    " 6",
    " 7",
    " 8",
  ]);
});

test("distant changes are in separate hunks", () => {
  const before = Array.from({ length: 30 }, (_, at) => `line ${at}`);
  const after = [...before];
  after[2] = "x";
  after.splice(25, 1);
  const diff = diffLines(before.join("\n"), after.join("\n"));
  expect(diff.match(/^@@/gm)).toHaveLength(2);
  expect(diff).toContain("-line 25");
});

test("texts that are too long to compare are shown as replaced", () => {
  const long = (word: string) => Array.from({ length: 3000 }, (_, at) => word + at).join("\n");
  const diff = diffLines(long("a"), long("b"));
  expect(diff).toContain("-a2999");
  expect(diff).toContain("+b2999");
});

test("changes of different lines are merged", () => {
  const base = "a\nb\nc\nd\ne\nf";
  expect(mergeLines(base, "A\nb\nc\nd\ne\nf", "a\nb\nc\nd\ne\nF\ng")).toBe("A\nb\nc\nd\ne\nF\ng");
  expect(mergeLines(base, base, "x")).toBe("x");
  expect(mergeLines(base, "a\nc\nd\ne\nf", "a\nc\nd\ne\nf")).toBe("a\nc\nd\ne\nf");
});

test("changes of the same lines are not merged", () => {
  expect(mergeLines("a\nb\nc", "a\nX\nc", "a\nY\nc")).toBeUndefined();
  expect(mergeLines("a\nb", "a\nmine\nb", "a\ntheirs\nb")).toBeUndefined();
});
