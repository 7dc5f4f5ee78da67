// Sums of usage for display.

import type { SpeechUsage } from "../../api/types";

export interface NamedUsage extends SpeechUsage {
  name: string;
  requests: number;
  input_tokens: number;
  output_tokens: number;
  cached_input_tokens: number;
  cache_write_tokens: number;
  cost_usd: number;
  unpriced_requests: number;
}

export interface DayUsage extends NamedUsage {
  day: string;
}

export interface DaySum {
  /** Start of the day in Unix seconds. */
  at: number;
  requests: number;
  input: number;
  output: number;
}

const DAY_SECONDS = 86_400;

/** One entry for each day, also for those without usage. */
export function dailySums(from: string, to: string, days: readonly DayUsage[]): DaySum[] {
  const start = (day: string) => Date.parse(`${day}T00:00:00Z`) / 1000;
  const sums: DaySum[] = [];
  for (let at = start(from); at <= start(to); at += DAY_SECONDS) {
    sums.push({ at, requests: 0, input: 0, output: 0 });
  }
  for (const used of days) {
    const sum = sums[(start(used.day) - start(from)) / DAY_SECONDS];
    if (!sum) continue;
    sum.requests += used.requests;
    sum.input += used.input_tokens;
    sum.output += used.output_tokens;
  }
  return sums;
}

type Cost = Pick<NamedUsage, "requests" | "unpriced_requests" | "cost_usd">;

export function costText(of: Cost): string {
  if (of.unpriced_requests === of.requests && of.requests > 0) return "price unknown";
  const known = `$${of.cost_usd.toFixed(of.cost_usd < 1 ? 4 : 2)}`;
  return of.unpriced_requests > 0 ? `${known}, price of ${of.unpriced_requests} unknown` : known;
}
