// Streams new audit rows. The browser reopens a broken stream, but not one that was rejected, for
// example by a proxy while the gateway restarts.
import { address, query } from "../../api/client";
import type { AuditRow } from "../../api/types";
import { type Filter, wire } from "./filter";

const AGAIN_MS = 3000;

/** Reports each row after `last()`, until the returned function is called. */
export function follow(
  filter: Filter,
  last: () => number | undefined,
  heard: (row: AuditRow) => void,
): () => void {
  const { until: _, ...open } = wire(filter);
  let source: EventSource | undefined;
  let again: ReturnType<typeof setTimeout> | undefined;
  const listen = () => {
    const mine = new EventSource(address(`/api/audit/tail${query({ ...open, after: last() })}`));
    source = mine;
    mine.addEventListener("row", (event) => {
      heard(JSON.parse((event as MessageEvent<string>).data));
    });
    mine.addEventListener("error", () => {
      if (mine.readyState === EventSource.CLOSED) again = setTimeout(listen, AGAIN_MS);
    });
  };
  const close = () => {
    source?.close();
    clearTimeout(again);
  };
  // A hidden tab closes its connection: browsers limit them for all tabs together.
  const turned = () => {
    close();
    if (!document.hidden) listen();
  };
  document.addEventListener("visibilitychange", turned);
  if (!document.hidden) listen();
  return () => {
    document.removeEventListener("visibilitychange", turned);
    close();
  };
}
