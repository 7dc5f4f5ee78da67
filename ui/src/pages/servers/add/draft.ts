// A new server before it is saved. Its config references secrets; their values and where to store
// them are held separately.
import type { Keys } from "../../../api/types";
import { quoted } from "../../../kit/code";
import { filled, lifted, references, tidied } from "../keys";

export interface Need {
  name: string;
  description: string | null;
  secret: boolean;
}

export type Place = "environment" | "config";

export interface Draft {
  name: string;
  keys: Keys;
  /** Values of variables, for the test and for those stored in the config. */
  values: Readonly<Record<string, string>>;
  places: Readonly<Record<string, Place>>;
  needs: readonly Need[];
  notes: readonly string[];
}

export interface Found {
  name: string;
  keys: Keys;
  /** Plain values of the source that were replaced by references. */
  given?: Readonly<Record<string, string>>;
  needs?: readonly Need[];
  notes?: readonly string[];
}

export function begin(found: Found, taken: readonly string[]): Draft {
  const { keys, values } = lifted(found.name, found.keys);
  return {
    name: free(found.name, taken),
    keys,
    values: { ...found.given, ...values },
    places: {},
    needs: found.needs ?? [],
    notes: found.notes ?? [],
  };
}

/** A free name: `fs`, `fs2`, `fs3`. */
export function free(name: string, taken: readonly string[]): string {
  let next = name;
  for (let number = 2; taken.includes(next); number += 1) next = `${name}${number}`;
  return next;
}

/** All referenced variables, in order of appearance. */
export function variables(draft: Draft): (Need & { place: Place })[] {
  return references(draft.keys).map((name) => {
    const said = draft.needs.find((it) => it.name === name);
    const need = said ?? { name, description: null, secret: true };
    const place = draft.places[name] ?? (need.secret ? "environment" : "config");
    return { ...need, place };
  });
}

/** The config for the test, with all known values filled in. It is not stored. */
export function forTrial(draft: Draft): Keys {
  return filled(tidied(draft.keys), draft.values);
}

/** The config to save. */
export function forFile(draft: Draft): Keys {
  const written = variables(draft).filter((it) => it.place === "config");
  const known = written.map((it) => [it.name, draft.values[it.name] ?? ""]);
  return filled(tidied(draft.keys), Object.fromEntries(known));
}

/** The shell lines that set the environment of the gateway; `covered` masks the values. */
export function exports(draft: Draft, how: "plain" | "covered" = "plain"): string {
  const shown = (name: string) => {
    const value = draft.values[name];
    if (!value) return "…";
    return how === "covered" ? "••••••" : quoted(value);
  };
  return variables(draft)
    .filter((it) => it.place === "environment")
    .map((it) => `export ${it.name}=${shown(it.name)}`)
    .join("\n");
}

/** Variables to be stored in the config that have no value yet. */
export function missing(draft: Draft): string[] {
  return variables(draft)
    .filter((it) => it.place === "config" && !draft.values[it.name])
    .map((it) => it.name);
}

/** Replaces secrets that were typed as plain text by references. */
export function lift(draft: Draft): Draft {
  const { keys, values } = lifted(draft.name || "server", draft.keys);
  if (Object.keys(values).length === 0) return draft;
  return { ...draft, keys, values: { ...draft.values, ...values } };
}
