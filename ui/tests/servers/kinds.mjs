// A minimal MCP server over stdio with unusual tools: all kinds of schemas, progress, long results,
// images, and a definition that changes.
import { createInterface } from "node:readline";

const text = (value) => ({ content: [{ type: "text", text: value }] });
const object = (properties, required = []) => ({ type: "object", properties, required });

let changed = "says what it is told";

/** A pixel. */
const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

const EVERY_KIND = {
  ...object(
    {
      name: { type: "string", description: "Who it is for", maxLength: 40 },
      note: { type: "string", title: "A longer note", default: "nothing" },
      count: { type: "integer", minimum: 0, default: 3 },
      ratio: { type: ["number", "null"] },
      sure: { type: "boolean", default: true },
      colour: { enum: ["red", "green", "blue"] },
      fixed: { const: "always" },
      number: { enum: Array.from({ length: 10_000 }, (_, at) => at) },
      when: { type: "string", format: "date-time" },
      address: {
        ...object({ street: { type: "string" }, town: { type: "string" } }, ["town"]),
        description: "Where it is",
      },
      tags: { type: "array", items: { type: "string" }, maxItems: 5 },
      labels: { type: "object", additionalProperties: { type: "integer" } },
      shape: {
        oneOf: [
          {
            title: "Circle",
            ...object({ kind: { const: "circle" }, radius: { type: "number" } }, [
              "kind",
              "radius",
            ]),
          },
          {
            title: "Box",
            ...object({ kind: { const: "box" }, side: { type: "number" } }, ["kind", "side"]),
          },
        ],
      },
      tree: { $ref: "#/$defs/node" },
      anything: {},
      "__proto__ ": { type: "string" },
    },
    ["name", "fixed"],
  ),
  $defs: { node: object({ value: { type: "string" }, next: { $ref: "#/$defs/node" } }) },
};

const TOOLS = {
  every_kind: {
    description: "Gives back the arguments as they came",
    inputSchema: EVERY_KIND,
    annotations: { readOnlyHint: true },
    // Echo the raw bytes, not the parsed value.
    run: (_, line) => text(line.slice(line.indexOf('"arguments"'))),
  },
  slow: {
    description: "Takes its time and says how far it is",
    inputSchema: object({ ms: { type: "integer" } }),
    annotations: { readOnlyHint: true },
    run: async ({ ms = 600 }, _, progress) => {
      for (let step = 1; step <= 4; step += 1) {
        await new Promise((done) => setTimeout(done, ms / 4));
        progress(step, 4, `step ${step}`);
      }
      return text("done at last");
    },
  },
  long: {
    description: "Says more than anybody can take",
    inputSchema: object({}),
    annotations: { readOnlyHint: true },
    run: () => text(Array.from({ length: 20_000 }, (_, at) => `line ${at} of many`).join("\n")),
  },
  picture: {
    description: "A picture and a word",
    inputSchema: object({}),
    annotations: { readOnlyHint: true },
    run: () => ({
      content: [
        { type: "text", text: "a pixel" },
        { type: "image", data: PNG, mimeType: "image/png" },
        { type: "resource_link", uri: "javascript:alert(1)", name: "not to be followed" },
        { type: "resource_link", uri: "https://example.com/a", name: "to be followed" },
      ],
    }),
  },
  fail: {
    description: "Never works",
    inputSchema: object({}),
    annotations: { readOnlyHint: true },
    run: () => ({ ...text("the wheel came off"), isError: true }),
  },
  wipe: {
    description: "Destroys everything",
    inputSchema: object({}),
    annotations: { destructiveHint: true, readOnlyHint: false },
    run: () => text("wiped"),
  },
  turncoat: {
    get description() {
      return changed;
    },
    inputSchema: object({ say: { type: "string" } }),
    run: ({ say }) => text(String(say)),
  },
  turn: {
    description: "Changes what another tool says of itself",
    inputSchema: object({ to: { type: "string" } }),
    run: ({ to }) => {
      changed = to;
      write({ method: "notifications/tools/list_changed" });
      return text("turned");
    },
  },
};

const write = (message) =>
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);

const ANSWERS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: { listChanged: true } },
    serverInfo: { name: "kinds", version: "1" },
  }),
  ping: () => ({}),
  "tools/list": () => ({
    tools: Object.entries(TOOLS).map(([name, { description, inputSchema, annotations }]) => ({
      name,
      description,
      inputSchema,
      annotations,
    })),
  }),
  "tools/call": ({ name, arguments: given, _meta }, line) => {
    const token = _meta?.progressToken;
    const progress = (done, total, message) =>
      token !== undefined &&
      write({
        method: "notifications/progress",
        params: { progressToken: token, progress: done, total, message },
      });
    return TOOLS[name].run(given ?? {}, line, progress);
  },
};

createInterface({ input: process.stdin }).on("line", async (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const answer = ANSWERS[method];
  if (answer) write({ id, result: await answer(params ?? {}, line) });
  else write({ id, error: { code: -32601, message: `no ${method}` } });
});
