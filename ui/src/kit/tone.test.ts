import { expect, test } from "vitest";
import { OUTCOMES } from "../api/types";
import { toneOf } from "./tone";

test("what went well is green, what went wrong is red, and what nobody named is neither", () => {
  const good = ["approved", "made", "rotated", "accepted", "restarted", "tried", "ran", "ready"];
  expect(new Set(good.map(toneOf))).toEqual(new Set(["good"]));
  const idle = [
    "no_results",
    "revoked",
    "removed",
    "declined",
    "withdrawn",
    "disabled",
    "new word",
  ];
  expect(new Set(idle.map(toneOf))).toEqual(new Set(["idle"]));
  const bad = ["error", "timeout", "offline", "denied", "refused", "failed", "expired", "rejected"];
  expect(new Set(bad.map(toneOf))).toEqual(new Set(["bad"]));
  expect(toneOf(null)).toBe("warn");
});

test("of the outcomes of a call only these need no colour", () => {
  expect(OUTCOMES.filter((it) => toneOf(it) === "idle")).toEqual([
    "no_results",
    "cancelled",
    "revoked",
  ]);
});
