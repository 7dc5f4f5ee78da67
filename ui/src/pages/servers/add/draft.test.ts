// biome-ignore-all lint/suspicious/noTemplateCurlyInString: this is the syntax of references
import { expect, test } from "vitest";
import { begin, exports, forFile, forTrial, free, lift, missing, variables } from "./draft";

const found = { name: "gh", keys: { command: "gh-mcp", env: { GITHUB_TOKEN: "it's secret" } } };

test("a secret is used for the test and not saved", () => {
  const draft = begin(found, []);
  expect(forTrial(draft)).toEqual(found.keys);
  expect(forFile(draft)).toEqual({ command: "gh-mcp", env: { GITHUB_TOKEN: "${GITHUB_TOKEN}" } });
  expect(exports(draft)).toBe("export GITHUB_TOKEN='it'\\''s secret'");
  expect(exports(draft, "covered")).toBe("export GITHUB_TOKEN=••••••");
});

test("a secret is stored in the config on request", () => {
  const draft = { ...begin(found, []), places: { GITHUB_TOKEN: "config" as const } };
  expect(forFile(draft)).toEqual(found.keys);
  expect(exports(draft)).toBe("");
});

test("a required setting that is no secret is stored in the config, and must be filled in", () => {
  const needs = [{ name: "REGION", description: "Where", secret: false }];
  const draft = begin({ name: "x", keys: { env: { REGION: "${REGION}" } }, needs }, []);
  expect(variables(draft)).toEqual([{ ...needs[0], place: "config" }]);
  expect(missing(draft)).toEqual(["REGION"]);
  const filled = { ...draft, values: { REGION: "eu" } };
  expect(missing(filled)).toEqual([]);
  expect(forFile(filled)).toEqual({ env: { REGION: "eu" } });
});

test("a secret that is typed later is extracted as well", () => {
  const draft = begin({ name: "x", keys: { url: "https://x" } }, []);
  const typed = lift({ ...draft, keys: { ...draft.keys, auth: { token: "abc" } } });
  expect(typed.keys).toEqual({ url: "https://x", auth: { token: "${X_TOKEN}" } });
  expect(typed.values).toEqual({ X_TOKEN: "abc" });
  expect(lift(typed)).toBe(typed);
});

test("a name that is taken gets a number", () => {
  expect(free("fs", [])).toBe("fs");
  expect(free("fs", ["fs", "fs2"])).toBe("fs3");
});
