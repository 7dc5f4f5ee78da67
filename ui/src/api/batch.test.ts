import { beforeEach, expect, test, vi } from "vitest";
import { batchPaths } from "./batch";

beforeEach(() => {
  vi.useFakeTimers();
});

test("the first path is read at once, a following burst in one batch", async () => {
  const read = vi.fn(async (_: string[]) => {});
  const queue = batchPaths(read);
  queue("api/servers", "api/tools");
  expect(read).toHaveBeenCalledTimes(1);
  for (let at = 0; at < 50; at += 1) queue("api/tools", "api/overview");
  await vi.advanceTimersByTimeAsync(399);
  expect(read).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(read.mock.lastCall).toEqual([["api/tools", "api/overview"]]);
  await vi.advanceTimersByTimeAsync(2000);
  expect(read).toHaveBeenCalledTimes(2);
  queue("api/tools", "api", "v1/tools");
  expect(read.mock.lastCall).toEqual([["api", "v1/tools"]]);
});

test("a slow read finishes before the next starts, and a failed one does not stop the batching", async () => {
  let fail = () => {};
  const read = vi.fn((_: string[]) => new Promise((_done, failed) => (fail = () => failed(""))));
  const soon = batchPaths(read);
  soon("api/tools");
  soon("api/servers");
  await vi.advanceTimersByTimeAsync(5000);
  expect(read).toHaveBeenCalledTimes(1);
  fail();
  await vi.advanceTimersByTimeAsync(0);
  expect(read.mock.lastCall).toEqual([["api/servers"]]);
});
