import { expect, test } from "vitest";
import { apiFilter, CallLog, MAX_CALLS } from "./call-log";
import { sampleCall } from "./sample";

const ids = (log: CallLog) => log.snapshot().calls.map((call) => call.id);

test("a call is running until it is done, and is then first of the finished ones", () => {
  const log = new CallLog();
  const first = sampleCall();
  const running = sampleCall({ outcome: null });
  log.addFinished(first);
  log.addRunning(running, 10);
  expect(log.snapshot().running.map((it) => it.call.id)).toEqual([running.id]);
  log.addFinished({ ...running, outcome: "ok" });
  expect(log.snapshot().running).toEqual([]);
  expect(ids(log)).toEqual([running.id, first.id]);
});

test("a call that ended before its start event arrives is not shown as running", () => {
  const log = new CallLog();
  log.addRunning(sampleCall({ outcome: "ok" }), 0);
  expect(log.snapshot().running).toEqual([]);
});

test("a call that is reported twice is one call", () => {
  const log = new CallLog();
  const call = sampleCall();
  log.addFinished(call);
  log.fill([], [call], 0);
  log.addFinished(call);
  expect(ids(log)).toEqual([call.id]);
});

test("only the newest calls are kept", () => {
  const log = new CallLog();
  const all = Array.from({ length: MAX_CALLS * 3 }, () => sampleCall());
  for (const call of all) log.addFinished(call);
  const kept = ids(log);
  expect(kept).toHaveLength(MAX_CALLS);
  expect(kept[0]).toBe(all.at(-1)?.id);
  expect(log.snapshot().ended).toBe(all.length);
});

test("calls that match the filter are kept although many others arrive", () => {
  const log = new CallLog();
  log.setFilter({ outcome: "error" });
  const failed = sampleCall({ outcome: "error" });
  log.addFinished(failed);
  for (let at = 0; at < MAX_CALLS * 2; at += 1) log.addFinished(sampleCall());
  expect(ids(log)).toEqual([failed.id]);
  expect(log.find(failed.id)).toBe(failed);
});

test("a filter applies to known calls, and clearing it shows all again", () => {
  const log = new CallLog();
  const [fs, web] = [sampleCall({ server: "fs" }), sampleCall({ server: "web" })];
  log.addFinished(fs);
  log.addFinished(web);
  log.setFilter({ server: "fs" });
  expect(ids(log)).toEqual([fs.id]);
  log.setFilter({});
  expect(ids(log)).toEqual([web.id, fs.id]);
  expect(log.knownValues("server")).toEqual(["fs", "web"]);
});

test("a page from the API is merged in order, behind later calls", () => {
  const log = new CallLog();
  const later = sampleCall({ at: "2026-11-15T10:00:09Z" });
  log.addFinished(later);
  const older = sampleCall({ at: "2026-11-15T10:00:01Z" });
  const oldest = sampleCall({ at: "2026-11-15T10:00:00Z" });
  log.fill([], [older, oldest], 0);
  expect(ids(log)).toEqual([later.id, older.id, oldest.id]);
});

test("probes are shown only on request", () => {
  const log = new CallLog();
  const [call, probe] = [sampleCall(), sampleCall({ probe: true })];
  log.addFinished(call);
  log.addFinished(probe);
  expect(ids(log)).toEqual([call.id]);
  expect(log.snapshot().ended).toBe(1);
  log.setFilter({ probes: "true" });
  expect(ids(log)).toEqual([probe.id, call.id]);
});

test("reading again counts calls whose events were missed", () => {
  const log = new CallLog();
  const [known, missed] = [sampleCall(), sampleCall()];
  log.addFinished(known);
  log.countMissed(log.fill([], [missed, known], 0));
  expect(log.snapshot().ended).toBe(2);
  log.countMissed(log.fill([], [missed, known], 0));
  log.addFinished(missed);
  expect(log.snapshot().ended).toBe(2);
});

test("user requests are distinguished from live updates", () => {
  const log = new CallLog();
  const requests = () => log.snapshot().requests;
  const before = requests();
  log.addFinished(sampleCall());
  log.fill([], [sampleCall()], 0);
  expect(requests()).toBe(before);
  log.setFilter({ server: "fs" });
  expect(requests()).toBe(before + 1);
  log.fill(undefined, [sampleCall()], 0);
  log.markRequested();
  expect(requests()).toBe(before + 2);
});

test("the outcome `running` is not sent to the API", () => {
  expect(apiFilter({ outcome: "running", server: "fs", tier: "fast" }).outcome).toBeUndefined();
  expect(apiFilter({ outcome: "error" })).toEqual({ outcome: "error", probes: "false" });
  const log = new CallLog();
  const [running, finished] = [sampleCall({ outcome: null }), sampleCall()];
  log.setFilter({ outcome: "running" });
  log.fill([running], [finished], 0);
  expect(log.snapshot().running.map((it) => it.call.id)).toEqual([running.id]);
  expect(ids(log)).toEqual([]);
});
