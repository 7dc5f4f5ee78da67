import { expect, test, vi } from "vitest";
import { undecidedCalls } from "./answer";
import { Conversation, type Settings } from "./conversation";

const client = vi.hoisted(() => ({ call: vi.fn(), send: vi.fn() }));
vi.mock("../../api/client", async (original) => ({ ...(await original<object>()), ...client }));
vi.stubGlobal("requestAnimationFrame", (act: () => void) => setTimeout(act, 0));
vi.stubGlobal("cancelAnimationFrame", clearTimeout);

const SETTINGS: Settings = { agent: "clerk", variables: [] };

function streamOf(...chunks: unknown[]): Response {
  const text = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("");
  return new Response(text, { headers: { "content-type": "text/event-stream" } });
}

test("the results of two parallel calls are both kept, and then the turn continues", async () => {
  const calls = ["one", "two"].map((id, index) => ({
    index,
    id,
    function: { name: `desk_${id}`, arguments: "{}" },
  }));
  const answer = { choices: [{ delta: { tool_calls: calls }, finish_reason: "tool_calls" }] };
  const end = { choices: [{ delta: { content: "done" }, finish_reason: "stop" }] };
  client.send.mockResolvedValueOnce(streamOf(answer)).mockResolvedValueOnce(streamOf(end));
  client.call.mockImplementation(async (_method, _path, { body }) => ({ content: body.id }));

  const talk = new Conversation();
  talk.send("both", SETTINGS);
  await vi.waitFor(() => expect(talk.snapshot().busy).toBe(false));
  const item = talk.snapshot().items[1];
  if (item?.kind !== "answer") throw new Error("there is no answer");
  await Promise.all(undecidedCalls(item.answer).map((it) => talk.run(it, SETTINGS)));

  await vi.waitFor(() => expect(talk.snapshot().items).toHaveLength(3));
  const results = client.send.mock.calls[1]?.[2].body.messages.slice(-2);
  expect(results.map((it: { content: string }) => it.content)).toEqual(["one", "two"]);
  expect(talk.snapshot().running.size).toBe(0);
});
