// A minimal MCP server over stdio. All its texts are markup that would run a script or fetch
// something if it were not shown as plain text.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

const PAYLOADS = JSON.parse(readFileSync(new URL("./payloads.json", import.meta.url), "utf8"));

const plain = (payload) => payload.replace(/[\u202e\u2066]/g, "");

/** One tool per payload, with the payload in every text field. */
const tools = PAYLOADS.map((payload, at) => ({
  // Tool names are restricted, and hidden characters are removed from field names.
  name: `tool_${at}`,
  title: payload,
  description: payload,
  inputSchema: {
    type: "object",
    title: payload,
    description: payload,
    properties: {
      [plain(payload)]: { type: "string", title: payload, description: payload, default: payload },
      choice: { enum: [payload, "plain"], title: payload, default: payload },
      fixed: { const: payload },
      form: {
        oneOf: [
          { title: payload, type: "string" },
          { title: `${payload}2`, type: "number" },
        ],
      },
      shaped: {
        type: "string",
        format: payload,
        pattern: payload.replace(/[^\w<>=]/g, "."),
        examples: [payload],
      },
    },
    required: [plain(payload)],
  },
  outputSchema: {
    type: "object",
    title: payload,
    properties: { said: { type: "string", description: payload } },
  },
  annotations: { title: payload, readOnlyHint: true },
  icons: [{ src: "https://evil.example/icon.svg", mimeType: "image/svg+xml" }],
  _meta: { [`x/${at}`]: payload },
}));

const ANSWERS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {}, logging: {} },
    serverInfo: { name: PAYLOADS[0], title: PAYLOADS[1], version: PAYLOADS[2] },
    instructions: PAYLOADS[3],
  }),
  ping: () => ({}),
  "logging/setLevel": () => ({}),
  "tools/list": () => ({ tools }),
  "tools/call": ({ name, _meta }) => {
    const payload = PAYLOADS[Number(name.slice("tool_".length))] ?? PAYLOADS[0];
    const token = _meta?.progressToken;
    write({
      method: "notifications/message",
      params: { level: "error", logger: payload, data: payload },
    });
    if (token !== undefined) {
      write({
        method: "notifications/progress",
        params: { progressToken: token, progress: 1, total: 2, message: payload },
      });
    }
    // Half of the calls fail with the payload as the reason.
    const failed = Number(name.slice("tool_".length)) % 2 === 1;
    return {
      isError: failed,
      content: [
        { type: "text", text: payload },
        { type: "resource_link", uri: payload, name: payload, mimeType: payload },
        { type: "image", data: btoa("<svg onload=alert(1)>"), mimeType: payload },
        { type: "resource", resource: { uri: payload, mimeType: "text/html", text: payload } },
      ],
      ...(!failed && { structuredContent: { said: payload } }),
    };
  },
};

const write = (message) =>
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);

process.stderr.write(`${PAYLOADS.join("\n")}\n`);
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const answer = ANSWERS[method];
  if (answer) write({ id, result: answer(params ?? {}) });
  else write({ id, error: { code: -32601, message: PAYLOADS[4] } });
});
