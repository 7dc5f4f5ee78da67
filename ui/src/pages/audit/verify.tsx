// Verifies the hash chain of the audit trail.
import { useState } from "react";
import { get, Problem } from "../../api/client";
import type { Verified } from "../../api/types";
import { Failure } from "../../kit/basics";
import { CopyButton } from "../../kit/code";
import { count } from "../../kit/words";
import { narrow } from "../../route";

export function useVerify() {
  const [found, setFound] = useState<Verified>();
  const [problem, setProblem] = useState<Problem>();
  const [busy, setBusy] = useState(false);
  const verify = async () => {
    setBusy(true);
    setProblem(undefined);
    try {
      setFound(await get<Verified>("/api/audit/verify"));
    } catch (error) {
      setProblem(Problem.of(error));
    }
    setBusy(false);
  };
  return { found, problem, busy, verify };
}

export function Result(props: { found?: Verified; problem?: Problem }) {
  const { found, problem } = props;
  if (problem) return <Failure error={problem} />;
  if (!found) return null;
  const removed =
    found.removed > 0 ? `, ${count(found.removed, "older row")} removed by retention` : "";
  if (found.ok) {
    return (
      <div className="note good" role="status">
        <span>
          {count(found.rows, "row")} verified{removed}. No tampering found.
        </span>
        <span>
          Head: <code>{found.head}</code>
        </span>
        <CopyButton text={found.head} label="Copy head" />
      </div>
    );
  }
  return (
    <div className="note bad" role="alert">
      <span>
        <strong>Integrity check failed.</strong>{" "}
        {found.broken && `Row ${found.broken.sequence}: ${found.broken.problem}. `}
        {found.losses?.map((loss) => `${loss.problem}. `)}
      </span>
      {found.broken && (
        <button type="button" onClick={() => narrow({ row: String(found.broken?.sequence) })}>
          Show row
        </button>
      )}
    </div>
  );
}
