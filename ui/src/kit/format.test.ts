import { expect, test } from "vitest";
import { ago, bytes, count, duration, ms, percent } from "./format";

test.each([
  [null, "–"],
  [0, "0 ms"],
  [0.4, "<1 ms"],
  [3.84, "3.8 ms"],
  [212.4, "212 ms"],
  [1234, "1.23 s"],
  [61_000, "61.0 s"],
])("%s milliseconds read %s", (value, expected) => {
  expect(ms(value)).toBe(expected);
});

test.each([
  [0, "0 s"],
  [59.6, "1 min"],
  [3700, "1 h 1 min"],
  [180_000, "2 d 2 h"],
])("%s seconds read %s", (value, expected) => {
  expect(duration(value)).toBe(expected);
});

test("shares, sizes and numbers have their units", () => {
  expect(percent(0)).toBe("0 %");
  expect(percent(0.0123)).toBe("1.2 %");
  expect(percent(0.5)).toBe("50 %");
  expect(bytes(2048)).toBe("2.0 KiB");
  expect(count(1, "tool")).toBe("1 tool");
  expect(count(5000, "tool")).toBe("5,000 tools");
});

test("a missing time is shown as never", () => {
  expect(ago(null)).toBe("never");
  expect(ago("2026-11-15T10:00:00Z", Date.parse("2026-11-15T10:02:05Z"))).toBe("2 min ago");
});
