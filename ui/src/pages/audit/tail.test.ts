import { expect, test, vi } from "vitest";
import { FakeSource } from "../../api/fake-source";
import { follow } from "./tail";

test("a closed stream is reopened after the last row, until it is stopped", () => {
  vi.useFakeTimers();
  vi.stubGlobal("EventSource", FakeSource);
  const tab = Object.assign(new EventTarget(), { baseURI: "http://gateway/", hidden: false });
  vi.stubGlobal("document", tab);
  let last = 4;
  const heard = (row: { sequence: number }) => {
    last = row.sequence;
  };
  const leave = follow({ server: "fs", since: "2026-11-15", until: "1h" }, () => last, heard);
  const [first] = FakeSource.made;
  const since = encodeURIComponent(new Date(2026, 10, 15).toISOString());
  expect(first?.url).toBe(`http://gateway/api/audit/tail?server=fs&since=${since}&after=4`);
  first?.dispatchEvent(new MessageEvent("row", { data: '{"sequence": 5}' }));
  first?.refused();
  vi.advanceTimersByTime(2999);
  expect(FakeSource.made).toHaveLength(1);
  vi.advanceTimersByTime(1);
  expect(FakeSource.made[1]?.url).toContain("after=5");
  FakeSource.made[1]?.refused();
  // A hidden tab is not connected.
  tab.hidden = true;
  tab.dispatchEvent(new Event("visibilitychange"));
  vi.advanceTimersByTime(10_000);
  expect(FakeSource.made).toHaveLength(2);
  tab.hidden = false;
  tab.dispatchEvent(new Event("visibilitychange"));
  expect(FakeSource.made[2]?.url).toContain("after=5");
  FakeSource.made[2]?.refused();
  leave();
  vi.advanceTimersByTime(10_000);
  expect(FakeSource.made).toHaveLength(3);
});
