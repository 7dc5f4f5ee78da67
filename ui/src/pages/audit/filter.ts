// The filter of the audit trail: from the URL, for the API and for the CLI.
import { query } from "../../api/client";
import { shellQuote } from "../../kit/code";

export const TEXT_FILTERS = ["principal", "agent", "server", "tool", "name", "call"] as const;
export const FILTER_NAMES = ["since", "until", "kind", "outcome", ...TEXT_FILTERS] as const;
export type FilterName = (typeof FILTER_NAMES)[number];
export type Filter = Partial<Record<FilterName, string>>;

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
export const TIME_RANGES: readonly { value: string; label: string }[] = [
  { value: "15m", label: "15 minutes" },
  { value: "1h", label: "hour" },
  { value: "24h", label: "day" },
  { value: "7d", label: "week" },
  { value: "30d", label: "30 days" },
];

export function readFilter(params: URLSearchParams): Filter {
  const values = FILTER_NAMES.map((name) => [name, params.get(name) ?? undefined] as const);
  return Object.fromEntries(values.filter(([, value]) => value));
}

const LOCAL_TIME = /^(\d{4})-(\d\d)-(\d\d)(?:[ T](\d\d):(\d\d)(?::(\d\d))?)?$/;

/** Converts a local time, as the page shows it, to UTC. Other input is passed on. */
function toUtc(input: string, edge: "since" | "until"): string {
  const [, ...parts] = LOCAL_TIME.exec(input) ?? [];
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts.map((it) =>
    Number(it ?? 0),
  );
  // As an upper bound, a day or a second includes its end.
  const isDay = parts[3] === undefined;
  const isWhole = edge === "until" && (isDay || parts[5] !== undefined);
  const time = new Date(year, month - 1, day, hour, minute, second);
  const isReal = time.getMonth() === month - 1 && time.getDate() === day;
  if (parts.length === 0 || !isReal || hour > 23 || minute > 59 || second > 59) return input;
  if (isWhole && isDay) time.setDate(day + 1);
  else if (isWhole) time.setSeconds(second + 1);
  return new Date(time.getTime() - (isWhole ? 1 : 0)).toISOString();
}

/** The filter for the API. */
export function apiFilter(filter: Filter): Filter {
  const next = { ...filter };
  if (next.since) next.since = toUtc(next.since, "since");
  if (next.until) next.until = toUtc(next.until, "until");
  return next;
}

export function auditPath(filter: Filter, more: Record<string, string | number | undefined> = {}) {
  return `/api/audit${query({ ...apiFilter(filter), ...more })}`;
}

/** Options of the CLI; it cannot filter by the others. */
const OPTIONS: Partial<Record<FilterName, string>> = {
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
export function cliCommand(filter: Filter): string | undefined {
  const parts = ["tollgate audit"];
  for (const [name, value] of Object.entries(apiFilter(filter))) {
    const option = OPTIONS[name as FilterName];
    if (!option) return undefined;
    parts.push(`--${option} ${shellQuote(value)}`);
  }
  return parts.join(" ");
}
