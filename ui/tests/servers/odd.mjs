// A misbehaving MCP server: `hang` never responds, `markup` writes markup into all its texts.
import { createInterface } from "node:readline";

const way = process.argv[2];
const MARKUP = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`;
const tools = [
  {
    name: "plain",
    title: MARKUP,
    description: MARKUP,
    inputSchema: { type: "object", properties: { [MARKUP]: { description: MARKUP } } },
  },
];

console.error(way === "markup" ? MARKUP : "thinking about it");
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined || way === "hang") return;
  const serverInfo = { name: MARKUP, version: MARKUP };
  const result = {
    initialize: {
      protocolVersion: params?.protocolVersion,
      capabilities: { tools: {} },
      serverInfo,
      instructions: MARKUP,
    },
    "tools/list": { tools },
    "tools/call": { content: [{ type: "text", text: MARKUP }] },
    ping: {},
  }[method];
  const said = result ? { result } : { error: { code: -32601, message: MARKUP } };
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...said })}\n`);
});
