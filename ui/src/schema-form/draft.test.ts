import { describe, expect, it } from "vitest";
import type { Schema } from "../api/types";
import { begin, type Draft, drafted, opened, written } from "./draft";
import { parse } from "./json";

const compact = (text: string | undefined) => text?.replace(/\n\s*/g, "");

describe("what a form begins with", () => {
  it.each<[Schema, string | undefined]>([
    [{ type: "object", properties: { a: { type: "string" }, b: { type: "object" } } }, "{}"],
    [{ type: "object", properties: { a: { type: "string", default: "x" } } }, "{}"],
    [
      { type: "object", properties: { a: { type: "object", properties: {} } }, required: ["a"] },
      '{"a": {}}',
    ],
    [{ type: "object", properties: { k: { const: "fixed" } }, required: ["k"] }, '{"k": "fixed"}'],
    [{ type: "object", properties: { l: { type: "array" } }, required: ["l"] }, '{"l": []}'],
    [{ type: "string" }, undefined],
    [false, undefined],
  ])("%j begins as %s", (schema, expected) => {
    expect(compact(written(begin(schema, schema)).text)).toBe(expected);
  });

  it.each<[Schema]>([
    [{ type: "object", properties: { me: { $ref: "#" } }, required: ["me"] }],
    [{ type: "array", prefixItems: [{ $ref: "#" }] }],
    [
      {
        type: "object",
        properties: { me: { type: "array", prefixItems: [{ $ref: "#" }] } },
        required: ["me"],
      },
    ],
  ])("one that must contain itself begins all the same: %j", (schema) => {
    expect(begin(schema, schema)).toBeDefined();
    expect(opened(schema, schema)).toBeDefined();
  });
});

describe("what is sent", () => {
  it.each<[Draft | undefined, string | undefined]>([
    [undefined, undefined],
    [{ type: "string", text: "" }, '""'],
    [{ type: "number", text: " 9007199254740993 " }, "9007199254740993"],
    [{ type: "number", text: "1.10" }, "1.10"],
    [{ type: "null" }, "null"],
    [{ type: "form", at: 1, of: { type: "boolean", value: false } }, "false"],
    [{ type: "json", text: "[1,2]" }, "[1,2]"],
    [
      {
        type: "object",
        fields: [
          ["__proto__", { type: "number", text: "1" }],
          ["left out", undefined],
          ["b", { type: "list", items: [{ type: "null" }] }],
        ],
      },
      '{"__proto__": 1,"b": [null]}',
    ],
  ])("%j as %s", (draft, expected) => {
    expect(compact(written(draft).text)).toBe(expected);
  });

  it.each<[Draft, string, string]>([
    [{ type: "number", text: "" }, "", "a number is missing: type one, or clear the field"],
    [{ type: "number", text: "1,5" }, "", "“1,5” is no number of JSON, did you mean 1.5?"],
    [{ type: "number", text: ".5" }, "", "“.5” is no number of JSON, did you mean 0.5?"],
    [{ type: "number", text: "12a" }, "", "“12a” is no number of JSON"],
    [{ type: "json", text: "{a" }, "", 'line 1, column 2: a text in "quotes" is expected here'],
    [{ type: "form", at: 0, of: undefined }, "", "this is not filled in yet"],
    [
      { type: "object", fields: [["a", { type: "list", items: [undefined] }]] },
      "a,0",
      "this item is not filled in: fill it in or remove it",
    ],
    [
      {
        type: "object",
        fields: [
          ["a", { type: "null" }],
          ["a", { type: "null" }],
        ],
      },
      "a",
      'the name "a" is twice',
    ],
  ])("nothing for %j, and why", (draft, path, message) => {
    const { text, wrong } = written(draft);
    expect(text).toBeUndefined();
    expect(wrong.map((it) => [it.path.join(), it.message])).toEqual([[path, message]]);
  });
});

describe("JSON by hand as a form", () => {
  const schema: Schema = {
    type: "object",
    properties: {
      name: { type: "string" },
      size: { anyOf: [{ type: "integer" }, { type: "string" }, { type: "null" }] },
      how: {
        oneOf: [
          { properties: { kind: { const: "near" }, metres: {} } },
          { properties: { kind: { const: "far" }, miles: {} } },
        ],
      },
      colour: { enum: ["red", "blue"] },
      tags: { type: "array", items: { type: "string" } },
    },
  };

  it.each([
    '{"name": "x","size": 9007199254740993}',
    '{"size": null,"colour": "blue"}',
    '{"how": {"kind": "far","miles": 3}}',
    '{"name": 5,"tags": "no list","colour": "green"}',
    '{"tags": ["a",7,null],"unknown": {"__proto__": []}}',
    '{"__proto__": {"a": 1}}',
    "[1]",
    '"text"',
    "null",
  ])("%s comes back as it was", (text) => {
    const draft = drafted(schema, schema, parse(text));
    expect(compact(written(draft).text)).toBe(text);
  });

  it("finds the form that was meant", () => {
    const draft = drafted(schema, schema, parse('{"how": {"kind": "far"}, "size": "large"}'));
    expect(draft).toMatchObject({
      fields: [
        ["how", { type: "form", at: 1 }],
        ["size", { type: "form", at: 1, of: { type: "string", text: "large" } }],
      ],
    });
  });
});
