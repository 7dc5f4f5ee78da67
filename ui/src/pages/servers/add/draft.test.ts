// biome-ignore-all lint/suspicious/noTemplateCurlyInString: this is the syntax of references
import { expect, test } from "vitest";
import {
  configForFile,
  configForTrial,
  createDraft,
  exportLines,
  extractDraftSecrets,
  freeName,
  missingValues,
  variables,
} from "./draft";

const candidate = { name: "gh", keys: { command: "gh-mcp", env: { GITHUB_TOKEN: "it's secret" } } };

test("a secret is used for the test and not saved", () => {
  const draft = createDraft(candidate, []);
  expect(configForTrial(draft)).toEqual(candidate.keys);
  expect(configForFile(draft)).toEqual({
    command: "gh-mcp",
    env: { GITHUB_TOKEN: "${GITHUB_TOKEN}" },
  });
  expect(exportLines(draft)).toBe("export GITHUB_TOKEN='it'\\''s secret'");
  expect(exportLines(draft, "covered")).toBe("export GITHUB_TOKEN=••••••");
});

test("a secret is stored in the config on request", () => {
  const draft = { ...createDraft(candidate, []), storage: { GITHUB_TOKEN: "config" as const } };
  expect(configForFile(draft)).toEqual(candidate.keys);
  expect(exportLines(draft)).toBe("");
});

test("a required setting that is no secret is stored in the config, and must be filled in", () => {
  const needs = [{ name: "REGION", description: "Where", secret: false }];
  const draft = createDraft({ name: "x", keys: { env: { REGION: "${REGION}" } }, needs }, []);
  expect(variables(draft)).toEqual([{ ...needs[0], storedIn: "config" }]);
  expect(missingValues(draft)).toEqual(["REGION"]);
  const filled = { ...draft, values: { REGION: "eu" } };
  expect(missingValues(filled)).toEqual([]);
  expect(configForFile(filled)).toEqual({ env: { REGION: "eu" } });
});

test("a secret that is typed later is extracted as well", () => {
  const draft = createDraft({ name: "x", keys: { url: "https://x" } }, []);
  const typed = extractDraftSecrets({ ...draft, keys: { ...draft.keys, auth: { token: "abc" } } });
  expect(typed.keys).toEqual({ url: "https://x", auth: { token: "${X_TOKEN}" } });
  expect(typed.values).toEqual({ X_TOKEN: "abc" });
  expect(extractDraftSecrets(typed)).toBe(typed);
});

test("a name that is taken gets a number", () => {
  expect(freeName("fs", [])).toBe("fs");
  expect(freeName("fs", ["fs", "fs2"])).toBe("fs3");
});
