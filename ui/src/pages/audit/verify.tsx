// Verifies the hash chain of the audit trail.
import { useState } from "react";
import { ApiError, get } from "../../api/client";
import type { VerifyResult } from "../../api/types";
import { Failure } from "../../kit/basics";
import { CopyButton } from "../../kit/code";
import { count } from "../../kit/format";
import { setQuery } from "../../route";

export function useVerify() {
  const [result, setResult] = useState<VerifyResult>();
  const [problem, setProblem] = useState<ApiError>();
  const [busy, setBusy] = useState(false);
  const verify = async () => {
    setBusy(true);
    setProblem(undefined);
    try {
      setResult(await get<VerifyResult>("/api/audit/verify"));
    } catch (error) {
      setProblem(ApiError.from(error));
    }
    setBusy(false);
  };
  return { found: result, problem, busy, verify };
}

export function VerifyNote(props: { result?: VerifyResult; problem?: ApiError }) {
  const { result, problem } = props;
  if (problem) return <Failure error={problem} />;
  if (!result) return null;
  const removed =
    result.removed > 0 ? `, ${count(result.removed, "older row")} removed by retention` : "";
  if (result.ok) {
    return (
      <div className="note good" role="status">
        <span>
          {count(result.rows, "row")} verified{removed}. No tampering found.
        </span>
        <span>
          Head: <code>{result.head}</code>
        </span>
        <CopyButton text={result.head} label="Copy head" />
      </div>
    );
  }
  return (
    <div className="note bad" role="alert">
      <span>
        <strong>Integrity check failed.</strong>{" "}
        {result.broken && `Row ${result.broken.sequence}: ${result.broken.problem}. `}
        {result.losses?.map((loss) => `${loss.problem}. `)}
      </span>
      {result.broken && (
        <button type="button" onClick={() => setQuery({ row: String(result.broken?.sequence) })}>
          Show row
        </button>
      )}
    </div>
  );
}
