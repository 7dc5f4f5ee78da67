// A minimal MCP server over stdio with a given number of tools: `node many.mjs 5000`
import { createInterface } from "node:readline";

const count = Number(process.argv[2] ?? 5000);
const WORDS = [
  "read",
  "write",
  "search",
  "list",
  "delete",
  "send",
  "count",
  "draw",
  "play",
  "book",
];

const tools = Array.from({ length: count }, (_, at) => ({
  name: `${WORDS[at % WORDS.length]}_${String(at).padStart(4, "0")}`,
  title: `Tool number ${at}`,
  description: `Does what tool number ${at} does, and nothing that tool ${at + 1} would do.`,
  inputSchema: {
    type: "object",
    properties: {
      text: { type: "string", description: "What to say" },
      times: { type: "integer" },
    },
    required: ["text"],
  },
  annotations: { readOnlyHint: at % 3 === 0 },
}));

const ANSWERS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "many", version: "1" },
  }),
  ping: () => ({}),
  "tools/list": ({ cursor }) => {
    const from = Number(cursor ?? 0);
    const to = from + 500;
    return { tools: tools.slice(from, to), ...(to < count && { nextCursor: String(to) }) };
  },
  "tools/call": ({ name, arguments: given }) => ({
    content: [{ type: "text", text: `${name}: ${given?.text ?? ""}` }],
  }),
};

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const answer = ANSWERS[method];
  const said = answer
    ? { result: answer(params ?? {}) }
    : { error: { code: -32601, message: `no ${method}` } };
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...said })}\n`);
});
