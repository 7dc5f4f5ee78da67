// The call log as a hook: filled from the API, updated by events, and rendered at most a few times a
// second however many calls there are.
import { useCallback, useEffect, useRef, useState } from "react";
import { get, Problem, query } from "../../api/client";
import { useEvents } from "../../api/events";
import type { Call } from "../../api/types";
import { CallLog, type Filter, type Snapshot, wire } from "./log";

/** Minimum time between renders. */
const PACE_MS = 120;
/** Poll interval for the steps of running calls. */
const LOOK_MS = 2000;

interface Page {
  running: Call[];
  calls: Call[];
  next: number | string | null;
}

export interface Live {
  log: CallLog;
  shown: Snapshot;
  problem?: Problem;
  ready: boolean;
  /** Loads older calls; absent when there are no more. */
  older?: () => void;
}

export function useLog(filter: Filter): Live {
  const log = useRef<CallLog>(undefined);
  log.current ??= new CallLog();
  const kept = log.current;
  const [shown, setShown] = useState(() => kept.snapshot());
  const [problem, setProblem] = useState<Problem>();
  const [ready, setReady] = useState(false);
  const [next, setNext] = useState<number | string | null>(null);
  const touch = usePaced(useCallback(() => setShown(kept.snapshot()), [kept]));
  const wanted = JSON.stringify(filter);

  const read = useCallback(
    async (after: number | string | undefined, signal?: AbortSignal) => {
      const filter: Filter = JSON.parse(wanted);
      const asked = wire(filter);
      // Running calls are only on the first page, and not with an outcome filter.
      const tells = after === undefined && !asked.outcome;
      try {
        const path = `/api/calls${query({ ...asked, after, limit: 500 })}`;
        const page = await get<Page>(path, signal);
        const running = tells ? page.running : undefined;
        const unknown = kept.fill(running, page.calls, performance.now());
        // A read after missed events is not a user request.
        if (signal || after !== undefined) kept.answered();
        else kept.missed(unknown);
        setNext(filter.outcome === "running" ? null : page.next);
        setProblem(undefined);
      } catch (error) {
        if (signal?.aborted) return;
        setProblem(Problem.of(error));
      }
      setReady(true);
      touch();
    },
    [kept, wanted, touch],
  );

  useEffect(() => {
    const leaving = new AbortController();
    kept.narrow(JSON.parse(wanted));
    touch();
    void read(undefined, leaving.signal);
    return () => leaving.abort();
  }, [kept, wanted, read, touch]);

  useEvents<Call>(["call_started", "call_done", "missed", "opened"], (data, name) => {
    if (name === "call_started") kept.started(data, performance.now());
    else if (name === "call_done") kept.done(data);
    else void read(undefined);
    touch();
  });

  // There are no events for the steps of running calls, so they are polled.
  const busy = shown.running.length > 0;
  useEffect(() => {
    if (!busy) return;
    const timer = setInterval(async () => {
      const asked = await get<Page>("/api/calls?limit=1").catch(() => undefined);
      if (asked) kept.fill(asked.running, [], performance.now());
      touch();
    }, LOOK_MS);
    return () => clearInterval(timer);
  }, [busy, kept, touch]);

  const older = next === null ? undefined : () => void read(next);
  return { log: kept, shown, problem, ready, older };
}

/** Throttles `act` and runs it in an animation frame; it always runs after the last request. */
function usePaced(act: () => void): () => void {
  const waiting = useRef<ReturnType<typeof setTimeout>>(undefined);
  const last = useRef(0);
  useEffect(
    () => () => {
      clearTimeout(waiting.current);
      waiting.current = undefined;
    },
    [],
  );
  return useCallback(() => {
    if (waiting.current !== undefined) return;
    const wait = Math.max(0, PACE_MS - (performance.now() - last.current));
    waiting.current = setTimeout(() => {
      requestAnimationFrame(() => {
        waiting.current = undefined;
        last.current = performance.now();
        act();
      });
    }, wait);
  }, [act]);
}
