import { expect, test } from "vitest";
import { OUTCOMES } from "../api/types";
import { toneOf } from "./tone";

test("success is green, failure is red, and an unknown word is neutral", () => {
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

test("only these outcomes of a call are neutral", () => {
  expect(OUTCOMES.filter((it) => toneOf(it) === "idle")).toEqual([
    "no_results",
    "cancelled",
    "revoked",
  ]);
});
