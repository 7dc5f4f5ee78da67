// The filter of the audit trail: from the URL, for the API and for the CLI.
import { query } from "../../api/client";
import { quoted } from "../../kit/code";

export const TEXTS = ["principal", "agent", "server", "tool", "name", "call"] as const;
export const NAMES = ["since", "until", "kind", "outcome", ...TEXTS] as const;
export type Name = (typeof NAMES)[number];
export type Filter = Partial<Record<Name, string>>;

export const KINDS = [
  "call",
  "approval",
  "key",
  "reload",
  "pin",
  "server",
  "memory",
  "session",
  "revocation",
  "login",
  "refused",
  "retention",
  "lost",
] as const;

/** Common time ranges. */
export const SPANS: readonly { value: string; words: string }[] = [
  { value: "15m", words: "15 minutes" },
  { value: "1h", words: "hour" },
  { value: "24h", words: "day" },
  { value: "7d", words: "week" },
  { value: "30d", words: "30 days" },
];

export function read(asked: URLSearchParams): Filter {
  const given = NAMES.map((name) => [name, asked.get(name) ?? undefined] as const);
  return Object.fromEntries(given.filter(([, value]) => value));
}

const LOCAL = /^(\d{4})-(\d\d)-(\d\d)(?:[ T](\d\d):(\d\d)(?::(\d\d))?)?$/;

/** Converts a local time, as the page shows it, to UTC. Other input is passed on. */
function instant(typed: string, edge: "since" | "until"): string {
  const [, ...parts] = LOCAL.exec(typed) ?? [];
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts.map((it) =>
    Number(it ?? 0),
  );
  // As an upper bound, a day or a second includes its end.
  const isDay = parts[3] === undefined;
  const isWhole = edge === "until" && (isDay || parts[5] !== undefined);
  const time = new Date(year, month - 1, day, hour, minute, second);
  const isReal = time.getMonth() === month - 1 && time.getDate() === day;
  if (parts.length === 0 || !isReal || hour > 23 || minute > 59 || second > 59) return typed;
  if (isWhole && isDay) time.setDate(day + 1);
  else if (isWhole) time.setSeconds(second + 1);
  return new Date(time.getTime() - (isWhole ? 1 : 0)).toISOString();
}

/** The filter for the API. */
export function wire(filter: Filter): Filter {
  const next = { ...filter };
  if (next.since) next.since = instant(next.since, "since");
  if (next.until) next.until = instant(next.until, "until");
  return next;
}

export function route(filter: Filter, more: Record<string, string | number | undefined> = {}) {
  return `/api/audit${query({ ...wire(filter), ...more })}`;
}

/** Options of the CLI; it cannot filter by the others. */
const OPTIONS: Partial<Record<Name, string>> = {
  since: "since",
  until: "until",
  kind: "kind",
  outcome: "outcome",
  principal: "principal",
  agent: "agent",
  server: "server",
  name: "tool",
};

/** The equivalent CLI command, if there is one. */
export function command(filter: Filter): string | undefined {
  const words = ["tollgate audit"];
  for (const [name, value] of Object.entries(wire(filter))) {
    const option = OPTIONS[name as Name];
    if (!option) return undefined;
    words.push(`--${option} ${quoted(value)}`);
  }
  return words.join(" ");
}
