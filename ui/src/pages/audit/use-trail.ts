// Audit rows: older ones page by page, and new ones live while followed.
import { useCallback, useEffect, useRef, useState } from "react";
import { ApiError, get } from "../../api/client";
import type { AuditPage, AuditRow } from "../../api/types";
import { auditPath, type Filter } from "./filter";
import { follow } from "./follow";

/** Limit of rows while following. */
export const MAX_ROWS = 5000;
const RENDER_INTERVAL_MS = 150;

export interface AuditTrail {
  rows: AuditRow[];
  problem?: ApiError;
  loading: boolean;
  more?: () => void;
}

interface State {
  rows: AuditRow[];
  next: number | null;
  loading: boolean;
  problem?: ApiError;
}

export function useTrail(filter: Filter, following: boolean): AuditTrail {
  const filterKey = JSON.stringify(filter);
  const [state, setState] = useState<State>({ rows: [], next: null, loading: true });
  /** The last known row, where following starts. */
  const last = useRef<number>(undefined);
  /** Aborted when the filter changes: late responses for an old filter are dropped. */
  const readSignal = useRef<AbortSignal>(undefined);

  useEffect(() => {
    const controller = new AbortController();
    readSignal.current = controller.signal;
    last.current = undefined;
    setState((before) => ({ ...before, loading: true, problem: undefined }));
    get<AuditPage>(auditPath(JSON.parse(filterKey)), controller.signal)
      .then((page) => {
        last.current = page.last;
        setState({ rows: page.rows, next: page.next, loading: false });
      })
      .catch((error) => {
        if (controller.signal.aborted) return;
        setState({ rows: [], next: null, loading: false, problem: ApiError.from(error) });
      });
    return () => controller.abort();
  }, [filterKey]);

  const more = useCallback(async () => {
    const signal = readSignal.current;
    if (state.next === null || signal?.aborted) return;
    setState((before) => ({ ...before, loading: true }));
    try {
      const page = await get<AuditPage>(
        auditPath(JSON.parse(filterKey), { after: state.next }),
        signal,
      );
      if (signal?.aborted) return;
      setState((before) => ({
        rows: [...before.rows, ...page.rows],
        next: page.next,
        loading: false,
      }));
    } catch (error) {
      if (signal?.aborted) return;
      setState((before) => ({ ...before, loading: false, problem: ApiError.from(error) }));
    }
  }, [state.next, filterKey]);

  const ready = !state.loading && !state.problem;
  useEffect(() => {
    if (!following || !ready) return;
    let newRows: AuditRow[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    const publish = () => {
      timer = undefined;
      const newest = newRows.reverse();
      newRows = [];
      setState((before) => {
        const known = before.rows[0]?.sequence ?? 0;
        const added = newest.filter((row) => row.sequence > known);
        return { ...before, rows: [...added, ...before.rows].slice(0, MAX_ROWS) };
      });
    };
    const onRow = (row: AuditRow) => {
      last.current = row.sequence;
      newRows.push(row);
      timer ??= setTimeout(publish, RENDER_INTERVAL_MS);
    };
    const stop = follow(JSON.parse(filterKey), () => last.current, onRow);
    return () => {
      stop();
      clearTimeout(timer);
      if (newRows.length > 0) publish();
    };
  }, [following, ready, filterKey]);

  return {
    rows: state.rows,
    problem: state.problem,
    loading: state.loading,
    more: state.next === null ? undefined : () => void more(),
  };
}
