import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { apiFilter, auditPath, cliCommand } from "./filter";

beforeAll(() => vi.stubEnv("TZ", "Asia/Kolkata"));
afterAll(() => vi.unstubAllEnvs());

test("times are local, and an upper bound includes its whole day", () => {
  const since = (text: string) => apiFilter({ since: text }).since;
  const until = (text: string) => apiFilter({ until: text }).until;
  expect(since("2026-11-15")).toBe("2026-11-14T18:30:00.000Z");
  expect(since("2026-11-15 10:00")).toBe("2026-11-15T04:30:00.000Z");
  expect(since("2026-11-15 10:00:07")).toBe("2026-11-15T04:30:07.000Z");
  expect(until("2026-11-15")).toBe("2026-11-15T18:29:59.999Z");
  expect(until("2026-12-31")).toBe("2026-12-31T18:29:59.999Z");
  expect(until("2026-11-15 10:00")).toBe("2026-11-15T04:30:00.000Z");
  expect(until("2026-11-15 10:00:07")).toBe("2026-11-15T04:30:07.999Z");
});

test("ranges, times with a zone and invalid times are passed on", () => {
  for (const text of [
    "1h",
    "2026-11-15T10:00:00Z",
    "yesterdayish",
    "2026-02-30",
    "2026-11-15 25:00",
  ]) {
    expect(apiFilter({ since: text, until: text })).toEqual({ since: text, until: text });
  }
});

test("the API and the CLI get the same time", () => {
  const filter = { until: "2026-11-15", kind: "call" };
  expect(auditPath(filter)).toBe("/api/audit?until=2026-11-15T18%3A29%3A59.999Z&kind=call");
  expect(cliCommand(filter)).toBe("tollgate audit --until 2026-11-15T18:29:59.999Z --kind call");
});
