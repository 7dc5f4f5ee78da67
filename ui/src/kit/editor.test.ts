import { expect, test } from "vitest";
import { offsetOf } from "./editor";

test("an offset is computed from line and column, and never lies beyond the line", () => {
  const text = "ab\ncde\n\nf";
  expect(offsetOf(text, 1, 1)).toBe(0);
  expect(offsetOf(text, 2, 2)).toBe(4);
  expect(offsetOf(text, 2, 99)).toBe(6);
  expect(offsetOf(text, 3, 5)).toBe(7);
  expect(offsetOf(text, 99, 1)).toBe(8);
});
