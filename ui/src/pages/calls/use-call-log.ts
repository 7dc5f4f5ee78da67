// The call log as a hook: filled from the API, updated by events, and rendered at most a few times a
// second however many calls there are.
import { useCallback, useEffect, useRef, useState } from "react";
import { ApiError, get, query } from "../../api/client";
import { useEvents } from "../../api/events";
import type { Call } from "../../api/types";
import { apiFilter, CallLog, type Filter, type Snapshot } from "./call-log";

/** Minimum time between renders. */
const RENDER_INTERVAL_MS = 120;
/** Poll interval for the steps of running calls. */
const POLL_INTERVAL_MS = 2000;

interface CallsPage {
  running: Call[];
  calls: Call[];
  next: number | string | null;
}

export interface LiveCalls {
  log: CallLog;
  snapshot: Snapshot;
  problem?: ApiError;
  ready: boolean;
  /** Loads older calls; absent when there are no more. */
  older?: () => void;
}

export function useCallLog(filter: Filter): LiveCalls {
  const log = useRef<CallLog>(undefined);
  log.current ??= new CallLog();
  const calls = log.current;
  const [snapshot, setSnapshot] = useState(() => calls.snapshot());
  const [problem, setProblem] = useState<ApiError>();
  const [ready, setReady] = useState(false);
  const [next, setNext] = useState<number | string | null>(null);
  const scheduleRender = useThrottled(useCallback(() => setSnapshot(calls.snapshot()), [calls]));
  const filterKey = JSON.stringify(filter);

  const read = useCallback(
    async (after: number | string | undefined, signal?: AbortSignal) => {
      const filter: Filter = JSON.parse(filterKey);
      const params = apiFilter(filter);
      // Running calls are only on the first page, and not with an outcome filter.
      const hasRunning = after === undefined && !params.outcome;
      try {
        const path = `/api/calls${query({ ...params, after, limit: 500 })}`;
        const page = await get<CallsPage>(path, signal);
        const running = hasRunning ? page.running : undefined;
        const newCalls = calls.fill(running, page.calls, performance.now());
        // A read after missed events is not a user request.
        if (signal || after !== undefined) calls.markRequested();
        else calls.countMissed(newCalls);
        setNext(filter.outcome === "running" ? null : page.next);
        setProblem(undefined);
      } catch (error) {
        if (signal?.aborted) return;
        setProblem(ApiError.from(error));
      }
      setReady(true);
      scheduleRender();
    },
    [calls, filterKey, scheduleRender],
  );

  useEffect(() => {
    const controller = new AbortController();
    calls.setFilter(JSON.parse(filterKey));
    scheduleRender();
    void read(undefined, controller.signal);
    return () => controller.abort();
  }, [calls, filterKey, read, scheduleRender]);

  useEvents<Call>(["call_started", "call_done", "missed", "opened"], (data, name) => {
    if (name === "call_started") calls.addRunning(data, performance.now());
    else if (name === "call_done") calls.addFinished(data);
    else void read(undefined);
    scheduleRender();
  });

  // There are no events for the steps of running calls, so they are polled.
  const busy = snapshot.running.length > 0;
  useEffect(() => {
    if (!busy) return;
    const timer = setInterval(async () => {
      const page = await get<CallsPage>("/api/calls?limit=1").catch(() => undefined);
      if (page) calls.fill(page.running, [], performance.now());
      scheduleRender();
    }, POLL_INTERVAL_MS);
    return () => clearInterval(timer);
  }, [busy, calls, scheduleRender]);

  const older = next === null ? undefined : () => void read(next);
  return { log: calls, snapshot, problem, ready, older };
}

/** Throttles `act` and runs it in an animation frame; it always runs after the last request. */
function useThrottled(act: () => void): () => void {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const last = useRef(0);
  useEffect(
    () => () => {
      clearTimeout(timer.current);
      timer.current = undefined;
    },
    [],
  );
  return useCallback(() => {
    if (timer.current !== undefined) return;
    const wait = Math.max(0, RENDER_INTERVAL_MS - (performance.now() - last.current));
    timer.current = setTimeout(() => {
      requestAnimationFrame(() => {
        timer.current = undefined;
        last.current = performance.now();
        act();
      });
    }, wait);
  }, [act]);
}
