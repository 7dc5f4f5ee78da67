import { expect, test, vi } from "vitest";
import { FakeEventSource } from "../../api/fake-event-source";
import { follow } from "./follow";

test("a closed stream is reopened after the last row, until it is stopped", () => {
  vi.useFakeTimers();
  vi.stubGlobal("EventSource", FakeEventSource);
  const tab = Object.assign(new EventTarget(), { baseURI: "http://gateway/", hidden: false });
  vi.stubGlobal("document", tab);
  let last = 4;
  const onRow = (row: { sequence: number }) => {
    last = row.sequence;
  };
  const stop = follow({ server: "fs", since: "2026-11-15", until: "1h" }, () => last, onRow);
  const [first] = FakeEventSource.instances;
  const since = encodeURIComponent(new Date(2026, 10, 15).toISOString());
  expect(first?.url).toBe(`http://gateway/api/audit/tail?server=fs&since=${since}&after=4`);
  first?.dispatchEvent(new MessageEvent("row", { data: '{"sequence": 5}' }));
  first?.emitError();
  vi.advanceTimersByTime(2999);
  expect(FakeEventSource.instances).toHaveLength(1);
  vi.advanceTimersByTime(1);
  expect(FakeEventSource.instances[1]?.url).toContain("after=5");
  FakeEventSource.instances[1]?.emitError();
  // A hidden tab is not connected.
  tab.hidden = true;
  tab.dispatchEvent(new Event("visibilitychange"));
  vi.advanceTimersByTime(10_000);
  expect(FakeEventSource.instances).toHaveLength(2);
  tab.hidden = false;
  tab.dispatchEvent(new Event("visibilitychange"));
  expect(FakeEventSource.instances[2]?.url).toContain("after=5");
  FakeEventSource.instances[2]?.emitError();
  stop();
  vi.advanceTimersByTime(10_000);
  expect(FakeEventSource.instances).toHaveLength(3);
});
