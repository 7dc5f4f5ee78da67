// Operations on a server's config as the form needs them. Pure functions.
import type { ServerConfig } from "../../api/types";

/** Sections that may contain secrets. */
const SECRET_TABLES: readonly string[] = ["env", "headers"];
const REFERENCE = /(\$?)\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g;
const SECRET = /key|token|secret|passw|credential|auth|cookie|session|pat$|dsn|private/i;

export type ServerKind = "command" | "url";

export function kindOf(keys: ServerConfig): ServerKind {
  return "url" in keys && !("command" in keys) ? "url" : "command";
}

/** Empty values are removed from the config. */
export function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === "") return true;
  if (Array.isArray(value)) return value.length === 0;
  return typeof value === "object" && Object.keys(value).length === 0;
}

/** The value at a path. */
export function getAt(keys: ServerConfig, ...path: string[]): unknown {
  let value: unknown = keys;
  for (const part of path) {
    if (typeof value !== "object" || value === null) return undefined;
    value = (value as ServerConfig)[part];
  }
  return value;
}

export function textAt(keys: ServerConfig, ...path: string[]): string {
  const value = getAt(keys, ...path);
  return value === undefined || value === null || typeof value === "object" ? "" : String(value);
}

/** Sets a value at a path; an empty one removes the key. */
export function setAt(keys: ServerConfig, path: readonly string[], value: unknown): ServerConfig {
  const [first, ...rest] = path;
  if (first === undefined) return keys;
  const before = keys[first];
  const inner =
    rest.length === 0
      ? value
      : setAt(
          typeof before === "object" && before !== null ? (before as ServerConfig) : {},
          rest,
          value,
        );
  const next = { ...keys };
  if (isEmpty(inner)) delete next[first];
  else next[first] = inner;
  return next;
}

/** The entries of a table such as `env` or `headers`. */
export function tableEntries(keys: ServerConfig, table: string): [string, string][] {
  const value = getAt(keys, table);
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).map(([name, it]) => [name, String(it)]);
}

/** Converts rows to a table. Rows without a name are ignored, and the first of a name wins. */
export function tableOf(rows: readonly (readonly [string, string])[]): Record<string, string> {
  const found = new Map<string, string>();
  for (const [name, value] of rows) if (name && !found.has(name)) found.set(name, value);
  return Object.fromEntries(found);
}

/** Program and arguments on one line, quoted. A trailing blank is kept, because the user is about to
 * type the next word. */
export function commandLine(keys: ServerConfig): string {
  const { command } = keys;
  const args = Array.isArray(keys.args) ? keys.args.map(String) : [];
  if (typeof command === "string") {
    return [...(command ? [command] : []), ...args.map(shellQuote)].join(" ");
  }
  const parts = Array.isArray(command) ? command.map(String) : [];
  return [...parts, ...args].map(shellQuote).join(" ");
}

function shellQuote(word: string): string {
  return /^[\w./:=@%+,~-]+$/.test(word) || /^\$\{[^}]+\}$/.test(word)
    ? word
    : `'${word.replaceAll("'", "'\\''")}'`;
}

/** Sets the command line; the gateway splits it like a shell. */
export function withCommand(keys: ServerConfig, line: string): ServerConfig {
  const { args: _, ...rest } = keys;
  return setAt(rest, ["command"], line);
}

/** Normalizes the config for testing and saving. */
export function normalize(keys: ServerConfig): ServerConfig {
  return typeof keys.command === "string" ? { ...keys, command: keys.command.trim() } : keys;
}

/** Switches between local and remote; settings that apply to the other type only are dropped. */
export function convertTo(keys: ServerConfig, kind: ServerKind): ServerConfig {
  const own: readonly string[] =
    kind === "command" ? ["url", "headers", "auth"] : ["command", "args", "env", "cwd", "sandbox"];
  const rest = Object.entries(keys).filter(([key]) => key !== "transport" && !own.includes(key));
  const first = kind === "command" ? { command: "" } : { url: "" };
  return { ...first, ...Object.fromEntries(rest) };
}

/** Names of referenced variables that have no default. */
export function findReferences(value: unknown): string[] {
  const found = new Set<string>();
  visitStrings(value, (text) => {
    for (const [, escaped, name] of text.matchAll(REFERENCE)) {
      if (!escaped && name) found.add(name);
    }
  });
  return [...found];
}

function visitStrings(value: unknown, visit: (text: string) => void) {
  if (typeof value === "string") visit(value);
  else if (typeof value === "object" && value !== null) {
    for (const inner of Object.values(value)) visitStrings(inner, visit);
  }
}

/** Replaces references by these values. */
export function fillReferences(
  keys: ServerConfig,
  values: Readonly<Record<string, string>>,
): ServerConfig {
  const one = (value: unknown): unknown => {
    if (typeof value === "string") {
      return value.replace(REFERENCE, (whole, escaped: string, name: string) => {
        const value = values[name];
        // Escape a literal `${` in a value.
        return escaped || !value ? whole : value.replaceAll("${", () => "$${");
      });
    }
    if (Array.isArray(value)) return value.map(one);
    if (typeof value === "object" && value !== null) {
      return Object.fromEntries(Object.entries(value).map(([key, it]) => [key, one(it)]));
    }
    return value;
  };
  return one(keys) as ServerConfig;
}

/** The variable name for a secret of a server. */
export function variableName(server: string, name: string): string {
  const plain = (word: string) => word.toUpperCase().replace(/[^A-Z0-9]+/g, "_");
  const own = plain(name).replace(/^_+|_+$/g, "");
  const whole = /^(AUTHORIZATION|TOKEN|X_API_KEY|API_KEY|APIKEY|CLIENT_SECRET|KEY)$/.test(own)
    ? `${plain(server)}_${own === "AUTHORIZATION" ? "TOKEN" : own}`
    : own;
  return /^[A-Z_]/.test(whole) ? whole : `V_${whole}`;
}

export interface ExtractedSecrets {
  keys: ServerConfig;
  values: Record<string, string>;
}

/** Replaces plain secrets by references, and returns their values. */
export function extractSecrets(server: string, keys: ServerConfig): ExtractedSecrets {
  const values: Record<string, string> = {};
  let next = keys;
  const extract = (path: readonly string[], name: string) => {
    const value = getAt(next, ...path);
    if (typeof value !== "string" || !value || value.startsWith("***") || value.includes("${")) {
      return;
    }
    const [, scheme = "", secret = ""] = /^(Bearer |Basic |Token )?(.*)$/is.exec(value) ?? [];
    let free = variableName(server, name);
    while (free in values) free = `${free}_2`;
    values[free] = secret;
    next = setAt(next, path, `${scheme}\${${free}}`);
  };
  for (const table of SECRET_TABLES) {
    for (const [name] of tableEntries(keys, table))
      if (SECRET.test(name)) extract([table, name], name);
  }
  for (const path of [["token"], ["apiKey"], ["client_secret"], ["oauth", "client_secret"]]) {
    extract(["auth", ...path], path.at(-1) === "apiKey" ? "API_KEY" : (path.at(-1) ?? ""));
  }
  return { keys: next, values };
}

/** Why a name is invalid. */
export function validateName(name: string): string | undefined {
  if (!name) return "Enter a name";
  if (!/^[A-Za-z]/.test(name)) return "Must start with a letter";
  if (!/^[A-Za-z0-9_-]*$/.test(name)) return "Use only letters, digits, `_` and `-`";
  return name.length > 64 ? "Use at most 64 characters" : undefined;
}
