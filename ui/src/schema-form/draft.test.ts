import { describe, expect, it } from "vitest";
import type { Schema } from "../api/types";
import { type Draft, draftFromJson, initialDraft, openDraft, serializeDraft } from "./draft";
import { parseJson } from "./json";

const compact = (text: string | undefined) => text?.replace(/\n\s*/g, "");

describe("the initial input of a form", () => {
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
    expect(compact(serializeDraft(initialDraft(schema, schema)).text)).toBe(expected);
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
  ])("a recursive schema has an initial input as well: %j", (schema) => {
    expect(initialDraft(schema, schema)).toBeDefined();
    expect(openDraft(schema, schema)).toBeDefined();
  });
});

describe("serialization", () => {
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
    expect(compact(serializeDraft(draft).text)).toBe(expected);
  });

  it.each<[Draft, string, string]>([
    [{ type: "number", text: "" }, "", "enter a number or clear the field"],
    [{ type: "number", text: "1,5" }, "", "“1,5” is not a valid JSON number; did you mean 1.5?"],
    [{ type: "number", text: ".5" }, "", "“.5” is not a valid JSON number; did you mean 0.5?"],
    [{ type: "number", text: "12a" }, "", "“12a” is not a valid JSON number"],
    [{ type: "json", text: "{a" }, "", "line 1, column 2: expected a string in double quotes"],
    [{ type: "form", at: 0, of: undefined }, "", "value missing"],
    [
      { type: "object", fields: [["a", { type: "list", items: [undefined] }]] },
      "a,0",
      "empty item: fill it in or remove it",
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
      'duplicate name "a"',
    ],
  ])("%j gives an error instead", (draft, path, message) => {
    const { text, errors } = serializeDraft(draft);
    expect(text).toBeUndefined();
    expect(errors.map((it) => [it.path.join(), it.message])).toEqual([[path, message]]);
  });
});

describe("from JSON to form input", () => {
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
  ])("%s survives the round trip", (text) => {
    const draft = draftFromJson(schema, schema, parseJson(text));
    expect(compact(serializeDraft(draft).text)).toBe(text);
  });

  it("picks the alternative that fits", () => {
    const draft = draftFromJson(
      schema,
      schema,
      parseJson('{"how": {"kind": "far"}, "size": "large"}'),
    );
    expect(draft).toMatchObject({
      fields: [
        ["how", { type: "form", at: 1 }],
        ["size", { type: "form", at: 1, of: { type: "string", text: "large" } }],
      ],
    });
  });
});
