// How a word about the state of something is meant. A word that nobody put here says neither good nor bad.
export type Tone = "good" | "warn" | "bad" | "idle";

const GOOD: readonly string[] = [
  "ready",
  "ok",
  "served",
  "healthy",
  "answered",
  "applied",
  "ran",
  "approved",
  "accepted",
  "made",
  "rotated",
  "restarted",
  "tried",
  "added",
  "edited",
  "enabled",
  "logged in",
];

const WARN: readonly string[] = [
  "starting",
  "degraded",
  "flagged",
  "pending",
  "overrunning",
  "input_required",
  "task",
  "rate_limited",
];

const BAD: readonly string[] = [
  "error",
  "failed",
  "failing",
  "timeout",
  "offline",
  "away",
  "invalid_arguments",
  "denied",
  "refused",
  "rejected",
  "withheld",
  "expired",
  "lost",
];

/** Without a word it runs. */
export function toneOf(state: string | null): Tone {
  if (state === null || WARN.includes(state)) return "warn";
  if (GOOD.includes(state)) return "good";
  return BAD.includes(state) ? "bad" : "idle";
}
