// Rows of the trail as they are written. The browser takes up a stream that breaks, but not one that
// was refused, as by a gateway that starts again behind a proxy.
import { address, query } from "../../api/client";
import type { AuditRow } from "../../api/types";
import type { Filter } from "./filter";

const AGAIN_MS = 3000;

/** Tells of each row behind the one that `last` gives, until it is left. */
export function follow(
  filter: Filter,
  last: () => number | undefined,
  heard: (row: AuditRow) => void,
): () => void {
  const { until: _, ...open } = filter;
  let source: EventSource;
  let again: ReturnType<typeof setTimeout> | undefined;
  const listen = () => {
    source = new EventSource(address(`/api/audit/tail${query({ ...open, after: last() })}`));
    source.addEventListener("row", (event) => {
      heard(JSON.parse((event as MessageEvent<string>).data));
    });
    source.addEventListener("error", () => {
      if (source.readyState === EventSource.CLOSED) again = setTimeout(listen, AGAIN_MS);
    });
  };
  listen();
  return () => {
    source.close();
    clearTimeout(again);
  };
}
