// A server on its way into the config. Its keys refer to secrets; what the secrets are, and where
// they will stand, is kept beside.
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
  /** Of variables; for the trial, and for those that go into the config. */
  values: Readonly<Record<string, string>>;
  places: Readonly<Record<string, Place>>;
  needs: readonly Need[];
  notes: readonly string[];
}

export interface Found {
  name: string;
  keys: Keys;
  /** What stood in the source where references stand now. */
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

/** A name that nobody has: `fs`, `fs2`, `fs3`. */
export function free(name: string, taken: readonly string[]): string {
  let next = name;
  for (let number = 2; taken.includes(next); number += 1) next = `${name}${number}`;
  return next;
}

/** Everything that has to be known, in the order in which it stands. */
export function variables(draft: Draft): (Need & { place: Place })[] {
  return references(draft.keys).map((name) => {
    const said = draft.needs.find((it) => it.name === name);
    const need = said ?? { name, description: null, secret: true };
    const place = draft.places[name] ?? (need.secret ? "environment" : "config");
    return { ...need, place };
  });
}

/** With all that is known written out: nothing of it is kept. */
export function forTrial(draft: Draft): Keys {
  return filled(tidied(draft.keys), draft.values);
}

/** As it is to stand in the config. */
export function forFile(draft: Draft): Keys {
  const written = variables(draft).filter((it) => it.place === "config");
  const known = written.map((it) => [it.name, draft.values[it.name] ?? ""]);
  return filled(tidied(draft.keys), Object.fromEntries(known));
}

/** What to type before the gateway is started; covered, it can be looked at by anybody. */
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

/** Variables that go into the config and are not known. */
export function missing(draft: Draft): string[] {
  return variables(draft)
    .filter((it) => it.place === "config" && !draft.values[it.name])
    .map((it) => it.name);
}

/** Secrets that were typed in plain become references. */
export function lift(draft: Draft): Draft {
  const { keys, values } = lifted(draft.name || "server", draft.keys);
  if (Object.keys(values).length === 0) return draft;
  return { ...draft, keys, values: { ...draft.values, ...values } };
}
