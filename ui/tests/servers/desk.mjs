// A minimal MCP server over stdio, without libraries. Its tools wait and fail on request, and one
// requires approval.
import { createInterface } from "node:readline";

const text = { type: "string" };
const number = { type: "number" };
const TOOLS = [
  ["say", "Says it back", { text }],
  ["wait", "Takes so many milliseconds", { ms: number }],
  ["fail", "Fails with these words", { text }],
  ["wipe", "Wipes the desk", { what: text, why: text }],
].map(([name, description, properties]) => ({
  name,
  description,
  inputSchema: { type: "object", properties },
}));

const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const said = (words, isError = false) => ({ content: [{ type: "text", text: words }], isError });

async function called({ name, arguments: given = {} }) {
  if (name === "wait") {
    await pause(given.ms ?? 0);
    return said(`waited ${given.ms ?? 0} ms`);
  }
  if (name === "fail") return said(given.text ?? "it failed", true);
  if (name === "wipe") return said(`wiped ${given.what ?? "the desk"}`);
  return said(given.text ?? "nothing");
}

async function answer(method, params) {
  if (method === "initialize") {
    return {
      protocolVersion: params.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: "desk", version: "1.0.0" },
    };
  }
  if (method === "tools/list") return { tools: TOOLS };
  if (method === "tools/call") return called(params);
  if (method === "ping") return {};
  throw { code: -32601, message: `there is no ${method}` };
}

createInterface({ input: process.stdin }).on("line", async (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined || method === undefined) return;
  const reply = await answer(method, params).then(
    (result) => ({ result }),
    (error) => ({ error }),
  );
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...reply })}\n`);
});
