// Lossless JSON: numbers stay as typed, fields keep their order, and may have any name.
// `JSON.parse` would round 9007199254740993 and 1.10.

export type Tree =
  | { type: "null" }
  | { type: "boolean"; value: boolean }
  | { type: "number"; text: string }
  | { type: "string"; text: string }
  | { type: "list"; items: Tree[] }
  | { type: "object"; fields: [string, Tree][] };

/** A syntax error with its position. Lines and columns count from one. */
export class JsonSyntaxError extends Error {
  constructor(
    message: string,
    readonly line: number,
    readonly column: number,
  ) {
    super(message);
  }
}

/** Deeper than any real schema, and safe for the call stack. */
const MAX_DEPTH = 120;

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON forbids exactly these
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const BLANK = /[ \t\r\n]*/y;

export function isNumber(text: string): boolean {
  NUMBER.lastIndex = 0;
  return NUMBER.exec(text)?.[0].length === text.length && text !== "";
}

export function parseJson(text: string): Tree {
  const reader = new JsonReader(text);
  const tree = reader.value(0);
  reader.end();
  return tree;
}

class JsonReader {
  private at = 0;

  constructor(private readonly text: string) {}

  value(depth: number): Tree {
    if (depth > MAX_DEPTH) throw this.syntaxError(`nested deeper than ${MAX_DEPTH} levels`);
    this.skipBlanks();
    const next = this.text[this.at];
    if (next === "{") return this.object(depth);
    if (next === "[") return this.list(depth);
    if (next === '"') return { type: "string", text: this.string() };
    const number = this.take(NUMBER);
    if (number) return { type: "number", text: number };
    for (const [word, tree] of LITERALS) {
      if (this.text.startsWith(word, this.at)) {
        this.at += word.length;
        return tree;
      }
    }
    throw this.syntaxError(next === undefined ? "unexpected end of input" : "expected a value");
  }

  end() {
    this.skipBlanks();
    if (this.at < this.text.length) throw this.syntaxError("unexpected text after the value");
  }

  private object(depth: number): Tree {
    const fields = new Map<string, Tree>();
    this.at += 1;
    this.skipBlanks();
    while (this.text[this.at] !== "}") {
      this.skipBlanks();
      const began = this.at;
      const name = this.string();
      if (fields.has(name))
        throw this.syntaxError(`duplicate field ${JSON.stringify(name)}`, began);
      this.expect(":");
      fields.set(name, this.value(depth + 1));
      if (!this.hasMore("}")) break;
    }
    this.at += 1;
    return { type: "object", fields: [...fields] };
  }

  private list(depth: number): Tree {
    const items: Tree[] = [];
    this.at += 1;
    this.skipBlanks();
    while (this.text[this.at] !== "]") {
      items.push(this.value(depth + 1));
      if (!this.hasMore("]")) break;
    }
    this.at += 1;
    return { type: "list", items };
  }

  /** Whether another element follows; does not consume the closing bracket. */
  private hasMore(close: string): boolean {
    this.skipBlanks();
    if (this.text[this.at] === close) return false;
    this.expect(",");
    this.skipBlanks();
    if (this.text[this.at] === close) throw this.syntaxError("trailing comma");
    return true;
  }

  private string(): string {
    const found = this.take(STRING);
    if (found === undefined) throw this.syntaxError("expected a string in double quotes");
    return JSON.parse(found) as string;
  }

  private expect(sign: string) {
    this.skipBlanks();
    if (this.text[this.at] !== sign) throw this.syntaxError(`expected "${sign}"`);
    this.at += 1;
  }

  private skipBlanks() {
    this.take(BLANK);
  }

  private take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0];
    this.at += found?.length ?? 0;
    return found;
  }

  private syntaxError(message: string, at = this.at): JsonSyntaxError {
    const before = this.text.slice(0, at).split("\n");
    return new JsonSyntaxError(message, before.length, (before.at(-1)?.length ?? 0) + 1);
  }
}

const LITERALS: [string, Tree][] = [
  ["null", { type: "null" }],
  ["true", { type: "boolean", value: true }],
  ["false", { type: "boolean", value: false }],
];

/** Pretty-prints with an indent of two. */
export function printJson(tree: Tree, indent = ""): string {
  const inner = `${indent}  `;
  switch (tree.type) {
    case "null":
      return "null";
    case "boolean":
      return String(tree.value);
    case "number":
      return tree.text;
    case "string":
      return JSON.stringify(tree.text);
    case "list": {
      if (tree.items.length === 0) return "[]";
      const items = tree.items.map((item) => inner + printJson(item, inner));
      return `[\n${items.join(",\n")}\n${indent}]`;
    }
    case "object": {
      if (tree.fields.length === 0) return "{}";
      const fields = tree.fields.map(
        ([name, value]) => `${inner}${JSON.stringify(name)}: ${printJson(value, inner)}`,
      );
      return `{\n${fields.join(",\n")}\n${indent}}`;
    }
  }
}

/** Converts a parsed value, such as a default in a schema. */
export function treeOf(value: unknown): Tree {
  if (Array.isArray(value)) return { type: "list", items: value.map(treeOf) };
  switch (typeof value) {
    case "boolean":
      return { type: "boolean", value };
    case "number":
      return { type: "number", text: String(value) };
    case "string":
      return { type: "string", text: value };
    case "object":
      if (value === null) return { type: "null" };
      return {
        type: "object",
        fields: Object.entries(value).map(([name, inner]) => [name, treeOf(inner)]),
      };
    default:
      return { type: "null" };
  }
}
