import { expect, test } from "vitest";
import { costText, type DayUsage, dailySums } from "./sums";

const used = (day: string, name: string, tokens: number): DayUsage => ({
  day,
  name,
  requests: 1,
  input_tokens: tokens,
  output_tokens: tokens * 2,
  cached_input_tokens: 0,
  cache_write_tokens: 0,
  cost_usd: 0,
  unpriced_requests: 0,
  audio_input_tokens: 0,
  audio_output_tokens: 0,
  cached_audio_input_tokens: 0,
  audio_input_seconds: 0,
  audio_output_seconds: 0,
  live_seconds: 0,
});

test("days without usage are zero, and all names of a day are one sum", () => {
  const rows = [used("2026-10-31", "a", 5), used("2026-10-31", "b", 7), used("2026-11-02", "a", 1)];
  const sums = dailySums("2026-10-30", "2026-11-02", rows);
  expect(sums.map((it) => it.input)).toEqual([0, 12, 0, 1]);
  expect(sums.map((it) => it.output)).toEqual([0, 24, 0, 2]);
  expect(sums.map((it) => it.requests)).toEqual([0, 2, 0, 1]);
  expect(new Date((sums[0]?.at ?? 0) * 1000).toISOString()).toBe("2026-10-30T00:00:00.000Z");
});

test("a cost says what is unknown in it", () => {
  const of = (requests: number, unpriced: number, cost: number) =>
    costText({ ...used("", "a", 1), requests, unpriced_requests: unpriced, cost_usd: cost });
  expect(of(3, 0, 12.345)).toBe("$12.35");
  expect(of(3, 0, 0.0123)).toBe("$0.0123");
  expect(of(3, 3, 0)).toBe("price unknown");
  expect(of(3, 1, 2)).toBe("$2.00, price of 1 unknown");
  expect(of(0, 0, 0)).toBe("$0.0000");
});
