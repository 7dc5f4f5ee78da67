import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Stream } from "./events";

class Source extends EventTarget {
  static readonly OPEN = 1;
  static readonly CLOSED = 2;
  static made: Source[] = [];
  readyState = 0;
  onopen?: () => void;
  onerror?: () => void;
  constructor(readonly url: string) {
    super();
    Source.made.push(this);
  }
  close() {
    this.readyState = Source.CLOSED;
  }
  opens() {
    this.readyState = Source.OPEN;
    this.onopen?.();
  }
}

class Tab extends EventTarget {
  readonly baseURI = "http://gateway/";
  hidden = false;
  turn(hidden: boolean) {
    this.hidden = hidden;
    this.dispatchEvent(new Event("visibilitychange"));
  }
}

let tab: Tab;
const held = () => Source.made.filter((it) => it.readyState !== Source.CLOSED);
beforeEach(() => {
  vi.useFakeTimers();
  tab = new Tab();
  Source.made = [];
  vi.stubGlobal("EventSource", Source);
  vi.stubGlobal("document", tab);
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("a hidden tab gives up its stream, and is not told that it is cut off", () => {
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
  // What happened meanwhile has to be read.
  expect(opened).toHaveBeenCalledTimes(2);
  tab.turn(true);
  for (const left of leave) left();
  vi.advanceTimersByTime(1000);
  tab.turn(false);
  expect(held()).toEqual([]);
});

test("a tab that was opened out of sight listens when it is looked at", () => {
  tab.hidden = true;
  const stream = new Stream("/api/events");
  const told: boolean[] = [];
  stream.watch((open) => told.push(open));
  stream.listen("moved", () => {});
  vi.advanceTimersByTime(10_000);
  expect(Source.made).toEqual([]);
  expect(told).toEqual([true]);
  tab.turn(false);
  expect(held()).toHaveLength(1);
});
