import { expect, test } from "vitest";
import { CallLog, MOST, wire } from "./log";
import { sample } from "./sample";

const ids = (log: CallLog) => log.snapshot().calls.map((call) => call.id);

test("a call is running until it is done, and is then first of the finished ones", () => {
  const log = new CallLog();
  const first = sample();
  const running = sample({ outcome: null });
  log.done(first);
  log.started(running, 10);
  expect(log.snapshot().running.map((it) => it.call.id)).toEqual([running.id]);
  log.done({ ...running, outcome: "ok" });
  expect(log.snapshot().running).toEqual([]);
  expect(ids(log)).toEqual([running.id, first.id]);
});

test("a call that ended before its start event arrives is not shown as running", () => {
  const log = new CallLog();
  log.started(sample({ outcome: "ok" }), 0);
  expect(log.snapshot().running).toEqual([]);
});

test("a call that is reported twice is one call", () => {
  const log = new CallLog();
  const call = sample();
  log.done(call);
  log.fill([], [call], 0);
  log.done(call);
  expect(ids(log)).toEqual([call.id]);
});

test("only the newest calls are kept", () => {
  const log = new CallLog();
  const all = Array.from({ length: MOST * 3 }, () => sample());
  for (const call of all) log.done(call);
  const kept = ids(log);
  expect(kept).toHaveLength(MOST);
  expect(kept[0]).toBe(all.at(-1)?.id);
  expect(log.snapshot().ended).toBe(all.length);
});

test("calls that match the filter are kept although many others arrive", () => {
  const log = new CallLog();
  log.narrow({ outcome: "error" });
  const failed = sample({ outcome: "error" });
  log.done(failed);
  for (let at = 0; at < MOST * 2; at += 1) log.done(sample());
  expect(ids(log)).toEqual([failed.id]);
  expect(log.find(failed.id)).toBe(failed);
});

test("a filter applies to known calls, and clearing it shows all again", () => {
  const log = new CallLog();
  const [fs, web] = [sample({ server: "fs" }), sample({ server: "web" })];
  log.done(fs);
  log.done(web);
  log.narrow({ server: "fs" });
  expect(ids(log)).toEqual([fs.id]);
  log.narrow({});
  expect(ids(log)).toEqual([web.id, fs.id]);
  expect(log.seen("server")).toEqual(["fs", "web"]);
});

test("a page from the API is merged in order, behind later calls", () => {
  const log = new CallLog();
  const later = sample({ at: "2026-11-15T10:00:09Z" });
  log.done(later);
  const older = sample({ at: "2026-11-15T10:00:01Z" });
  const oldest = sample({ at: "2026-11-15T10:00:00Z" });
  log.fill([], [older, oldest], 0);
  expect(ids(log)).toEqual([later.id, older.id, oldest.id]);
});

test("probes are shown only on request", () => {
  const log = new CallLog();
  const [call, probe] = [sample(), sample({ probe: true })];
  log.done(call);
  log.done(probe);
  expect(ids(log)).toEqual([call.id]);
  expect(log.snapshot().ended).toBe(1);
  log.narrow({ probes: "true" });
  expect(ids(log)).toEqual([probe.id, call.id]);
});

test("reading again counts calls whose events were missed", () => {
  const log = new CallLog();
  const [heard, unheard] = [sample(), sample()];
  log.done(heard);
  log.missed(log.fill([], [unheard, heard], 0));
  expect(log.snapshot().ended).toBe(2);
  log.missed(log.fill([], [unheard, heard], 0));
  log.done(unheard);
  expect(log.snapshot().ended).toBe(2);
});

test("user requests are distinguished from live updates", () => {
  const log = new CallLog();
  const asked = () => log.snapshot().asked;
  const before = asked();
  log.done(sample());
  log.fill([], [sample()], 0);
  expect(asked()).toBe(before);
  log.narrow({ server: "fs" });
  expect(asked()).toBe(before + 1);
  log.fill(undefined, [sample()], 0);
  log.answered();
  expect(asked()).toBe(before + 2);
});

test("the outcome `running` is not sent to the API", () => {
  expect(wire({ outcome: "running", server: "fs", tier: "fast" }).outcome).toBeUndefined();
  expect(wire({ outcome: "error" })).toEqual({ outcome: "error", probes: "false" });
  const log = new CallLog();
  const [running, over] = [sample({ outcome: null }), sample()];
  log.narrow({ outcome: "running" });
  log.fill([running], [over], 0);
  expect(log.snapshot().running.map((it) => it.call.id)).toEqual([running.id]);
  expect(ids(log)).toEqual([]);
});
