// A stored result (truncated or late), read page by page through its handle.
import { useState } from "react";
import { path, query } from "../../api/client";
import { useRead } from "../../api/queries";
import { Shown } from "../../kit/basics";
import { Code } from "../../kit/code";
import { visible } from "../../kit/foreign";
import { ms } from "../../kit/words";

interface Kept {
  status: "ready" | "pending";
  since_ms?: number;
  page?: number;
  pages?: number;
  data?: unknown;
}

export function Pages(props: { handle: string; pending: boolean }) {
  const [open, setOpen] = useState(props.pending);
  const [page, setPage] = useState(1);
  const [ready, setReady] = useState(false);
  const address = `/v1/results${path(props.handle)}${query({ page })}`;
  const read = useRead<Kept>(open ? address : undefined, open && !ready ? 1000 : undefined);
  if (read.data?.status === "ready" && !ready) setReady(true);
  if (!open) {
    return (
      <button type="button" onClick={() => setOpen(true)}>
        Show full result
      </button>
    );
  }
  return (
    <div className="kept">
      <h3>Full result</h3>
      <Shown of={read}>
        {(kept) =>
          kept.status === "pending" ? (
            <p>Still running ({ms(kept.since_ms)}). The result appears here when it is done.</p>
          ) : (
            <>
              <Code text={textOf(kept.data)} label={`page ${kept.page ?? page}`} wrap />
              <div className="bar">
                <button type="button" disabled={page <= 1} onClick={() => setPage(page - 1)}>
                  Previous{" "}
                </button>
                <span>
                  Page {kept.page ?? page} of {kept.pages ?? 1}
                </span>
                <button
                  type="button"
                  disabled={page >= (kept.pages ?? 1)}
                  onClick={() => setPage(page + 1)}
                >
                  Next
                </button>
              </div>
            </>
          )
        }
      </Shown>
    </div>
  );
}

function textOf(data: unknown): string {
  return visible(typeof data === "string" ? data : JSON.stringify(data, null, 2));
}
