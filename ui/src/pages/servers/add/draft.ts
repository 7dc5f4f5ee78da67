// A new server before it is saved. Its config references secrets; their values and where to store
// them are held separately.
import type { ServerConfig } from "../../../api/types";
import { shellQuote } from "../../../kit/code";
import { extractSecrets, fillReferences, findReferences, normalize } from "../config";

export interface Requirement {
  name: string;
  description: string | null;
  secret: boolean;
}

export type SecretStorage = "environment" | "config";

export interface ServerDraft {
  name: string;
  keys: ServerConfig;
  /** Values of variables, for the test and for those stored in the config. */
  values: Readonly<Record<string, string>>;
  storage: Readonly<Record<string, SecretStorage>>;
  needs: readonly Requirement[];
  notes: readonly string[];
}

export interface Candidate {
  name: string;
  keys: ServerConfig;
  /** Plain values of the source that were replaced by references. */
  originalValues?: Readonly<Record<string, string>>;
  needs?: readonly Requirement[];
  notes?: readonly string[];
}

export function createDraft(candidate: Candidate, takenNames: readonly string[]): ServerDraft {
  const { keys, values } = extractSecrets(candidate.name, candidate.keys);
  return {
    name: freeName(candidate.name, takenNames),
    keys,
    values: { ...candidate.originalValues, ...values },
    storage: {},
    needs: candidate.needs ?? [],
    notes: candidate.notes ?? [],
  };
}

/** A free name: `fs`, `fs2`, `fs3`. */
export function freeName(name: string, takenNames: readonly string[]): string {
  let next = name;
  for (let number = 2; takenNames.includes(next); number += 1) next = `${name}${number}`;
  return next;
}

/** All referenced variables, in order of appearance. */
export function variables(draft: ServerDraft): (Requirement & { storedIn: SecretStorage })[] {
  return findReferences(draft.keys).map((name) => {
    const declared = draft.needs.find((it) => it.name === name);
    const requirement = declared ?? { name, description: null, secret: true };
    const storedIn = draft.storage[name] ?? (requirement.secret ? "environment" : "config");
    return { ...requirement, storedIn };
  });
}

/** The config for the test, with all known values filled in. It is not stored. */
export function configForTrial(draft: ServerDraft): ServerConfig {
  return fillReferences(normalize(draft.keys), draft.values);
}

/** The config to save. */
export function configForFile(draft: ServerDraft): ServerConfig {
  const inConfig = variables(draft).filter((it) => it.storedIn === "config");
  const known = inConfig.map((it) => [it.name, draft.values[it.name] ?? ""]);
  return fillReferences(normalize(draft.keys), Object.fromEntries(known));
}

/** The shell lines that set the environment of the gateway; `covered` masks the values. */
export function exportLines(draft: ServerDraft, mode: "plain" | "covered" = "plain"): string {
  const displayValue = (name: string) => {
    const value = draft.values[name];
    if (!value) return "…";
    return mode === "covered" ? "••••••" : shellQuote(value);
  };
  return variables(draft)
    .filter((it) => it.storedIn === "environment")
    .map((it) => `export ${it.name}=${displayValue(it.name)}`)
    .join("\n");
}

/** Variables to be stored in the config that have no value yet. */
export function missingValues(draft: ServerDraft): string[] {
  return variables(draft)
    .filter((it) => it.storedIn === "config" && !draft.values[it.name])
    .map((it) => it.name);
}

/** Replaces secrets that were typed as plain text by references. */
export function extractDraftSecrets(draft: ServerDraft): ServerDraft {
  const { keys, values } = extractSecrets(draft.name || "server", draft.keys);
  if (Object.keys(values).length === 0) return draft;
  return { ...draft, keys, values: { ...draft.values, ...values } };
}
