// biome-ignore-all lint/suspicious/noTemplateCurlyInString: this is the syntax of references
import { expect, test } from "vitest";
import {
  commandLine,
  convertTo,
  extractSecrets,
  fillReferences,
  findReferences,
  kindOf,
  normalize,
  setAt,
  tableOf,
  validateName,
  withCommand,
} from "./config";

test("an empty value removes its key, and empty parents", () => {
  expect(setAt({ a: 1 }, ["b"], "x")).toEqual({ a: 1, b: "x" });
  expect(setAt({ auth: { token: "x" } }, ["auth", "token"], "")).toEqual({});
  expect(setAt({}, ["defaults", "timeout_ms"], 5)).toEqual({ defaults: { timeout_ms: 5 } });
});

test("a command is one line, in every notation", () => {
  expect(commandLine({ command: "npx -y x" })).toBe("npx -y x");
  expect(commandLine({ command: "npx " })).toBe("npx ");
  expect(commandLine({ command: "", args: ["x"] })).toBe("x");
  expect(normalize({ command: " npx -y x ", cwd: "/" })).toEqual({ command: "npx -y x", cwd: "/" });
  expect(normalize({ command: ["a "] })).toEqual({ command: ["a "] });
  expect(commandLine({ command: ["a", "b c"], args: ["it's"] })).toBe("a 'b c' 'it'\\''s'");
  expect(withCommand({ command: ["a"], args: ["b"], cwd: "/" }, "c d")).toEqual({
    command: "c d",
    cwd: "/",
  });
  expect(kindOf({ url: "https://x" })).toBe("url");
  expect(convertTo({ command: "x", env: { A: "b" }, category: "c" }, "url")).toEqual({
    url: "",
    category: "c",
  });
});

test("the first row of a name wins, and rows without a name are ignored", () => {
  expect(
    tableOf([
      ["API", "mine"],
      ["", "x"],
      ["API", ""],
      ["B", "b"],
    ]),
  ).toEqual({ API: "mine", B: "b" });
});

test("references are found and replaced, except escaped ones and those with a default", () => {
  const keys = { env: { A: "${ONE}", B: "$${TWO}", C: "${THREE:-x}" }, args: ["--k=${FOUR}"] };
  expect(findReferences(keys)).toEqual(["ONE", "FOUR"]);
  expect(fillReferences(keys, { ONE: "a${b}", FOUR: "4", TWO: "no" })).toEqual({
    env: { A: "a$${b}", B: "$${TWO}", C: "${THREE:-x}" },
    args: ["--k=4"],
  });
});

test("plain secrets become references", () => {
  const keys = {
    url: "https://x",
    env: { GITHUB_TOKEN: "abc", PATH: "/bin", OLD: "***12" },
    headers: { Authorization: "Bearer abc", "x-plain": "1" },
    auth: { token: "t" },
  };
  expect(extractSecrets("gh", keys)).toEqual({
    keys: {
      url: "https://x",
      env: { GITHUB_TOKEN: "${GITHUB_TOKEN}", PATH: "/bin", OLD: "***12" },
      headers: { Authorization: "Bearer ${GH_TOKEN}", "x-plain": "1" },
      auth: { token: "${GH_TOKEN_2}" },
    },
    values: { GITHUB_TOKEN: "abc", GH_TOKEN: "abc", GH_TOKEN_2: "t" },
  });
  const again = { env: { API_KEY: "${MINE}" } };
  expect(extractSecrets("x", again)).toEqual({ keys: again, values: {} });
});

test("only names that the config accepts are valid", () => {
  for (const good of ["a", "world_search", "A-1"]) expect(validateName(good)).toBeUndefined();
  for (const bad of ["", "1a", "<b>", "a b", "a".repeat(65), "../x"]) {
    expect(validateName(bad)).toBeDefined();
  }
});
