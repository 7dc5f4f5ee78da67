// Operations on a server's config as the form needs them. Pure functions.
import type { Keys } from "../../api/types";

/** Sections that may contain secrets. */
const TABLES: readonly string[] = ["env", "headers"];
const REFERENCE = /(\$?)\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g;
const SECRET = /key|token|secret|passw|credential|auth|cookie|session|pat$|dsn|private/i;

export type Kind = "command" | "url";

export function kindOf(keys: Keys): Kind {
  return "url" in keys && !("command" in keys) ? "url" : "command";
}

/** Empty values are removed from the config. */
export function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === "") return true;
  if (Array.isArray(value)) return value.length === 0;
  return typeof value === "object" && Object.keys(value).length === 0;
}

/** The value at a path. */
export function at(keys: Keys, ...path: string[]): unknown {
  let value: unknown = keys;
  for (const part of path) {
    if (typeof value !== "object" || value === null) return undefined;
    value = (value as Keys)[part];
  }
  return value;
}

export function text(keys: Keys, ...path: string[]): string {
  const value = at(keys, ...path);
  return value === undefined || value === null || typeof value === "object" ? "" : String(value);
}

/** Sets a value at a path; an empty one removes the key. */
export function put(keys: Keys, path: readonly string[], value: unknown): Keys {
  const [first, ...rest] = path;
  if (first === undefined) return keys;
  const before = keys[first];
  const inner =
    rest.length === 0
      ? value
      : put(typeof before === "object" && before !== null ? (before as Keys) : {}, rest, value);
  const next = { ...keys };
  if (isEmpty(inner)) delete next[first];
  else next[first] = inner;
  return next;
}

/** The entries of a table such as `env` or `headers`. */
export function pairs(keys: Keys, table: string): [string, string][] {
  const value = at(keys, table);
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).map(([name, it]) => [name, String(it)]);
}

/** Converts rows to a table. Rows without a name are ignored, and the first of a name wins. */
export function table(rows: readonly (readonly [string, string])[]): Record<string, string> {
  const found = new Map<string, string>();
  for (const [name, value] of rows) if (name && !found.has(name)) found.set(name, value);
  return Object.fromEntries(found);
}

/** Program and arguments on one line, quoted. A trailing blank is kept, because the user is about to
 * type the next word. */
export function commandLine(keys: Keys): string {
  const { command } = keys;
  const args = Array.isArray(keys.args) ? keys.args.map(String) : [];
  if (typeof command === "string") {
    return [...(command ? [command] : []), ...args.map(quoted)].join(" ");
  }
  const words = Array.isArray(command) ? command.map(String) : [];
  return [...words, ...args].map(quoted).join(" ");
}

function quoted(word: string): string {
  return /^[\w./:=@%+,~-]+$/.test(word) || /^\$\{[^}]+\}$/.test(word)
    ? word
    : `'${word.replaceAll("'", "'\\''")}'`;
}

/** Sets the command line; the gateway splits it like a shell. */
export function withCommand(keys: Keys, line: string): Keys {
  const { args: _, ...rest } = keys;
  return put(rest, ["command"], line);
}

/** Normalizes the config for testing and saving. */
export function tidied(keys: Keys): Keys {
  return typeof keys.command === "string" ? { ...keys, command: keys.command.trim() } : keys;
}

/** Switches between local and remote; settings that apply to the other type only are dropped. */
export function ofKind(keys: Keys, kind: Kind): Keys {
  const own: readonly string[] =
    kind === "command" ? ["url", "headers", "auth"] : ["command", "args", "env", "cwd", "sandbox"];
  const rest = Object.entries(keys).filter(([key]) => key !== "transport" && !own.includes(key));
  const first = kind === "command" ? { command: "" } : { url: "" };
  return { ...first, ...Object.fromEntries(rest) };
}

/** Names of referenced variables that have no default. */
export function references(value: unknown): string[] {
  const found = new Set<string>();
  each(value, (text) => {
    for (const [, escaped, name] of text.matchAll(REFERENCE)) {
      if (!escaped && name) found.add(name);
    }
  });
  return [...found];
}

function each(value: unknown, seen: (text: string) => void) {
  if (typeof value === "string") seen(value);
  else if (typeof value === "object" && value !== null) {
    for (const inner of Object.values(value)) each(inner, seen);
  }
}

/** Replaces references by these values. */
export function filled(keys: Keys, values: Readonly<Record<string, string>>): Keys {
  const one = (value: unknown): unknown => {
    if (typeof value === "string") {
      return value.replace(REFERENCE, (whole, escaped: string, name: string) => {
        const known = values[name];
        // Escape a literal `${` in a value.
        return escaped || !known ? whole : known.replaceAll("${", () => "$${");
      });
    }
    if (Array.isArray(value)) return value.map(one);
    if (typeof value === "object" && value !== null) {
      return Object.fromEntries(Object.entries(value).map(([key, it]) => [key, one(it)]));
    }
    return value;
  };
  return one(keys) as Keys;
}

/** The variable name for a secret of a server. */
export function variable(server: string, name: string): string {
  const plain = (word: string) => word.toUpperCase().replace(/[^A-Z0-9]+/g, "_");
  const own = plain(name).replace(/^_+|_+$/g, "");
  const whole = /^(AUTHORIZATION|TOKEN|X_API_KEY|API_KEY|APIKEY|CLIENT_SECRET|KEY)$/.test(own)
    ? `${plain(server)}_${own === "AUTHORIZATION" ? "TOKEN" : own}`
    : own;
  return /^[A-Z_]/.test(whole) ? whole : `V_${whole}`;
}

export interface Lifted {
  keys: Keys;
  values: Record<string, string>;
}

/** Replaces plain secrets by references, and returns their values. */
export function lifted(server: string, keys: Keys): Lifted {
  const values: Record<string, string> = {};
  let next = keys;
  const lift = (path: readonly string[], name: string) => {
    const value = at(next, ...path);
    if (typeof value !== "string" || !value || value.startsWith("***") || value.includes("${")) {
      return;
    }
    const [, scheme = "", secret = ""] = /^(Bearer |Basic |Token )?(.*)$/is.exec(value) ?? [];
    let free = variable(server, name);
    while (free in values) free = `${free}_2`;
    values[free] = secret;
    next = put(next, path, `${scheme}\${${free}}`);
  };
  for (const table of TABLES) {
    for (const [name] of pairs(keys, table)) if (SECRET.test(name)) lift([table, name], name);
  }
  for (const path of [["token"], ["apiKey"], ["client_secret"], ["oauth", "client_secret"]]) {
    lift(["auth", ...path], path.at(-1) === "apiKey" ? "API_KEY" : (path.at(-1) ?? ""));
  }
  return { keys: next, values };
}

/** Why a name is invalid. */
export function badName(name: string): string | undefined {
  if (!name) return "Enter a name";
  if (!/^[A-Za-z]/.test(name)) return "Must start with a letter";
  if (!/^[A-Za-z0-9_-]*$/.test(name)) return "Use only letters, digits, `_` and `-`";
  return name.length > 64 ? "Use at most 64 characters" : undefined;
}
