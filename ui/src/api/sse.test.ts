import { expect, test } from "vitest";
import { readEvents, type SseEvent } from "./sse";

async function read(...chunks: string[]): Promise<SseEvent[]> {
  const bytes = chunks.map((chunk) => new TextEncoder().encode(chunk));
  const body = new ReadableStream({
    start(controller) {
      for (const chunk of bytes) controller.enqueue(chunk);
      controller.close();
    },
  });
  const events: SseEvent[] = [];
  for await (const event of readEvents(new Response(body))) events.push(event);
  return events;
}

test("events are complete, however the chunks were split", async () => {
  const events = await read(
    "event: lo",
    'g\ndata: {"line"',
    ': "a"}\n',
    "\ndata: one\ndata: two\n\n",
  );
  expect(events).toEqual([
    { event: "log", data: '{"line": "a"}' },
    { event: "message", data: "one\ntwo" },
  ]);
});

test("comments are distinguished from events", async () => {
  const events = await read(': tollgate {"type":"call"}\n\ndata: x\n\n');
  expect(events).toEqual([
    { event: "comment", data: "", comment: 'tollgate {"type":"call"}' },
    { event: "message", data: "x" },
  ]);
});

test("a multi-byte character may be split between chunks", async () => {
  const [first, second] = [
    new Uint8Array([0x64, 0x61, 0x74, 0x61, 0x3a, 0x20, 0xc3]),
    new Uint8Array([0xa9, 0x0a, 0x0a]),
  ];
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(first);
      controller.enqueue(second);
      controller.close();
    },
  });
  const events: SseEvent[] = [];
  for await (const event of readEvents(new Response(body))) events.push(event);
  expect(events).toEqual([{ event: "message", data: "é" }]);
});
