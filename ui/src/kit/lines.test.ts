import { expect, test } from "vitest";
import { difference, merged } from "./lines";

test("equal texts have no diff", () => {
  expect(difference("a\nb", "a\nb")).toBe("");
});

test("a changed line is shown as removed and added, with context", () => {
  const before = ["1", "2", "3", "4", "5", "6", "7", "8", "9"].join("\n");
  const after = before.replace("5", "five");
  expect(difference(before, after).split("\n")).toEqual([
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
  const told = difference(before.join("\n"), after.join("\n"));
  expect(told.match(/^@@/gm)).toHaveLength(2);
  expect(told).toContain("-line 25");
});

test("texts that are too long to compare are shown as replaced", () => {
  const long = (word: string) => Array.from({ length: 3000 }, (_, at) => word + at).join("\n");
  const told = difference(long("a"), long("b"));
  expect(told).toContain("-a2999");
  expect(told).toContain("+b2999");
});

test("changes of different lines are merged", () => {
  const base = "a\nb\nc\nd\ne\nf";
  expect(merged(base, "A\nb\nc\nd\ne\nf", "a\nb\nc\nd\ne\nF\ng")).toBe("A\nb\nc\nd\ne\nF\ng");
  expect(merged(base, base, "x")).toBe("x");
  expect(merged(base, "a\nc\nd\ne\nf", "a\nc\nd\ne\nf")).toBe("a\nc\nd\ne\nf");
});

test("changes of the same lines are not merged", () => {
  expect(merged("a\nb\nc", "a\nX\nc", "a\nY\nc")).toBeUndefined();
  expect(merged("a\nb", "a\nmine\nb", "a\ntheirs\nb")).toBeUndefined();
});
