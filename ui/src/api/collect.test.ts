import { beforeEach, expect, test, vi } from "vitest";
import { collect } from "./collect";

beforeEach(() => {
  vi.useFakeTimers();
});

test("the first is read at once, a burst behind it once and together", async () => {
  const read = vi.fn(async (_: string[]) => {});
  const soon = collect(read);
  soon("api/servers", "api/tools");
  expect(read).toHaveBeenCalledTimes(1);
  for (let at = 0; at < 50; at += 1) soon("api/tools", "api/overview");
  await vi.advanceTimersByTimeAsync(399);
  expect(read).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(read.mock.lastCall).toEqual([["api/tools", "api/overview"]]);
  await vi.advanceTimersByTimeAsync(2000);
  expect(read).toHaveBeenCalledTimes(2);
  soon("api/tools", "api", "v1/tools");
  expect(read.mock.lastCall).toEqual([["api", "v1/tools"]]);
});

test("a slow read comes to its end before the next begins, and one that fails does not end it all", async () => {
  let fail = () => {};
  const read = vi.fn((_: string[]) => new Promise((_done, failed) => (fail = () => failed(""))));
  const soon = collect(read);
  soon("api/tools");
  soon("api/servers");
  await vi.advanceTimersByTimeAsync(5000);
  expect(read).toHaveBeenCalledTimes(1);
  fail();
  await vi.advanceTimersByTimeAsync(0);
  expect(read.mock.lastCall).toEqual([["api/servers"]]);
});
