import { describe, expect, it } from "vitest";
import { isNumber, NotJson, parse, print, treeOf } from "./json";

describe("JSON that loses nothing", () => {
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
  ])("%j stays what it is", (text) => {
    expect(print(parse(text))).toBe(text.replace("\\u202e", "\u202e"));
  });

  it.each([
    ["", "the text ends too early", 1, 1],
    ["{", 'a text in "quotes" is expected here', 1, 2],
    ['{"a": 1,\n}', "there is a comma too many before this", 2, 1],
    ['{"a": 1, "a": 2}', 'the field "a" is twice', 1, 10],
    ["[1 2]", 'a "," is expected here', 1, 4],
    ["01", "nothing more is expected here", 1, 2],
    ["{'a': 1}", 'a text in "quotes" is expected here', 1, 2],
    ['"a\nb"', 'a text in "quotes" is expected here', 1, 1],
    ["NaN", "a value is expected here", 1, 1],
    ["// no", "a value is expected here", 1, 1],
  ])("%j is refused where it is wrong", (text, message, line, column) => {
    let found: unknown;
    try {
      parse(text);
    } catch (error) {
      found = error;
    }
    expect(found).toBeInstanceOf(NotJson);
    expect(found).toMatchObject({ message, line, column });
  });

  it("ends where brackets have no end", () => {
    expect(() => parse("[".repeat(100_000))).toThrow("nested deeper than 120 levels");
    expect(() => parse('{"a":'.repeat(100_000))).toThrow("nested deeper than 120 levels");
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

  it("takes values with fields of any name", () => {
    const value = JSON.parse('{"__proto__": {"x": 1}, "toString": null}');
    expect(print(treeOf(value))).toBe(
      '{\n  "__proto__": {\n    "x": 1\n  },\n  "toString": null\n}',
    );
  });
});
