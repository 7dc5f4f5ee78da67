// The outcome of a call: as the model sees it, as spoken text, as content parts, and raw.
import { useEffect, useState } from "react";
import type { Outcome } from "../../api/types";
import { Failure, StateBadge, Tabs } from "../../kit/basics";
import { Code, Json } from "../../kit/code";
import { ms } from "../../kit/format";
import { escapeHidden, UntrustedText } from "../../kit/untrusted";
import { Contents } from "./contents";
import type { Run } from "./run";
import { StoredResult } from "./stored-result";

type View = "model" | "speech" | "content" | "raw";

export function OutcomeView(props: { run: Run; ceiling: number | undefined }) {
  const { run } = props;
  const { outcome } = run;
  return (
    <div aria-live="polite">
      {!run.ended && !outcome && <RunningCall run={run} ceiling={props.ceiling} />}
      {run.problem && <Failure error={run.problem} />}
      {outcome && <OutcomeTabs outcome={outcome} ceiling={props.ceiling} />}
      {run.events.length > 0 && (
        <>
          <h3>Events</h3>
          <ol className="call-events">
            {run.events.map((it, at) => (
              <li key={at}>
                <span className="badge">{it.kind}</span> <UntrustedText text={it.text} clip={300} />
              </li>
            ))}
          </ol>
        </>
      )}
    </div>
  );
}

function RunningCall(props: { run: Run; ceiling: number | undefined }) {
  const { run } = props;
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 100);
    return () => clearInterval(timer);
  }, []);
  const { progress } = run;
  return (
    <>
      <p>Running for {ms(Math.max(now - run.began, 0))}</p>
      <TimeUsed took={now - run.began} ceiling={props.ceiling} />
      {progress && (
        <p>
          <progress
            aria-label="Progress"
            value={progress.total ? progress.progress : undefined}
            max={progress.total || undefined}
          />{" "}
          {progress.progress}
          {progress.total ? ` of ${progress.total}` : ""} {escapeHidden(progress.message ?? "")}
        </p>
      )}
    </>
  );
}

/** The time used of the turn's budget. */
function TimeUsed(props: { took: number; ceiling: number | undefined }) {
  const { took, ceiling } = props;
  if (!ceiling) return null;
  const over = took > ceiling;
  return (
    <p className="time-used">
      <meter
        aria-label="Time used of the tier ceiling"
        min={0}
        max={ceiling}
        high={ceiling * 0.8}
        value={Math.min(took, ceiling)}
      />{" "}
      {ms(took)} of {ms(ceiling)}
      {over && " (over ceiling)"}
    </p>
  );
}

function OutcomeTabs(props: { outcome: Outcome; ceiling: number | undefined }) {
  const { outcome } = props;
  const [view, setView] = useState<View>("model");
  const speech = outcome.also?.speech;
  return (
    <>
      <p className="outcome-head">
        <StateBadge state={outcome.status} />
        <span>{ms(outcome.duration_ms)}</span>
        {outcome.cached && <span className="badge">cached</span>}
        {outcome.truncated && <span className="badge warn">truncated</span>}
        {outcome.retryable && outcome.status !== "ok" && <span className="badge">retryable</span>}
      </p>
      <TimeUsed took={outcome.duration_ms} ceiling={props.ceiling} />
      {outcome.retry_hint && <p>{escapeHidden(outcome.retry_hint)}</p>}
      {outcome.warning && (
        <div className="note warn">
          <UntrustedText text={outcome.warning} />
        </div>
      )}
      <Tabs<View>
        label="View"
        chosen={view}
        choose={setView}
        tabs={[
          { id: "model", title: "Model view" },
          { id: "speech", title: "Spoken text" },
          { id: "content", title: "Content" },
          { id: "raw", title: "Raw" },
        ]}
      />
      {view === "model" && <ModelView outcome={outcome} />}
      {view === "speech" && <SpokenText speech={speech} />}
      {view === "content" && <Contents outcome={outcome} />}
      {view === "raw" && <Json value={outcome} label="outcome" />}
      {outcome.handle && (
        <StoredResult handle={outcome.handle} pending={outcome.status === "pending"} />
      )}
    </>
  );
}

function ModelView(props: { outcome: Outcome }) {
  const { message, data } = props.outcome;
  const same = typeof data === "string" && data === message;
  return (
    <>
      <Code text={escapeHidden(message)} label="message" wrap />
      {!same && data !== null && data !== undefined && (
        <>
          <h3>Data</h3>
          <Json value={data} label="data" />
        </>
      )}
    </>
  );
}

function SpokenText(props: { speech: Outcome | undefined }) {
  const { speech } = props;
  if (!speech) return <p className="quiet">No spoken text.</p>;
  return (
    <>
      <blockquote className="spoken-text">
        <UntrustedText text={speech.message} clip={4000} />
      </blockquote>
      {speech.truncated && (
        <p className="help">
          Truncated: spoken text is limited to 4,000 bytes. Speech templates make it shorter.
        </p>
      )}
      {speech.handle && <StoredResult handle={speech.handle} pending={false} />}
    </>
  );
}
