// What of the trail is wanted, as the address says it and as the gateway is asked for it.
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
  "login",
  "refused",
  "retention",
  "lost",
] as const;

/** Spans back from now that are wanted often. */
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

export function route(filter: Filter, more: Record<string, string | number | undefined> = {}) {
  return `/api/audit${query({ ...filter, ...more })}`;
}

/** What the command line calls them; the others it cannot filter by. */
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

/** The same for a terminal, if it can be had there. */
export function command(filter: Filter): string | undefined {
  const words = ["tollgate audit"];
  for (const [name, value] of Object.entries(filter)) {
    const option = OPTIONS[name as Name];
    if (!option) return undefined;
    words.push(`--${option} ${quoted(value)}`);
  }
  return words.join(" ");
}
