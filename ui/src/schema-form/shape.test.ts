import { describe, expect, it } from "vitest";
import type { Schema } from "../api/types";
import { printJson } from "./json";
import { type Shape, shapeOf } from "./shape";

/** A shape in short notation: `object{a: text!, b: integer?null}`. */
function notation(root: Schema, found: Shape): string {
  const { kind } = found;
  const none = found.nullable ? "?null" : "";
  switch (kind.is) {
    case "object": {
      const fields = kind.fields.map(
        (it) => `${it.name}: ${notation(root, shapeOf(root, it.schema))}${it.required ? "!" : ""}`,
      );
      if (kind.others !== undefined)
        fields.push(`*: ${notation(root, shapeOf(root, kind.others))}`);
      return `object{${fields.join(", ")}}${none}`;
    }
    case "list": {
      const parts = kind.first.map((it) => notation(root, shapeOf(root, it)));
      if (kind.items !== undefined) parts.push(`*${notation(root, shapeOf(root, kind.items))}`);
      return `list[${parts.join(", ")}]${none}`;
    }
    case "choice":
      return `choice(${kind.options.map((it) => printJson(it)).join(" ")})${none}`;
    case "forms":
      return `forms(${kind.forms.map((it) => it.title).join(" | ")})${none}`;
    default:
      return found.type + none;
  }
}

function check(schema: unknown, expected: string) {
  expect(notation(schema as Schema, shapeOf(schema as Schema, schema as Schema))).toBe(expected);
}

describe("from a schema to a form", () => {
  it.each<[unknown, string]>([
    [{ type: "string" }, "text"],
    [{ type: "string", format: "email" }, "email"],
    [{ type: "integer" }, "integer"],
    [{ type: ["number", "null"] }, "number?null"],
    [{ type: ["string", "integer"] }, "forms(string | integer)"],
    [{ type: "null" }, "null"],
    [{ enum: ["a", 1, null] }, 'choice("a" 1)?null'],
    [{ const: 5 }, "choice(5)"],
    [{ const: null }, "null"],
    [{ enum: [null] }, "null"],
    [{ enum: [] }, "nothing"],
    [{ oneOf: [{ const: "a" }, { const: "b" }] }, 'choice("a" "b")'],
    [{ anyOf: [{ type: "string" }, { type: "null" }] }, "text?null"],
    [
      { anyOf: [{ type: "string" }, { type: "number" }, { type: "null" }] },
      "forms(text | number)?null",
    ],
    [
      { oneOf: [{ title: "By name" }, { required: ["id"], properties: { id: {} } }] },
      "forms(By name | with id)",
    ],
    [
      {
        oneOf: [{ properties: { kind: { const: "a" } } }, { properties: { kind: { const: "b" } } }],
      },
      "forms(kind: a | kind: b)",
    ],
    [
      { type: "object", properties: { a: { type: "string" } }, required: ["a"] },
      "object{a: text!}",
    ],
    [{ properties: { a: { type: "boolean" } } }, "object{a: boolean}"],
    [{ type: "object", required: ["x"] }, "object{x: JSON!}"],
    [{ type: "object", additionalProperties: { type: "integer" } }, "object{*: integer}"],
    [{ type: "object" }, "object{*: JSON}"],
    [{ type: "object", properties: {}, additionalProperties: false }, "object{}"],
    [{ type: "object", patternProperties: { "^x": { type: "number" } } }, "object{*: number}"],
    [{ type: "array", items: { type: "string" } }, "list[*text]"],
    [{ type: "array" }, "list[*JSON]"],
    [{ type: "array", prefixItems: [{ type: "string" }], items: false }, "list[text]"],
    [
      { items: [{ type: "string" }, { type: "number" }], additionalItems: false },
      "list[text, number]",
    ],
    [
      {
        allOf: [
          { properties: { a: { type: "string" } } },
          { properties: { b: {} }, required: ["b"] },
        ],
      },
      "object{a: text, b: JSON!}",
    ],
    [{ $ref: "#/$defs/n", $defs: { n: { type: "integer" } } }, "integer"],
    [{ $ref: "#/definitions/a~1b", definitions: { "a/b": { type: "integer" } } }, "integer"],
    [{ $ref: "#named", $defs: { n: { $anchor: "named", type: "boolean" } } }, "boolean"],
    [{ pattern: "^a" }, "text"],
    [{ minimum: 3 }, "number"],
    [{}, "JSON"],
  ])("%j is %s", check);

  it.each<[unknown, string]>([
    [true, "JSON"],
    [false, "nothing"],
    [null, "JSON"],
    ["text", "JSON"],
    [{ type: "strange" }, "JSON"],
    [{ type: 7, properties: "no", required: 5 }, "object{*: JSON}"],
    [{ properties: { a: null, b: false, c: 3 } }, "object{a: JSON, b: nothing, c: JSON}"],
    [{ anyOf: "no" }, "JSON"],
    [{ anyOf: [] }, "JSON"],
    [{ anyOf: [false, null] }, "forms(option 1 | option 2)"],
    [{ $ref: "#" }, "JSON"],
    [{ $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } } }, "JSON"],
    [{ $ref: "http://169.254.169.254/x" }, "JSON"],
    [{ $ref: "#/constructor/prototype" }, "JSON"],
    [{ $ref: "#/%E0%A4%A" }, "JSON"],
    [{ anyOf: [{ $ref: "#" }] }, "JSON"],
    [{ allOf: [{ $ref: "#" }, { $ref: "#" }] }, "JSON"],
  ])("hostile %j is %s", check);

  it("follows a recursive schema as deep as it is opened", () => {
    const tree: Schema = {
      $ref: "#/$defs/node",
      $defs: { node: { type: "object", properties: { next: { $ref: "#/$defs/node" } } } },
    };
    let at: Schema = tree;
    for (let depth = 0; depth < 500; depth += 1) {
      const { kind } = shapeOf(tree, at);
      expect(kind.is).toBe("object");
      at = (kind.is === "object" && kind.fields[0]?.schema) || false;
    }
  });

  it("stops at exponentially many subschemas", () => {
    const $defs: Record<string, unknown> = {};
    for (let at = 0; at < 40; at += 1) {
      $defs[`d${at}`] = { allOf: [{ $ref: `#/$defs/d${at + 1}` }, { $ref: `#/$defs/d${at + 1}` }] };
    }
    const schema = { $ref: "#/$defs/d0", $defs };
    expect(shapeOf(schema, schema).problem).toBe("too many subschemas");
  });

  it("keeps property names that objects inherit", () => {
    const schema = JSON.parse(
      '{"properties": {"__proto__": {"type": "string"}, "constructor": {"type": "number"}, "toString": {}}, "required": ["__proto__", "hasOwnProperty"]}',
    );
    check(
      schema,
      "object{__proto__: text!, constructor: number, toString: JSON, hasOwnProperty: JSON!}",
    );
    const joined = { allOf: [schema, { properties: { valueOf: { type: "boolean" } } }] };
    check(
      joined,
      "object{__proto__: text!, constructor: number, toString: JSON, valueOf: boolean, hasOwnProperty: JSON!}",
    );
  });

  it("supports ten thousand options", () => {
    const options = Array.from({ length: 10_000 }, (_, at) => `option ${at}`);
    const { kind } = shapeOf(true, { enum: options });
    expect(kind.is === "choice" && kind.options.length).toBe(10_000);
  });

  it("reports the default and the constraints", () => {
    const found = shapeOf(true, {
      type: "integer",
      title: "<b>Count</b>",
      minimum: 1,
      maximum: 5,
      default: 3,
      examples: [4],
    });
    expect(found).toMatchObject({
      title: "<b>Count</b>",
      defaultValue: { type: "number", text: "3" },
      example: { type: "number", text: "4" },
      bounds: ["at least 1", "at most 5"],
    });
  });
});
