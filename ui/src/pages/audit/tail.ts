// Rows of the trail as they are written. The browser takes up a stream that breaks, but not one that
// was refused, as by a gateway that starts again behind a proxy.
import { address, query } from "../../api/client";
import type { AuditRow } from "../../api/types";
import { type Filter, wire } from "./filter";

const AGAIN_MS = 3000;

/** Tells of each row behind the one that `last` gives, until it is left. */
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
  // A tab that nobody sees holds no connection: there are few for all tabs.
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
