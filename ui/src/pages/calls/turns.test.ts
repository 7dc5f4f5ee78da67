import { expect, test } from "vitest";
import { sampleCall } from "./sample";
import { axisTicks, groupTurns } from "./turns";

test("calls are positioned in their turn, and those over the ceiling are counted", () => {
  const calls = [
    sampleCall({ id: "b", at: "2026-11-15T10:00:00.300Z", duration_ms: 400 }),
    sampleCall({ id: "a", at: "2026-11-15T10:00:00.100Z", duration_ms: 100 }),
  ];
  const [turn] = groupTurns(calls, [], 0);
  expect(turn?.lines.map((line) => [line.call.id, line.from, line.to])).toEqual([
    ["a", 100, 200],
    ["b", 300, 700],
  ]);
  expect(turn).toMatchObject({ deadline: 500, late: 1, span: 700 });
});

test("a turn that ends early spans up to its ceiling", () => {
  const [turn] = groupTurns([sampleCall({ duration_ms: 1 })], [], 0);
  expect(turn?.span).toBe(500);
  const [free] = groupTurns([sampleCall({ deadline_ms: null, duration_ms: 30 })], [], 0);
  expect(free).toMatchObject({ span: 130, late: 0 });
});

test("calls made by a program are nested below it, at any depth", () => {
  const calls = [
    sampleCall({ id: "inner", within: "outer", at: "2026-11-15T10:00:00.120Z" }),
    sampleCall({ id: "other", at: "2026-11-15T10:00:00.110Z" }),
    sampleCall({ id: "outer", at: "2026-11-15T10:00:00.100Z" }),
    sampleCall({ id: "innermost", within: "inner", at: "2026-11-15T10:00:00.130Z" }),
    sampleCall({ id: "orphan", within: "forgotten", at: "2026-11-15T10:00:00.140Z" }),
  ];
  const [turn] = groupTurns(calls, [], 0);
  expect(turn?.lines.map((line) => `${line.depth} ${line.call.id}`)).toEqual([
    "0 outer",
    "1 inner",
    "2 innermost",
    "0 other",
    "0 orphan",
  ]);
});

test("a running call and its last step extend up to now", () => {
  const call = sampleCall({
    outcome: null,
    duration_ms: 20,
    steps: [
      { step: "admitted", from_ms: 0, to_ms: 1 },
      { step: "attempt", from_ms: 1, to_ms: null },
    ],
  });
  const [turn] = groupTurns([], [{ call, receivedAt: 1000 }], 1300);
  expect(turn?.lines[0]).toMatchObject({ from: 100, to: 420, running: true });
  expect(turn?.lines[0]?.steps.at(-1)?.to_ms).toBe(320);
});

test("turns are separate, newest first", () => {
  const calls = [
    sampleCall({ turn: "old", turn_began: "2026-11-15T10:00:00Z" }),
    sampleCall({ turn: "new", turn_began: "2026-11-15T10:00:05Z", at: "2026-11-15T10:00:05.1Z" }),
  ];
  expect(groupTurns(calls, [], 0).map((turn) => turn.id)).toEqual(["new", "old"]);
});

test("axis ticks are round and few", () => {
  for (const span of [0.3, 7, 520, 1560, 4160, 130_000]) {
    const found = axisTicks(span);
    expect(found.length).toBeGreaterThan(1);
    expect(found.length).toBeLessThan(6);
    expect(found.every((mark) => mark <= span)).toBe(true);
  }
  expect(axisTicks(520)).toEqual([200, 400]);
});
