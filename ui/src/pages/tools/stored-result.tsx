// A stored result (truncated or late), read page by page through its handle.
import { useState } from "react";
import { path, query } from "../../api/client";
import { useRead } from "../../api/queries";
import { QueryView } from "../../kit/basics";
import { Code } from "../../kit/code";
import { ms } from "../../kit/format";
import { escapeHidden } from "../../kit/untrusted";

interface StoredPage {
  status: "ready" | "pending";
  since_ms?: number;
  page?: number;
  pages?: number;
  data?: unknown;
}

export function StoredResult(props: { handle: string; pending: boolean }) {
  const [open, setOpen] = useState(props.pending);
  const [page, setPage] = useState(1);
  const [ready, setReady] = useState(false);
  const address = `/v1/results${path(props.handle)}${query({ page })}`;
  const read = useRead<StoredPage>(open ? address : undefined, open && !ready ? 1000 : undefined);
  if (read.data?.status === "ready" && !ready) setReady(true);
  if (!open) {
    return (
      <button type="button" onClick={() => setOpen(true)}>
        Show full result
      </button>
    );
  }
  return (
    <div className="stored-result">
      <h3>Full result</h3>
      <QueryView of={read}>
        {(stored) =>
          stored.status === "pending" ? (
            <p>Still running ({ms(stored.since_ms)}). The result appears here when it is done.</p>
          ) : (
            <>
              <Code text={textOf(stored.data)} label={`page ${stored.page ?? page}`} wrap />
              <div className="bar">
                <button type="button" disabled={page <= 1} onClick={() => setPage(page - 1)}>
                  Previous{" "}
                </button>
                <span>
                  Page {stored.page ?? page} of {stored.pages ?? 1}
                </span>
                <button
                  type="button"
                  disabled={page >= (stored.pages ?? 1)}
                  onClick={() => setPage(page + 1)}
                >
                  Next
                </button>
              </div>
            </>
          )
        }
      </QueryView>
    </div>
  );
}

function textOf(data: unknown): string {
  return escapeHidden(typeof data === "string" ? data : JSON.stringify(data, null, 2));
}
