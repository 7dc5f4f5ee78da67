import { expect, test } from "vitest";
import {
  type Answer,
  applyEvent,
  EMPTY_ANSWER,
  factsOf,
  messagesOf,
  undecidedCalls,
  withResults,
} from "./answer";

const chunk = (delta: object, more: object = {}) =>
  [
    "message",
    JSON.stringify({ choices: [{ index: 0, delta, finish_reason: null }], ...more }),
  ] as const;
const gatewayEvent = (event: object) =>
  ["tollgate", JSON.stringify({ ...event, choices: [] })] as const;
const all = (...events: (readonly [string, string])[]): Answer =>
  events.reduce((answer, [name, data]) => applyEvent(answer, name, data), EMPTY_ANSWER);

test("text is concatenated, and the last chunk has the reason for the end", () => {
  const end = JSON.stringify({
    choices: [{ delta: {}, finish_reason: "stop" }],
    tollgate: { ended: "answered", model: "small", rounds: 2 },
  });
  const answer = all(chunk({ content: "Well " }), chunk({ content: "met." }), ["message", end]);
  expect(answer).toMatchObject({ text: "Well met.", ended: "answered", model: "small", rounds: 2 });
});

test("calls run one by one or in parallel, even with reused ids", () => {
  const answer = all(
    gatewayEvent({ type: "call", id: "c1", name: "roll", arguments: "{}" }),
    gatewayEvent({ type: "call", id: "c2", name: "search", arguments: "{}" }),
    gatewayEvent({ type: "result", id: "c2", name: "search", status: "ok", duration_ms: 7 }),
    gatewayEvent({ type: "result", id: "c1", name: "roll", status: "error", duration_ms: 3 }),
    gatewayEvent({ type: "call", id: "c1", name: "roll", arguments: "{}" }),
  );
  expect(answer.calls.map((call) => [call.name, call.status, call.duration_ms])).toEqual([
    ["roll", "error", 3],
    ["search", "ok", 7],
    ["roll", null, null],
  ]);
});

test("a returned call is streamed in pieces", () => {
  const piece = (index: number, more: object) => chunk({ tool_calls: [{ index, ...more }] });
  const answer = all(
    piece(0, { id: "a", function: { name: "wipe", arguments: "" } }),
    piece(0, { function: { arguments: '{"what":' } }),
    piece(0, { function: { arguments: '"all"}' } }),
    piece(1, { id: "b", function: { name: "say", arguments: "{}" } }),
  );
  expect(undecidedCalls(answer).map((call) => [call.name, call.arguments])).toEqual([
    ["wipe", '{"what":"all"}'],
    ["say", "{}"],
  ]);
});

test("notes are kept, but only the last progress", () => {
  const answer = all(
    gatewayEvent({ type: "announcement", message: "One moment." }),
    gatewayEvent({ type: "progress", progress: { progress: 1, total: 3 } }),
    gatewayEvent({ type: "progress", progress: { progress: 2, total: 3, message: "reading" } }),
    gatewayEvent({ type: "fallback", from: "big", to: "small", why: "503" }),
    gatewayEvent({ type: "lost", lost: ["top_k"] }),
    gatewayEvent({ type: "something new" }),
  );
  expect(answer.notes.map((note) => note.text)).toEqual([
    "One moment.",
    "reading: 2 of 3",
    "big failed (503), using small",
    "not supported by the provider: top_k",
  ]);
});

test("invalid JSON and a failure of the model are errors", () => {
  expect(all(["message", "{half"]).error).toBe("invalid JSON in the stream");
  expect(all(["message", '{"error":{"message":"overloaded"}}']).error).toBe("overloaded");
  expect(all(["message", "[DONE]"])).toEqual(EMPTY_ANSWER);
});

test("results are added to their calls, and are sent in the order of the history", () => {
  const answer = withResults({
    ...all(
      chunk({ tool_calls: [{ index: 0, id: "a", function: { name: "wipe", arguments: "{}" } }] }),
      gatewayEvent({ type: "call", id: "b", name: "roll", arguments: "{}" }),
    ),
    history: [
      {
        role: "assistant",
        content: null,
        tool_calls: [
          { id: "a", type: "function", function: { name: "wipe", arguments: "{}" } },
          { id: "b", type: "function", function: { name: "roll", arguments: "{}" } },
        ],
      },
      { role: "tool", tool_call_id: "b", content: "5" },
    ],
  });
  expect(answer.calls.map((call) => [call.id, call.result])).toEqual([
    ["a", null],
    ["b", "5"],
  ]);
  const ran = answer.calls.map((call) => (call.id === "a" ? { ...call, result: "done" } : call));
  expect(messagesOf({ ...answer, calls: ran }).slice(1)).toEqual([
    { role: "tool", tool_call_id: "b", content: "5" },
    { role: "tool", tool_call_id: "a", content: "done" },
  ]);
});

test("returned calls are sent with an assistant message of their own", () => {
  const answer = all(
    chunk({ tool_calls: [{ index: 0, id: "a", function: { name: "wipe", arguments: "{}" } }] }),
  );
  expect(messagesOf(answer)).toEqual([
    {
      role: "assistant",
      content: null,
      tool_calls: [{ id: "a", type: "function", function: { name: "wipe", arguments: "{}" } }],
    },
    { role: "tool", tool_call_id: "a", content: "The user declined this call." },
  ]);
});

test("an answer without history is its text, and an empty one is nothing", () => {
  expect(messagesOf({ ...EMPTY_ANSWER, text: "Hm." })).toEqual([
    { role: "assistant", content: "Hm." },
  ]);
  expect(messagesOf(EMPTY_ANSWER)).toEqual([]);
});

test("facts are read from the headers", () => {
  const facts = factsOf(
    new Headers({
      "x-tollgate-tier": "fast",
      "x-tollgate-tier-reason": "no reason for a higher tier",
      "x-tollgate-tools-visible": "11",
      "x-tollgate-deadline-ms": "500",
    }),
  );
  expect(facts).toMatchObject({ tier: "fast", visible: 11, deadline_ms: 500, pruned: null });
});
