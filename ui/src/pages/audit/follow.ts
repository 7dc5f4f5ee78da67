// Streams new audit rows. The browser reopens a broken stream, but not one that was rejected, for
// example by a proxy while the gateway restarts.
import { absoluteUrl, query } from "../../api/client";
import type { AuditRow } from "../../api/types";
import { apiFilter, type Filter } from "./filter";

const RECONNECT_MS = 3000;

/** Reports each row after `last()`, until the returned function is called. */
export function follow(
  filter: Filter,
  last: () => number | undefined,
  onRow: (row: AuditRow) => void,
): () => void {
  const { until: _, ...open } = apiFilter(filter);
  let source: EventSource | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const listen = () => {
    const current = new EventSource(
      absoluteUrl(`/api/audit/tail${query({ ...open, after: last() })}`),
    );
    source = current;
    current.addEventListener("row", (event) => {
      onRow(JSON.parse((event as MessageEvent<string>).data));
    });
    current.addEventListener("error", () => {
      if (current.readyState === EventSource.CLOSED) timer = setTimeout(listen, RECONNECT_MS);
    });
  };
  const close = () => {
    source?.close();
    clearTimeout(timer);
  };
  // A hidden tab closes its connection: browsers limit them for all tabs together.
  const handleVisibility = () => {
    close();
    if (!document.hidden) listen();
  };
  document.addEventListener("visibilitychange", handleVisibility);
  if (!document.hidden) listen();
  return () => {
    document.removeEventListener("visibilitychange", handleVisibility);
    close();
  };
}
