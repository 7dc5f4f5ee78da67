// Maps state words to a colour. Unknown words are neutral.
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

/** `null` means running. */
export function toneOf(state: string | null): Tone {
  if (state === null || WARN.includes(state)) return "warn";
  if (GOOD.includes(state)) return "good";
  return BAD.includes(state) ? "bad" : "idle";
}
