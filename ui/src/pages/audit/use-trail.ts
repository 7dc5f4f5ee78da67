// Audit rows: older ones page by page, and new ones live while followed.
import { useCallback, useEffect, useRef, useState } from "react";
import { get, Problem } from "../../api/client";
import type { AuditPage, AuditRow } from "../../api/types";
import { type Filter, route } from "./filter";
import { follow } from "./tail";

/** Limit of rows while following. */
export const MOST = 5000;
const PACE_MS = 150;

export interface Trail {
  rows: AuditRow[];
  problem?: Problem;
  loading: boolean;
  more?: () => void;
}

interface State {
  rows: AuditRow[];
  next: number | null;
  loading: boolean;
  problem?: Problem;
}

export function useTrail(filter: Filter, followed: boolean): Trail {
  const wanted = JSON.stringify(filter);
  const [state, setState] = useState<State>({ rows: [], next: null, loading: true });
  /** The last known row, where following starts. */
  const last = useRef<number>(undefined);
  /** Aborted when the filter changes: late responses for an old filter are dropped. */
  const read = useRef<AbortSignal>(undefined);

  useEffect(() => {
    const leaving = new AbortController();
    read.current = leaving.signal;
    last.current = undefined;
    setState((before) => ({ ...before, loading: true, problem: undefined }));
    get<AuditPage>(route(JSON.parse(wanted)), leaving.signal)
      .then((page) => {
        last.current = page.last;
        setState({ rows: page.rows, next: page.next, loading: false });
      })
      .catch((error) => {
        if (leaving.signal.aborted) return;
        setState({ rows: [], next: null, loading: false, problem: Problem.of(error) });
      });
    return () => leaving.abort();
  }, [wanted]);

  const more = useCallback(async () => {
    const signal = read.current;
    if (state.next === null || signal?.aborted) return;
    setState((before) => ({ ...before, loading: true }));
    try {
      const page = await get<AuditPage>(route(JSON.parse(wanted), { after: state.next }), signal);
      if (signal?.aborted) return;
      setState((before) => ({
        rows: [...before.rows, ...page.rows],
        next: page.next,
        loading: false,
      }));
    } catch (error) {
      if (signal?.aborted) return;
      setState((before) => ({ ...before, loading: false, problem: Problem.of(error) }));
    }
  }, [state.next, wanted]);

  const ready = !state.loading && !state.problem;
  useEffect(() => {
    if (!followed || !ready) return;
    let fresh: AuditRow[] = [];
    let waiting: ReturnType<typeof setTimeout> | undefined;
    const publish = () => {
      waiting = undefined;
      const newest = fresh.reverse();
      fresh = [];
      setState((before) => {
        const known = before.rows[0]?.sequence ?? 0;
        const added = newest.filter((row) => row.sequence > known);
        return { ...before, rows: [...added, ...before.rows].slice(0, MOST) };
      });
    };
    const heard = (row: AuditRow) => {
      last.current = row.sequence;
      fresh.push(row);
      waiting ??= setTimeout(publish, PACE_MS);
    };
    const leave = follow(JSON.parse(wanted), () => last.current, heard);
    return () => {
      leave();
      clearTimeout(waiting);
      if (fresh.length > 0) publish();
    };
  }, [followed, ready, wanted]);

  return {
    rows: state.rows,
    problem: state.problem,
    loading: state.loading,
    more: state.next === null ? undefined : () => void more(),
  };
}
