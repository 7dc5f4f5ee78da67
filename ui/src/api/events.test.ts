import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Stream } from "./events";
import { FakeSource } from "./fake-source";

class Tab extends EventTarget {
  readonly baseURI = "http://gateway/";
  hidden = false;
  turn(hidden: boolean) {
    this.hidden = hidden;
    this.dispatchEvent(new Event("visibilitychange"));
  }
}

let tab: Tab;
const held = () => FakeSource.made.filter((it) => it.readyState !== FakeSource.CLOSED);
beforeEach(() => {
  vi.useFakeTimers();
  tab = new Tab();
  FakeSource.made = [];
  vi.stubGlobal("EventSource", FakeSource);
  vi.stubGlobal("document", tab);
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("a hidden tab closes its stream, and this is not reported as a lost connection", () => {
  const stream = new Stream("/api/events");
  const told: boolean[] = [];
  const opened = vi.fn();
  const leave = [stream.watch((open) => told.push(open)), stream.listen("opened", opened)];
  held()[0]?.opens();
  tab.turn(true);
  expect(held()).toEqual([]);
  expect(told.at(-1)).toBe(true);
  tab.turn(false);
  expect(held()).toHaveLength(1);
  held()[0]?.opens();
  // Whatever changed meanwhile has to be read.
  expect(opened).toHaveBeenCalledTimes(2);
  tab.turn(true);
  for (const left of leave) left();
  vi.advanceTimersByTime(1000);
  tab.turn(false);
  expect(held()).toEqual([]);
});

test("a tab that was opened in the background connects when it becomes visible", () => {
  tab.hidden = true;
  const stream = new Stream("/api/events");
  const told: boolean[] = [];
  stream.watch((open) => told.push(open));
  stream.listen("moved", () => {});
  vi.advanceTimersByTime(10_000);
  expect(FakeSource.made).toEqual([]);
  expect(told).toEqual([true]);
  tab.turn(false);
  expect(held()).toHaveLength(1);
});
