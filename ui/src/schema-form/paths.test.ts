import { describe, expect, it } from "vitest";
import { formatPath, parseRejection } from "./paths";

describe("paths", () => {
  it.each([
    [["a", "b", 2, "c"], "a.b[2].c"],
    [[0], "[0]"],
    [[], ""],
    [["x".repeat(70)], `${"x".repeat(60)}…`],
  ])("%j is %s", (path, text) => {
    expect(formatPath(path)).toBe(text);
  });

  const rejection = (what: string) => `the arguments for \`s_t\` do not fit its schema: ${what}`;

  it.each<[string, [string, string][]]>([
    ['`n`: expected integer, found string "x"', [["n", 'expected integer, found string "x"']]],
    ["`a` is missing (string: The <b>name</b>)", [["a", "is missing (string: The <b>name</b>)"]]],
    [
      "`f.g`: `h` is missing; `n`: expected at most 5, found 6",
      [
        ["f.g.h", "is missing"],
        ["n", "expected at most 5, found 6"],
      ],
    ],
    [
      '`l[2]`: expected one of "a; b", found 1; `z` is unknown; known are `a`, `b`',
      [
        ["l[2]", 'expected one of "a; b", found 1'],
        ["z", "`z` is unknown; known are `a`, `b`"],
      ],
    ],
    [
      "`__proto__`: expected string, found null null",
      [["__proto__", "expected string, found null null"]],
    ],
    ["does not match the schema", [["", "does not match the schema"]]],
    ["`n`: too small; `n`: not whole", [["n", "too small; not whole"]]],
  ])("%s", (what, expected) => {
    expect([...parseRejection(rejection(what))]).toEqual(expected);
  });

  it("finds nothing in other messages", () => {
    expect(parseRejection("the server is away").size).toBe(0);
  });
});
