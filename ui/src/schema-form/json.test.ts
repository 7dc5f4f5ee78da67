import { describe, expect, it } from "vitest";
import { isNumber, JsonSyntaxError, parseJson, printJson, treeOf } from "./json";

describe("lossless JSON", () => {
  it.each([
    "null",
    "true",
    "9007199254740993",
    "1.10",
    "-0",
    "1e400",
    '"\\u202e <script>"',
    "[]",
    "{}",
    '{\n  "__proto__": 1,\n  "constructor": 2\n}',
    '[\n  1,\n  [\n    {\n      "a": null\n    }\n  ]\n]',
  ])("%j is unchanged", (text) => {
    expect(printJson(parseJson(text))).toBe(text.replace("\\u202e", "\u202e"));
  });

  it.each([
    ["", "unexpected end of input", 1, 1],
    ["{", "expected a string in double quotes", 1, 2],
    ['{"a": 1,\n}', "trailing comma", 2, 1],
    ['{"a": 1, "a": 2}', 'duplicate field "a"', 1, 10],
    ["[1 2]", 'expected ","', 1, 4],
    ["01", "unexpected text after the value", 1, 2],
    ["{'a': 1}", "expected a string in double quotes", 1, 2],
    ['"a\nb"', "expected a string in double quotes", 1, 1],
    ["NaN", "expected a value", 1, 1],
    ["// no", "expected a value", 1, 1],
  ])("%j is rejected with its position", (text, message, line, column) => {
    let found: unknown;
    try {
      parseJson(text);
    } catch (error) {
      found = error;
    }
    expect(found).toBeInstanceOf(JsonSyntaxError);
    expect(found).toMatchObject({ message, line, column });
  });

  it("stops at endless nesting", () => {
    expect(() => parseJson("[".repeat(100_000))).toThrow("nested deeper than 120 levels");
    expect(() => parseJson('{"a":'.repeat(100_000))).toThrow("nested deeper than 120 levels");
  });

  it.each([
    ["1", true],
    ["-1.5e+3", true],
    ["1.", false],
    [".5", false],
    ["+1", false],
    ["0x10", false],
    ["1,5", false],
    ["", false],
    ["1 ", false],
    ["Infinity", false],
  ])("%j is a number: %s", (text, is) => {
    expect(isNumber(text)).toBe(is);
  });

  it("accepts fields of any name", () => {
    const value = JSON.parse('{"__proto__": {"x": 1}, "toString": null}');
    expect(printJson(treeOf(value))).toBe(
      '{\n  "__proto__": {\n    "x": 1\n  },\n  "toString": null\n}',
    );
  });
});
