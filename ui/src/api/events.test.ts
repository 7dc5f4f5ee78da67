import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { EventStream } from "./events";
import { FakeEventSource } from "./fake-event-source";

class Tab extends EventTarget {
  readonly baseURI = "http://gateway/";
  hidden = false;
  turn(hidden: boolean) {
    this.hidden = hidden;
    this.dispatchEvent(new Event("visibilitychange"));
  }
}

let tab: Tab;
const openSources = () =>
  FakeEventSource.instances.filter((it) => it.readyState !== FakeEventSource.CLOSED);
beforeEach(() => {
  vi.useFakeTimers();
  tab = new Tab();
  FakeEventSource.instances = [];
  vi.stubGlobal("EventSource", FakeEventSource);
  vi.stubGlobal("document", tab);
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("a hidden tab closes its stream, and this is not reported as a lost connection", () => {
  const stream = new EventStream("/api/events");
  const states: boolean[] = [];
  const onOpened = vi.fn();
  const stops = [stream.watch((open) => states.push(open)), stream.listen("opened", onOpened)];
  openSources()[0]?.emitOpen();
  tab.turn(true);
  expect(openSources()).toEqual([]);
  expect(states.at(-1)).toBe(true);
  tab.turn(false);
  expect(openSources()).toHaveLength(1);
  openSources()[0]?.emitOpen();
  // Whatever changed meanwhile has to be read.
  expect(onOpened).toHaveBeenCalledTimes(2);
  tab.turn(true);
  for (const stop of stops) stop();
  vi.advanceTimersByTime(1000);
  tab.turn(false);
  expect(openSources()).toEqual([]);
});

test("a tab that was opened in the background connects when it becomes visible", () => {
  tab.hidden = true;
  const stream = new EventStream("/api/events");
  const states: boolean[] = [];
  stream.watch((open) => states.push(open));
  stream.listen("moved", () => {});
  vi.advanceTimersByTime(10_000);
  expect(FakeEventSource.instances).toEqual([]);
  expect(states).toEqual([true]);
  tab.turn(false);
  expect(openSources()).toHaveLength(1);
});
